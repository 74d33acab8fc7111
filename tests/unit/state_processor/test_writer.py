"""Savepoints written from data: what was written is read, and a job goes on with it."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.checkpoint.at_rest import at_rest
from scurry.checkpoint.initial_state import InitialState
from scurry.checkpoint.savepoint_manifest import check_whole, read_manifest
from scurry.checkpoint.written_state import ONLY
from scurry.common import Row, Time, Types
from scurry.common.errors import FunctionError, ProgramError, StateError
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.functions import AggregateFunction
from scurry.engine.standing import CarriedOver
from scurry.runtime.rescaling import deal_for, redeal_in_memory
from scurry.state import (
    AggregatingStateDescriptor,
    BagStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SetStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from scurry.state.journal import MemoryJournal
from scurry.state_processor import (
    KeyedStateBootstrapFunction,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
)
from scurry.testing import ListSink
from scurry.testing.local import LocalJob

KEYS = 5
FAR = 4_000_000_000_000


@dataclasses.dataclass
class Total:
    count: int
    amount: int


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


def descriptors() -> dict[str, Any]:
    return {
        "get_state": ValueStateDescriptor("total", Total),
        "get_list_state": ListStateDescriptor("numbers", Types.LONG()),
        "get_map_state": MapStateDescriptor("digits", Types.LONG(), Types.LONG()),
        "get_set_state": SetStateDescriptor("kinds", Types.STRING()),
        "get_bag_state": BagStateDescriptor("bag"),
        "get_reducing_state": ReducingStateDescriptor("largest", max, Types.LONG()),
        "get_aggregating_state": AggregatingStateDescriptor("mean", Mean()),
    }


class States:
    """All kinds of states, of which a number changes each."""

    def __init__(self, runtime_context: Any) -> None:
        get = {name: getattr(runtime_context, name)(d) for name, d in descriptors().items()}
        self.total, self.numbers, self.digits = (
            get[name] for name in ("get_state", "get_list_state", "get_map_state")
        )
        self.kinds, self.bag = get["get_set_state"], get["get_bag_state"]
        self.largest, self.mean = get["get_reducing_state"], get["get_aggregating_state"]

    def add(self, number: int) -> None:
        before = self.total.value() or Total(0, 0)
        self.total.update(Total(before.count + 1, before.amount + number))
        self.numbers.add(number)
        self.digits.put(number % 10, (self.digits.get(number % 10) or 0) + 1)
        self.kinds.add("even" if number % 2 == 0 else "odd")
        self.bag.add(number)
        self.largest.add(number)
        self.mean.add(number)

    def shown(self) -> Any:
        return (
            self.total.value(),
            list(self.numbers.get()),
            dict(self.digits.items()),
            sorted(self.kinds.get()),
            sorted(self.bag.get()),
            self.largest.get(),
            self.mean.get(),
        )


class Bootstrapping(KeyedStateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.states = States(runtime_context)

    def process_element(self, value: int, ctx: Any) -> None:
        self.states.add(value)
        ctx.timer_service().register_processing_time_timer(FAR + ctx.get_current_key())


class GoingOn(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.states = States(runtime_context)

    def process_element(self, value: int, ctx: Any) -> Any:
        self.states.add(value)
        yield ctx.get_current_key(), self.states.shown()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


def expected(numbers: list[int]) -> Any:
    """What the states of a key show after these numbers."""
    digits: dict[int, int] = defaultdict(int)
    for number in numbers:
        digits[number % 10] += 1
    return (
        Total(len(numbers), sum(numbers)),
        numbers,
        dict(digits),
        sorted({"even" if n % 2 == 0 else "odd" for n in numbers}),
        sorted(numbers),
        max(numbers),
        sum(numbers) / len(numbers),
    )


def program(numbers: list[int], parallelism: int) -> tuple[Any, ListSink]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    sink = ListSink()
    stream = env.from_collection(numbers, Types.LONG()).uid("numbers")
    stream.key_by(lambda n: n % KEYS).process(GoingOn()).uid("states").sink_to(sink).uid("sink")
    return env, sink


def start_from(path: str, job: LocalJob) -> None:
    """Have a job in this process begin with a savepoint, as one on Spark does."""
    found = at_rest(path)
    assert found is not None
    journal, spec = MemoryJournal(), job._job.spec
    InitialState(found.files.initial_state_of(*ONLY)).fill(journal)
    deal = deal_for(spec, spec.max_parallelism)
    dealt = redeal_in_memory({ONLY: journal}, deal, found.generation.operators)
    job.checkpoint.move(dealt, CarriedOver(found.epoch))
    job._start_again(job._job)
    found.close()


def write(numbers: list[int], path: Path) -> str:
    made = OperatorTransformation.bootstrap_with(numbers).key_by(lambda n: n % KEYS)
    writer = SavepointWriter.new_savepoint().with_operator(
        "states", made.transform(Bootstrapping())
    )
    return writer.write(str(path))


@settings(max_examples=12)
@given(
    history=st.lists(st.integers(0, 200), min_size=1, max_size=40),
    more=st.lists(st.integers(0, 200), min_size=1, max_size=20),
    parallelism=st.integers(1, 4),
    cut=st.integers(1, 7),
)
def test_a_job_goes_on_with_what_was_bootstrapped(
    history: list[int],
    more: list[int],
    parallelism: int,
    cut: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = write(history, tmp_path_factory.mktemp("written") / "savepoint")
    env, sink = program(more, parallelism)
    with LocalJob(env._compile(None)) as job:
        start_from(path, job)
        while job.step(cut):
            pass
    env.close()
    seen: dict[int, list[int]] = defaultdict(list)
    for number in history:
        seen[number % KEYS].append(number)
    wanted = []
    for number in more:
        seen[number % KEYS].append(number)
        wanted.append((number % KEYS, expected(list(seen[number % KEYS]))))
    by_key = lambda rows: sorted(rows, key=lambda row: (row[0], row[1][0].count))  # noqa: E731
    found = [row for row in sink.values if not isinstance(row[1], int)]
    assert by_key(found) == by_key(wanted)


def test_what_is_damaged_is_not_read_and_one_is_told_how_to_find_the_file(tmp_path: Path) -> None:
    path = write([1, 2, 3], tmp_path / "savepoint")
    share = Path(path, "state", "1", "0", "0")
    content = share.read_bytes()
    share.write_bytes(content[:17] + b"damaged" + content[24:])
    with SavepointReader(path) as reader, pytest.raises(StateError, match="savepoint verify"):
        reader.read("states", "total")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    numbers = list(range(40))
    path = write(numbers, tmp_path / "savepoint")
    check_whole(Path(path), read_manifest(Path(path)))
    with SavepointReader(path) as reader:
        totals = {row["key"]: row["value"] for row in reader.read("states", "total").to_pylist()}
        assert totals == {
            key: {"count": 8, "amount": sum(numbers[key::KEYS])} for key in range(KEYS)
        }
        lists = {
            row["key"]: row["elements"] for row in reader.read("states", "numbers").to_pylist()
        }
        assert lists == {key: numbers[key::KEYS] for key in range(KEYS)}
        timers = reader.read_timers("states").to_pylist()
        assert sorted(timer["time"] for timer in timers) == [FAR + key for key in range(KEYS)]
        listed = {row["name"]: row for row in reader.list_states().to_pylist()}
        assert listed["total"]["kind"] == "ValueState"
        assert listed["digits"]["type"] == "MAP(LONG, LONG)"
        assert listed["total"]["records"] == KEYS


def test_timers_fire_in_the_job(tmp_path: Path) -> None:
    path = write([1, 2], tmp_path / "savepoint")
    env, sink = program([3], 2)
    with LocalJob(env._compile(None)) as job:
        start_from(path, job)
        job.clock = FAR + 10
        assert job.step()
    env.close()
    assert {row for row in sink.values if isinstance(row[1], int)} == {(1, FAR + 1), (2, FAR + 2)}


TABLES: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "value": (lambda: ValueStateDescriptor("s", Types.LONG()), [{"value": 1}, {"value": -5}]),
    "untyped": (lambda: ValueStateDescriptor("s"), [{"value": "a"}, {"value": "b"}]),
    "dataclass": (
        lambda: ValueStateDescriptor("s", Total),
        [{"value": {"count": 1, "amount": 2}}, {"value": {"count": 3, "amount": 4}}],
    ),
    "tuple": (
        lambda: ValueStateDescriptor("s", Types.TUPLE([Types.LONG(), Types.STRING()])),
        [{"value": {"f0": 1, "f1": "a"}}, {"value": {"f0": 2, "f1": "b"}}],
    ),
    "row": (
        lambda: ValueStateDescriptor("s", Types.ROW_NAMED(["n"], [Types.LONG()])),
        [{"value": {"n": 1}}, {"value": {"n": 2}}],
    ),
    "list": (
        lambda: ListStateDescriptor("s", Types.LONG()),
        [{"elements": [3, 1, 2]}, {"elements": [5]}],
    ),
    "bag": (lambda: BagStateDescriptor("s"), [{"elements": ["x", "x"]}, {"elements": ["y"]}]),
    "set": (
        lambda: SetStateDescriptor("s", Types.STRING()),
        [{"elements": ["a", "b"]}, {"elements": ["c"]}],
    ),
    "map": (
        lambda: MapStateDescriptor("s", Types.STRING(), Types.LONG()),
        [{"entries": [{"key": "a", "value": 1}, {"key": "b", "value": 2}]}, {"entries": []}],
    ),
    "reducing": (
        lambda: ReducingStateDescriptor("s", max, Types.LONG()),
        [{"value": 7}, {"value": 8}],
    ),
    "aggregating": (
        lambda: AggregatingStateDescriptor("s", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()])),
        [{"value": {"f0": 10, "f1": 4}}, {"value": {"f0": 3, "f1": 1}}],
    ),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("form", ["dicts", "arrow", "pandas"])
def test_a_table_goes_in_and_comes_out(kind: str, form: str, tmp_path: Path) -> None:
    make, contents = TABLES[kind]
    rows = [{"key": f"key {n}", **content} for n, content in enumerate(contents)]
    data: Any = rows
    if form != "dicts":
        data = pa.Table.from_pylist(rows)
        data = data.to_pandas() if form == "pandas" else data
    if form == "pandas" and kind in ("list", "bag", "set", "map"):
        assert isinstance(data, pd.DataFrame)
    path = (
        SavepointWriter.new_savepoint()
        .with_keyed_state("op", make(), data)
        .write(str(tmp_path / "savepoint"))
    )
    with SavepointReader(path) as reader:
        found = reader.read("op", "s").to_pylist()
    kept = [row for row in rows if row.get("entries") != []]
    assert sorted(found, key=lambda row: row["key"]) == kept


def test_times_of_writing_are_kept_and_say_when_values_expire(tmp_path: Path) -> None:
    def dated(descriptor: Any) -> Any:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        return descriptor

    hour = 3_600_000
    values = [{"key": "a", "value": 1, "written": 1000}, {"key": "b", "value": 2, "written": 5}]
    entries = [
        {
            "key": "a",
            "entries": [
                {"key": 1, "value": "x", "written": 7},
                {"key": 2, "value": "y", "written": 9},
            ],
        }
    ]
    lists = [{"key": "a", "elements": [1, 2], "written": [3, 4]}]
    path = (
        SavepointWriter.new_savepoint()
        .with_keyed_state("op", dated(ValueStateDescriptor("v")), values)
        .with_keyed_state("op", dated(MapStateDescriptor("m")), entries)
        .with_keyed_state("op", dated(ListStateDescriptor("l")), lists)
        .write(str(tmp_path / "savepoint"))
    )
    with SavepointReader(path) as reader:
        found = sorted(reader.read("op", "v").to_pylist(), key=lambda row: row["key"])
        assert found == [{**row, "expires": row["written"] + hour} for row in values]
        (row,) = reader.read("op", "m").to_pylist()
        assert row["entries"] == [
            {**entry, "expires": entry["written"] + hour} for entry in entries[0]["entries"]
        ]
        (row,) = reader.read("op", "l").to_pylist()
        assert row == {**lists[0], "expires": [3 + hour, 4 + hour]}


def test_a_written_savepoint_is_changed_key_by_key(tmp_path: Path) -> None:
    first = write(list(range(20)), tmp_path / "first")
    made = descriptors()

    def doubled(key: int, total: Total) -> Total | None:
        return None if key == 0 else Total(total.count, 2 * total.amount)

    writer = SavepointWriter.from_existing_savepoint(first)
    writer.transform_keyed_state("states", made["get_state"], doubled)
    writer.transform_keyed_state(
        "states", made["get_map_state"], lambda key, digits: {d: n for d, n in digits.items() if d}
    )
    writer.transform_keyed_state(
        "states", made["get_list_state"], lambda key, numbers: sorted(numbers, reverse=True)
    )
    writer.remove_state("states", "bag").change_operator_identifier("states", "renamed")
    writer.with_keyed_state("another", ValueStateDescriptor("s"), [{"key": 1, "value": 2}])
    writer.with_source_position("numbers", 17)
    second = writer.write(str(tmp_path / "second"))
    with SavepointReader(first) as before, SavepointReader(second) as after:
        totals = {r["key"]: r["value"] for r in after.read("renamed", "total").to_pylist()}
        assert totals == {
            r["key"]: {**r["value"], "amount": 2 * r["value"]["amount"]}
            for r in before.read("states", "total").to_pylist()
            if r["key"] != 0
        }
        lists = {r["key"]: r["elements"] for r in after.read("renamed", "numbers").to_pylist()}
        assert lists == {k: list(range(20))[k::KEYS][::-1] for k in range(KEYS)}
        entries = {r["key"]: r["entries"] for r in after.read("renamed", "digits").to_pylist()}
        assert all(entry["key"] != 0 for held in entries.values() for entry in held)
        assert after.read("renamed", "kinds").equals(before.read("states", "kinds"))
        assert after.read_timers("renamed").equals(before.read_timers("states"))
        assert after.read("another", "s").to_pylist() == [{"key": 1, "value": 2}]
        with pytest.raises(StateError, match="has no state 'bag'"):
            after.read("renamed", "bag")
        with pytest.raises(StateError, match="no operator with state and the uid 'states'"):
            after.read("states", "total")
    contents = read_manifest(Path(second)).contents
    assert {source.uid: source.position for source in contents.sources} == {"numbers": 17}
    third = SavepointWriter.from_existing_savepoint(second).remove_operator("renamed")
    with SavepointReader(third.write(str(tmp_path / "third"))) as reader:
        assert {row["uid"] for row in reader.list_states().to_pylist()} == {"another"}


class Failing(KeyedStateBootstrapFunction):
    def process_element(self, value: int, ctx: Any) -> None:
        raise ValueError("no such customer")


def test_mistakes_are_named(tmp_path: Path) -> None:
    keyed = OperatorTransformation.bootstrap_with([1]).key_by(lambda n: n)
    new = SavepointWriter.new_savepoint
    state = ValueStateDescriptor("s", Types.LONG())
    with pytest.raises(ProgramError, match="transform needs a KeyedStateBootstrapFunction"):
        keyed.transform(GoingOn())  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs what transform"):
        new().with_operator("op", keyed)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="max_parallelism is 0"):
        new(0)
    with pytest.raises(ProgramError, match="changes a savepoint that there is"):
        new().remove_operator("op")
    with pytest.raises(FunctionError, match="no such customer"):
        new().with_operator("op", keyed.transform(Failing())).write(str(tmp_path / "a"))
    with pytest.raises(StateError, match="there is no column 'value'"):
        new().with_keyed_state("op", state, [{"key": 1, "elements": [1]}]).write(
            str(tmp_path / "a")
        )
    with pytest.raises(StateError, match="there is no column 'key'"):
        new().with_keyed_state("op", state, [{"value": 1}]).write(str(tmp_path / "a"))
    with pytest.raises(StateError, match="not of the declared type"):
        new().with_keyed_state("op", state, [{"key": 1, "value": "x"}]).write(str(tmp_path / "a"))
    assert not list(tmp_path.iterdir())
    path = write([1], tmp_path / "savepoint")
    with pytest.raises(StateError, match="there is something of that name"):
        write([1], tmp_path / "savepoint")
    refusals: list[tuple[str, Callable[[SavepointWriter], Any]]] = [
        (
            r"already\. Call remove_operator first",
            lambda w: w.with_operator("states", keyed.transform(Bootstrapping())),
        ),
        (
            "has a state 'total' already",
            lambda w: w.with_keyed_state("states", ValueStateDescriptor("total"), []),
        ),
        ("Did you mean 'states'", lambda w: w.remove_operator("stats")),
        ("has no state 'totl'", lambda w: w.remove_state("states", "totl")),
        ("uid 'states' already", lambda w: w.change_operator_identifier("states", "states")),
    ]
    for said, ask in refusals:
        with (
            SavepointWriter.from_existing_savepoint(path) as writer,
            pytest.raises(StateError, match=said),
        ):
            ask(writer)


def test_rows_of_tables_have_names(tmp_path: Path) -> None:
    class Amounts(KeyedStateBootstrapFunction):
        def open(self, runtime_context: Any) -> None:
            self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

        def process_element(self, value: Row, ctx: Any) -> None:
            self.sum.update((self.sum.value() or 0) + value.amount)

    table = pa.table({"user": ["a", "b", "a"], "amount": [1, 2, 3]})
    made = OperatorTransformation.bootstrap_with(table).key_by(lambda row: row.user)
    path = (
        SavepointWriter.new_savepoint(64)
        .with_operator("sums", made.transform(Amounts()))
        .write(str(tmp_path / "savepoint"))
    )
    with SavepointReader(path) as reader:
        found = {row["key"]: row["value"] for row in reader.read("sums", "sum").to_pylist()}
    assert found == {"a": 4, "b": 2}
    assert read_manifest(Path(path)).contents.max_parallelism == 64
