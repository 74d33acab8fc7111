"""States read out of journals: what they hold is what the input says, computed without a job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from scurry.common import Time, Types
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.functions import AggregateFunction, KeyedBroadcastProcessFunction
from scurry.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from scurry.state import BagStateDescriptor, SetStateDescriptor
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.state.codecs.schemas import SchemaRow
from scurry.state.journal import Head, pack
from scurry.state.rescaling import Place
from scurry.state.stored_tables import StoredJournal
from scurry.state.tables.table import addresses
from scurry.state_reader.columns import AS_TEXT
from scurry.state_reader.contents import (
    Journals,
    read_broadcast,
    read_state,
    read_timers,
    states_of,
    type_in_words,
)
from scurry.testing import ListSink
from scurry.testing.local import LocalJob

#: Users and numbers; some users come again and again, in several micro-batches.
EVENTS = [(f"user {n * n % 17}", n) for n in range(120)]
LIFETIME = 3_600_000
CLOCK = 1_000


@dataclass
class Profile:
    first: int
    names: list[str]


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Keeping(KeyedProcessFunction):
    """Keeps what it sees in states of every kind."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.pair = runtime_context.get_state(ValueStateDescriptor("pair"))
        self.profile = runtime_context.get_state(ValueStateDescriptor("profile", Profile))
        self.loose = runtime_context.get_state(ValueStateDescriptor("loose profile"))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.even = runtime_context.get_map_state(
            MapStateDescriptor("by digit", Types.LONG(), Types.STRING())
        )
        self.bag = runtime_context.get_bag_state(BagStateDescriptor("bag"))
        self.set = runtime_context.get_set_state(SetStateDescriptor("set"))
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
        )
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), None)
        )

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        user, number = value
        self.last.update(number)
        self.pair.update((user, number))
        known = self.profile.value() or Profile(number, [])
        known = Profile(known.first, [*known.names, str(number)][-2:])
        self.profile.update(known)
        self.loose.update(known)
        self.seen.add(number)
        if number % 20 == 0:
            # what was there is gone
            self.seen.update([number])
        self.even.put(number % 10, str(number))
        if number % 10 == 3:
            self.even.remove(3)
        self.bag.add((number, "x"))
        self.set.add(number % 4)
        self.sum.add(number)
        self.mean.add(number)
        if user == "user 16":
            self.last.clear()
        yield from ()


class Expected:
    """What the states of :class:`Keeping` hold in the end."""

    def __init__(self) -> None:
        self.of = of = dict[str, list[int]]()
        for user, number in EVENTS:
            of.setdefault(user, []).append(number)
        self.last = {user: ns[-1] for user, ns in of.items() if user != "user 16"}
        self.pair = {user: {"f0": user, "f1": ns[-1]} for user, ns in of.items()}
        self.profile = {
            user: {"first": ns[0], "names": [str(n) for n in ns[-2:]]} for user, ns in of.items()
        }
        self.seen = {user: _since_renewal(ns) for user, ns in of.items()}
        self.digits = {user: {n % 10: str(n) for n in ns if n % 10 != 3} for user, ns in of.items()}
        self.sum = {user: sum(ns) for user, ns in of.items()}
        self.mean = {user: {"f0": sum(ns), "f1": len(ns)} for user, ns in of.items()}


def _since_renewal(numbers: list[int]) -> list[int]:
    begins = [at for at, n in enumerate(numbers) if n % 20 == 0]
    return numbers[begins[-1] if begins else 0 :]


def journals_after(
    function: KeyedProcessFunction, parallelism: int, in_runs: bool, size: int = 25
) -> Journals:
    """The journals of the slots of a job that has been through all events."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    if in_runs:
        env.get_configuration().set_integer("scurry.state.runs-above", 0)
    stream = env.from_collection(EVENTS).key_by(lambda event: event[0])
    stream.process(function).uid("keeping").sink_to(ListSink())
    with LocalJob(env._compile(None), clock=CLOCK) as job:
        while job.step(size):
            job.clock += 1
        found = stored(job)
    large = {name for journal in found.values() for name in journal.head.runs}
    assert bool(large) == in_runs
    return found


def stored(job: LocalJob) -> Journals:
    """The journals of a job as they are now."""
    found = {place: StoredJournal.of(each) for place, each in job.checkpoint.journals.items()}
    return {place: journal for place, journal in found.items() if journal is not None}


def rows(journals: Journals, name: str) -> dict[Any, Any]:
    """The rows of a state by key."""
    table = read_state(journals, "keeping", name, "json")
    assert table is not None
    found = table.to_pydict()
    keys, values = found["key"], found[table.column_names[1]]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, values, strict=True))


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("in_runs", [False, True], ids=["in the log", "in runs"])
def test_every_kind_of_state_holds_what_the_input_says(parallelism: int, in_runs: bool) -> None:
    journals, expected = journals_after(Keeping(), parallelism, in_runs), Expected()
    assert rows(journals, "last") == expected.last
    assert rows(journals, "pair") == expected.pair
    assert rows(journals, "profile") == expected.profile
    assert rows(journals, "loose profile") == expected.profile
    assert rows(journals, "seen") == expected.seen
    assert {user: sorted(each) for user, each in rows(journals, "set").items()} == {
        user: sorted({n % 4 for n in ns}) for user, ns in expected.of.items()
    }
    assert rows(journals, "bag") == {
        user: [{"f0": n, "f1": "x"} for n in ns] for user, ns in expected.of.items()
    }
    assert rows(journals, "sum") == expected.sum
    assert rows(journals, "mean") == expected.mean
    entries = rows(journals, "by digit")
    assert {
        user: {each["key"]: each["value"] for each in found} for user, found in entries.items()
    } == {user: found for user, found in expected.digits.items() if found}
    assert all(len({e["key"] for e in found}) == len(found) for found in entries.values())


def test_the_order_and_the_types_do_not_depend_on_the_parallelism() -> None:
    one, three = (journals_after(Keeping(), parallelism, False) for parallelism in (1, 3))
    for name in states_of(one, "keeping"):
        table = read_state(one, "keeping", name, "json")
        other = read_state(three, "keeping", name, "json")
        assert table is not None
        assert table.equals(other)


def test_declared_types_are_those_of_the_columns() -> None:
    journals = journals_after(Keeping(), 1, False)
    known = states_of(journals, "keeping")
    declared = ("last", "profile", "loose profile", "seen", "by digit", "sum")
    assert {name: type_in_words(known[name]) for name in declared} == {
        "last": "LONG",
        "profile": "Profile(first: LONG, names: LIST(STRING))",
        "loose profile": "no declared type (seen: Profile)",
        "seen": "LONG",
        "by digit": "MAP(LONG, STRING)",
        "sum": "LONG",
    }
    kinds = {
        name: table.schema.field(1).type
        for name in known
        if (table := read_state(journals, "keeping", name, "json")) is not None
    }
    assert kinds["last"] == pa.int64()
    assert kinds["profile"] == kinds["loose profile"]
    assert kinds["profile"] == pa.struct([("first", pa.int64()), ("names", pa.list_(pa.string()))])
    assert kinds["by digit"].value_type == pa.struct([("key", pa.int64()), ("value", pa.string())])


class Passing(KeyedProcessFunction):
    """Keeps states that expire, and sets timers."""

    def open(self, runtime_context: Any) -> None:
        expiry = StateTtlConfig.new_builder(Time.hours(1)).build()
        found = [
            ValueStateDescriptor("value", Types.LONG()),
            ListStateDescriptor("list"),
            MapStateDescriptor("map", Types.LONG(), Types.LONG()),
        ]
        for descriptor in found:
            descriptor.enable_time_to_live(expiry)
        value, elements, entries = found
        self.value = runtime_context.get_state(value)
        self.list = runtime_context.get_list_state(elements)
        self.map = runtime_context.get_map_state(entries)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.value.update(value[1])
        self.list.add(value[1])
        self.map.put(value[1] % 3, value[1])
        ctx.timer_service().register_processing_time_timer(10_000 + value[1] % 3)
        ctx.timer_service().register_event_time_timer(50)
        yield from ()


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("in_runs", [False, True], ids=["in the log", "in runs"])
def test_states_that_expire_tell_when_they_were_written(parallelism: int, in_runs: bool) -> None:
    journals = journals_after(Passing(), parallelism, in_runs, size=25)
    of = Expected().of
    # 25 events to a micro-batch, and a millisecond
    at = {number: CLOCK + number // 25 for _, number in EVENTS}
    assert stamped(journals, "value") == {user: (ns[-1], at[ns[-1]]) for user, ns in of.items()}
    assert stamped(journals, "list") == {user: (ns, [at[n] for n in ns]) for user, ns in of.items()}
    table = read_state(journals, "keeping", "map", "json")
    assert table is not None
    last = {user: {n % 3: n for n in ns} for user, ns in of.items()}
    assert {
        user: {e["key"]: (e["value"], e["written"]) for e in entries}
        for user, entries in zip(*table.to_pydict().values(), strict=True)
    } == {user: {d: (n, at[n]) for d, n in by.items()} for user, by in last.items()}


def stamped(journals: Journals, name: str) -> dict[Any, Any]:
    table = read_state(journals, "keeping", name, "json")
    assert table is not None
    found = {}
    for key, value, written, expires in zip(*table.to_pydict().values(), strict=True):
        lives = [written] if isinstance(written, int) else written
        ends = [expires] if isinstance(expires, int) else expires
        assert ends == [time + LIFETIME for time in lives]
        found[key] = value, written
    return found


@pytest.mark.parametrize("parallelism", [1, 3])
def test_timers_that_have_not_fired(parallelism: int) -> None:
    timers = read_timers(journals_after(Passing(), parallelism, False), "keeping", "json")
    assert timers.column_names == ["key", "time", "domain", "namespace"]
    found = list(zip(*timers.to_pydict().values(), strict=True))
    assert [time for _, time, _, _ in found] == sorted(time for _, time, _, _ in found)
    # the input has ended, and with it event time: its timers have fired
    assert set(found) == {(user, 10_000 + n % 3, "processing", None) for user, n in EVENTS}
    assert len(found) == len(set(found))


class Mixing(KeyedProcessFunction):
    """Keeps values of several kinds under one name."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("mixed"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        number = value[1]
        kinds = [number, str(number), (number, None), {"number": [number]}, {number: 1.5}]
        self.value.update(kinds[number % 5])
        yield from ()


def test_values_without_a_common_type_become_texts() -> None:
    journals = journals_after(Mixing(), 2, False)
    last = dict(EVENTS)
    found = read_state(journals, "keeping", "mixed", "json")
    assert found is not None
    assert found.schema.field("value").metadata == {AS_TEXT: b"json"}
    assert dict(zip(*found.to_pydict().values(), strict=True)) == {
        user: [
            f"{n}",
            f'"{n}"',
            f"[{n},null]",
            f'{{"number":[{n}]}}',
            f"[[{n},1.5]]",
        ][n % 5]
        for user, n in last.items()
    }
    found = read_state(journals, "keeping", "mixed", "repr")
    assert found is not None
    assert dict(zip(*found.to_pydict().values(), strict=True)) == {
        user: repr([n, str(n), (n, None), {"number": [n]}, {n: 1.5}][n % 5])
        for user, n in last.items()
    }


def test_a_state_that_is_not_there() -> None:
    assert read_state(journals_after(Mixing(), 1, False), "keeping", "other", "json") is None


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Ruled(KeyedBroadcastProcessFunction):
    """Keeps the last number of each rule."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield from ()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield from ()


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_broadcast_state_has_a_row_for_each_entry(parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    rules = env.from_collection(EVENTS).broadcast(RULES)
    keyed = env.from_collection(EVENTS).key_by(lambda event: event[0])
    keyed.connect(rules).process(Ruled()).uid("keeping").sink_to(ListSink())
    with LocalJob(env._compile(None)) as job:
        while job.step(40):
            pass
        found = read_broadcast(stored(job), "keeping", "rules", "json")
    assert dict(zip(*found.to_pydict().values(), strict=True)) == dict(EVENTS)
    assert found.num_rows == len(dict(EVENTS))


def test_records_of_several_versions_of_a_type() -> None:
    """A class has got a field, and lost one; the class itself need not be there."""
    fields = [["first", "LONG", False], ["gone", "STRING", False]]
    old = {"class": "nowhere:Outer.Profile", "fields": fields}
    new = {
        "class": "nowhere:Outer.Profile",
        "fields": [["first", "DOUBLE", False], ["day", "LOCAL_DATE", True]],
    }
    name = "keeping\x1fprofile"
    records = {
        "ann": _typed(0, "ann", {"first": 1, "gone": "x"}),
        "bob": _typed(1, "bob", {"first": 2.5, "day": "2026-11-18"}),
    }
    row = msgspec.msgpack.encode(SchemaRow("ValueState", [old, new]))
    where = addresses(list(records), 128)
    blob = pack([(SCHEMAS, [name.encode()], [row]), (name, where, list(records.values()))])
    journal = StoredJournal(Head(b"", 0, 1, 0, 0, b""), lambda seq: blob, Path("nowhere"))
    found = read_state({Place(1, 0): journal}, "keeping", "profile", "json")
    assert found is not None
    assert dict(zip(*found.to_pydict().values(), strict=True)) == {
        "ann": {"first": 1.0, "gone": "x", "day": None},
        "bob": {"first": 2.5, "gone": None, "day": date(2026, 11, 18)},
    }


def _typed(version: int, key: str, value: Any) -> bytes:
    """A record of a declared type, as its format says: kind, version, key, value."""
    head = b"\x00\x01" + msgspec.msgpack.encode(key)
    length = len(head).to_bytes(4, "big")
    return b"\x03" + version.to_bytes(2, "big") + length + head + msgspec.msgpack.encode(value)


@pytest.mark.parametrize("name", ["last", "pair", "loose profile", "seen", "by digit", "set"])
def test_rows_read_in_parts_are_the_same_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    journals = journals_after(Keeping(), 2, False)
    whole = read_state(journals, "keeping", name, "json")
    monkeypatch.setattr("scurry.state_reader.tables.AT_ONCE", 3)
    parts = read_state(journals, "keeping", name, "json")
    assert whole is not None
    assert parts is not None
    assert parts.equals(whole)


class OfManyTypes(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        user, number = value
        self.held.update(number if len(user) % 2 else str(number))
        yield from ()


def test_values_of_types_that_only_some_parts_have_become_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scurry.state_reader.tables.AT_ONCE", 2)
    table = read_state(journals_after(OfManyTypes(), 1, False), "keeping", "held", "json")
    assert table is not None
    assert AS_TEXT in (table.schema.field("value").metadata or {})
