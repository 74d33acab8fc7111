"""What is emitted is a value: whatever functions do to their objects later, nobody sees it.

Each program is run with the input in one piece, record by record, and with crashes; the results are
those of a Python program that copies what it yields.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from scurry.common import Time, WatermarkStrategy
from scurry.common.errors import FunctionError
from scurry.common.types import Row
from scurry.connectors.datagen import DataGeneratorSource
from scurry.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from scurry.datastream.window import (
    AccumulationMode,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.testing import ListSink, OperatorHarness, collect_local, run_local

CUTS = [
    pytest.param({}, id="one piece"),
    pytest.param({"cuts": 1}, id="record by record"),
    pytest.param({"cuts": 2, "crash": [0, 1]}, id="crashes"),
]
pytestmark = pytest.mark.parametrize("how", CUTS)
TAG = OutputTag("side")


@dataclass
class Account:
    key: str
    balance: int = 0
    parts: list[Any] = field(default_factory=list)


AMOUNTS = [("a", 10), ("a", 20), ("b", 1), ("a", 30)]


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)


def accounts(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([Account(key, amount) for key, amount in AMOUNTS])


class Balance(KeyedProcessFunction):
    """The first example of all: reads, changes, writes and yields one object."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("account"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        held = self.state.value() or Account(value[0])
        held.balance += value[1]
        held.parts.append(value[1])
        self.state.update(held)
        yield held
        held.parts.append("changed after the yield")
        held.parts.pop()


EXPECTED = [
    Account("a", 10, [10]),
    Account("a", 30, [10, 20]),
    Account("b", 1, [1]),
    Account("a", 60, [10, 20, 30]),
]


def in_order(found: list[Any]) -> list[Any]:
    return sorted(found, key=lambda one: (one.key, one.balance))


def test_a_value_of_state(how: Any) -> None:
    stream = environment().from_collection(AMOUNTS).key_by(lambda e: e[0]).process(Balance())
    assert in_order(collect_local(stream, **how)) == in_order(EXPECTED)


def test_object_reuse_hands_on_the_object_itself(how: Any) -> None:
    env = environment()
    env.get_config().enable_object_reuse()
    stream = env.from_collection(AMOUNTS).key_by(lambda e: e[0]).process(Balance())
    found = [one.balance for one in collect_local(stream, **how) if one.key == "a"]
    assert found == ([60, 60, 60] if not how else [30, 30, 60] if "crash" in how else [10, 30, 60])


def test_a_value_of_state_with_event_time_and_timers(how: Any) -> None:
    class Timed(Balance):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1)
            return super().process_element(value, ctx)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
            held = self.state.value()
            held.balance += 1000
            self.state.update(held)
            ctx.output(TAG, held)
            yield held

    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stamped = env.from_collection(
        [("a", n * 10) for n in (1, 2, 3)]
    ).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda e, _: e[1]))
    results = stamped.key_by(lambda e: e[0]).process(Timed())
    side = ListSink()
    results.get_side_output(TAG).sink_to(side)
    found = [one.balance for one in collect_local(results, **how)]
    assert found == [10, 30, 1030, 1060, 2060, 3060]
    assert [one.balance for one in side.values] == [1030, 2060, 3060]


def test_a_reduce_that_changes_its_argument(how: Any) -> None:
    def add(one: Account, other: Account) -> Account:
        one.balance += other.balance
        return one

    found = collect_local(accounts(environment()).key_by(lambda a: a.key).reduce(add), **how)
    assert [(a.key, a.balance) for a in in_order(found)] == [
        ("a", 10),
        ("a", 30),
        ("a", 60),
        ("b", 1),
    ]


def change(account: Account) -> Account:
    account.balance = -1
    account.parts.append("changed")
    return account


def change_nothing(account: Account) -> Account:
    return account


def test_a_map_that_changes_its_input_beside_another_branch(how: Any) -> None:
    for after in (lambda s: s, lambda s: s.map(change_nothing), lambda s: s.rebalance()):
        env = environment()
        source = after(accounts(env))
        sinks = [ListSink() for _ in range(4)]
        source.map(change).sink_to(sinks[0])
        source.map(lambda a: (a.key, a.balance, len(a.parts))).sink_to(sinks[1])
        source.key_by(lambda a: a.key).map(lambda a: (a.key, a.balance)).sink_to(sinks[2])
        source.map(change).sink_to(sinks[3])
        run_local(env, **how)
        assert [a.balance for a in sinks[0].values] == [-1] * 4
        assert sinks[1].values == [(key, amount, 0) for key, amount in AMOUNTS]
        assert sorted(sinks[2].values) == sorted(AMOUNTS)
        assert [a.parts for a in sinks[3].values] == [["changed"]] * 4


def test_a_map_that_changes_rows_of_columns_beside_another_branch(how: Any) -> None:
    def change_row(row: Row) -> Row:
        row.n = -1
        return row

    env = environment()
    source = env.from_source(_rows(), None, "rows")
    first, second = ListSink(), ListSink()
    source.map(change_row).sink_to(first)
    source.map(lambda row: row.n).sink_to(second)
    run_local(env, **how)
    assert [row.n for row in first.values] == [-1, -1, -1]
    assert second.values == [0, 1, 2]


def _rows() -> Any:
    import pyarrow as pa

    from scurry.connectors.collection import CollectionSource
    from scurry.functions.source import SourceBatch

    class Columns(CollectionSource):
        def read(self, what: Any) -> Any:
            yield SourceBatch(columns=pa.record_batch({"n": range(*what), "m": range(*what)}))

    return Columns([0, 1, 2])


def test_side_outputs_beside_the_main_one(how: Any) -> None:
    class Both(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield value
            value.balance += 1
            yield TAG, value
            value.balance += 1
            ctx.output(TAG, value)
            value.balance += 1
            yield value

    results = accounts(environment()).process(Both())
    main, side = ListSink(), ListSink()
    results.map(change).sink_to(main)
    results.get_side_output(TAG).map(lambda a: a.balance).sink_to(side)
    found = [a.balance for a in collect_local(results, **how)]
    assert found == [n + more for _, n in AMOUNTS for more in (0, 3)]
    assert side.values == [n + more for _, n in AMOUNTS for more in (1, 2)]


class Keeps(MapFunction):
    """Returns the same object every time."""

    def open(self, runtime_context: Any) -> None:
        self.kept: dict[str, Any] = {"sum": 0, "seen": []}

    def map(self, value: Any) -> Any:
        self.kept["sum"] += value[1]
        self.kept["seen"].append(value[1])
        return ("pair", self.kept) if value[1] > 10 else self.kept

    def flat_map(self, value: Any) -> Iterable[Any]:
        yield self.map(value)
        self.kept["sum"] += 1
        yield self.map(value)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [self.map(value)]


def test_functions_that_return_an_object_they_keep(how: Any) -> None:
    def sums(found: list[Any]) -> list[int]:
        return [(one[1] if isinstance(one, tuple) else one)["sum"] for one in found]

    if "crash" in how or "cuts" in how:
        how = {}
    stream = environment().from_collection(AMOUNTS).map(Keeps())
    assert sums(collect_local(stream, **how)) == [10, 30, 31, 61]

    def twice() -> Any:
        keeps = Keeps()
        keeps.open(None)
        return keeps.flat_map

    stream = environment().from_collection(AMOUNTS[:2]).flat_map(twice())
    assert sums(collect_local(stream, **how)) == [10, 21, 41, 62]


def test_two_inputs_and_broadcast(how: Any) -> None:
    class Two(CoProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.kept = [0]

        def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
            kept = [value[1], []]
            yield kept
            kept[1].append(1)
            yield kept

        process_element2 = process_element1

    class Wide(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            return Two.process_element1(Two(), value, ctx)

        def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            value.append(1)
            yield value
            value.append(2)
            yield value

    env = environment()
    one = env.from_collection(AMOUNTS)
    assert sorted(collect_local(one.connect(one).process(Two()), **how)) == sorted(
        [[n, extra] for _, n in AMOUNTS for extra in ([], [1])] * 2
    )
    env = environment().set_parallelism(2)
    rules = env.from_collection([[0]]).broadcast(MapStateDescriptor("rules"))
    found = collect_local(env.from_collection(AMOUNTS[:1]).connect(rules).process(Wide()), **how)
    assert sorted(found, key=str) == [[0, 1, 2], [0, 1, 2], [0, 1], [0, 1], [10, [1]], [10, []]]


def test_async_functions_that_answer_from_a_cache(how: Any) -> None:
    class Lookup(AsyncFunction):
        def open(self, runtime_context: Any) -> None:
            self.cache: dict[str, Any] = {}

        async def async_invoke(self, value: Any) -> list[Any]:
            found = self.cache.setdefault(value[0], Account(value[0]))
            found.balance += value[1]
            return [found]

    env = environment()
    looked = AsyncDataStream.ordered_wait(
        env.from_collection(AMOUNTS), Lookup(), Time.seconds(10), 1
    )
    found = collect_local(looked.map(change), **({} if how else how))
    assert [a.balance for a in found] == [-1] * 4
    assert [len(a.parts) for a in found] == [1] * 4


def stamped(env: StreamExecutionEnvironment, data: list[Any]) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(data).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event["t"])
    )


def test_an_interval_join_that_changes_its_elements(how: Any) -> None:
    class Join(ProcessJoinFunction):
        def open(self, runtime_context: Any) -> None:
            self.kept: list[Any] = []

        def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
            yield left, right
            self.kept += [left, right]
            for one in self.kept:
                one["n"] = -1
            yield left["n"]

    env = environment()
    sides = [
        stamped(env, [{"k": 1, "t": t, "n": side + t} for t in (1, 2, 3)]).key_by(lambda e: e["k"])
        for side in (10, 20)
    ]
    found = collect_local(sides[0].interval_join(sides[1]).between(-5, 5).process(Join()), **how)
    pairs = [one for one in found if one != -1]
    assert sorted((left["n"], right["n"]) for left, right in pairs) == [
        (10 + left, 20 + right) for left in (1, 2, 3) for right in (1, 2, 3)
    ]
    assert len(found) == 18


class Sum(AggregateFunction):
    """Its accumulator is its result."""

    def create_accumulator(self) -> Any:
        return {"n": 0, "of": []}

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator["n"] += value["n"]
        accumulator["of"].append(value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, one: Any, other: Any) -> Any:
        one["n"] += other["n"]
        one["of"] += other["of"]
        return one


def add_up(one: Any, other: Any) -> Any:
    one["n"] += other["n"]
    return one


class Spoil(ProcessWindowFunction):
    """Changes all it is given, and keeps it."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterable[Any]:
        elements = list(elements)
        yield sum(element["n"] for element in elements)
        for element in elements:
            element["n"] = -1000
        yield elements[:0]


EVENTS = [{"k": 1, "t": t, "n": 1 << at} for at, t in enumerate((1, 4, 6, 12, 14, 30))]


def per_window(windows: list[tuple[int, int]]) -> list[int]:
    return [sum(e["n"] for e in EVENTS if start <= e["t"] < end) for start, end in windows]


ASSIGNERS = {
    "tumbling": (
        lambda: TumblingEventTimeWindows.of(Time.milliseconds(10)),
        [(0, 10), (10, 20), (30, 40)],
    ),
    "sliding": (
        lambda: SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
        [(-5, 5), (0, 10), (5, 15), (10, 20), (25, 35), (30, 40)],
    ),
    "session": (
        lambda: EventTimeSessionWindows.with_gap(Time.milliseconds(3)),
        [(1, 9), (12, 17), (30, 33)],
    ),
}


@pytest.mark.parametrize("lateness", [0, 100])
@pytest.mark.parametrize("assigner", ASSIGNERS)
@pytest.mark.parametrize(
    "kind", ["reduce", "aggregate", "process", "reduce and process", "aggregate and process"]
)
def test_windows(how: Any, assigner: str, lateness: int, kind: str) -> None:
    make, windows = ASSIGNERS[assigner]
    env = environment()
    source = stamped(env, EVENTS)
    windowed = source.key_by(lambda e: e["k"]).window(make()).allowed_lateness(lateness)
    if kind == "reduce":
        results = windowed.reduce(add_up).map(lambda e: e["n"])
    elif kind == "aggregate":
        results = windowed.aggregate(Sum()).map(lambda e: e["n"])
    elif kind == "process":
        results = windowed.process(Spoil())
    elif kind == "reduce and process":
        results = windowed.reduce(add_up, Spoil())
    else:
        results = windowed.aggregate(Sum(), Spoil())
    beside = ListSink()
    source.map(lambda e: e["n"]).sink_to(beside)
    found = [one for one in collect_local(results, **how) if one != []]
    assert found == per_window(windows)
    assert beside.values == [e["n"] for e in EVENTS]


@pytest.mark.parametrize("mode", list(AccumulationMode))
@pytest.mark.parametrize("kind", ["reduce", "aggregate", "process", "evictor"])
def test_windows_that_fire_early(how: Any, mode: AccumulationMode, kind: str) -> None:
    env = environment()
    keyed = stamped(env, EVENTS[:4]).key_by(lambda e: e["k"])
    windowed = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1))
    if kind == "evictor":
        windowed = windowed.evictor(CountEvictor.of(3))
        mode = AccumulationMode.ACCUMULATING
    windowed = windowed.accumulation_mode(mode)
    if kind == "reduce":
        results = windowed.reduce(add_up)
    elif kind == "aggregate":
        results = windowed.aggregate(Sum())
    else:
        results = windowed.process(Spoil())
    found = collect_local(results.map(number), **how)
    ns = [1, 2, 4, 8]
    running = [1, 3, 7, 14 if kind == "evictor" else 15]
    if mode is AccumulationMode.DISCARDING:
        expected = [("+I", n) for n in ns]
    elif mode is AccumulationMode.ACCUMULATING:
        expected = [("+I", n) for n in running]
    else:
        expected = [("+I", 1)]
        for before, after in pairwise(running):
            expected += [("-U", before), ("+U", after)]
    assert [one for one in found if one[1] is not None] == expected


def number(result: Any) -> tuple[str, Any]:
    """What a firing said, and whether it says or takes back; spoils the result."""
    kind = str(result.get_row_kind()) if isinstance(result, Row) else "+I"
    value = result[0] if isinstance(result, Row) else result
    if isinstance(value, dict):
        n, value["n"] = value["n"], -1
        return kind, n
    return kind, value if isinstance(value, int) else None


def test_a_source_keeps_its_elements(how: Any) -> None:
    one = {"n": 0}
    env = environment()

    def count(value: Any) -> int:
        value["n"] += 1
        return int(value["n"])

    assert collect_local(env.from_collection([one, one, one]).map(count), **how) == [1, 1, 1]
    assert one == {"n": 0}
    shared = {"n": 0}
    source = DataGeneratorSource(lambda at: shared, 3)
    assert collect_local(environment().from_source(source, None, "s").map(count), **how) == [
        1,
        1,
        1,
    ]


def test_a_dead_letter_has_the_element_as_it_came(how: Any) -> None:
    def spoil(value: Any) -> Any:
        value["n"] = -1
        raise ValueError("spoilt")

    class Spoils(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            spoil(value)

    def reduce(one: Any, other: Any) -> Any:
        one["n"] = -1
        spoil(other)

    def spoil_windows(stream: Any) -> Any:
        keyed = stream.key_by(lambda e: e["k"])
        return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).reduce(reduce)

    programs = [
        lambda s: s.map(spoil),
        lambda s: s.flat_map(spoil),
        lambda s: s.key_by(lambda e: e["k"]).process(Spoils()),
        lambda s: s.key_by(lambda e: e["k"]).reduce(reduce),
        spoil_windows,
    ]
    for at, program in enumerate(programs):
        env = environment()
        letters = ListSink()
        program(stamped(env, EVENTS[:3])).on_error("dead-letter").print()
        env.dead_letters().sink_to(letters)
        run_local(env, **how)
        expected = EVENTS[:3] if at < 3 else EVENTS[1:3]
        assert [letter.element for letter in letters.values] == expected


@dataclass
class Customer:
    name: str


def test_a_key_that_is_part_of_a_record_that_changes(how: Any) -> None:
    class Rename(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count"))

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            value["who"].name = "renamed"
            ctx.get_current_key().name = "renamed too"
            self.count.update((self.count.value() or 0) + 1)
            yield ctx.get_current_key().name, self.count.value()

    for make in (Customer, lambda name: Row(name=name)):
        data = [{"who": make(name)} for name in ("ann", "bob", "ann")]
        stream = environment().from_collection(data).key_by(lambda e: e["who"]).process(Rename())
        assert sorted(collect_local(stream, **how)) == [("ann", 1), ("ann", 2), ("bob", 1)]


def test_a_key_of_a_map_that_changes(how: Any) -> None:
    class Visits(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_map_state(MapStateDescriptor("seen"))

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            for who in (Customer(value), Row(value)):
                self.seen.put(who, 1)
                if isinstance(who, Row):
                    who[0] = "changed"
                else:
                    who.name = "changed"
            yield sorted(repr(key) for key in self.seen)

    stream = environment().from_collection(["ann", "bob"]).key_by(lambda e: 1).process(Visits())
    people = [repr(make(name)) for name in ("ann", "bob") for make in (Row, Customer)]
    assert collect_local(stream, **how)[-1] == sorted(people)


@pytest.mark.parametrize("timed", [False, True])
def test_rows_that_are_held_and_rows_that_are_not(how: Any, timed: bool) -> None:
    """A row that nobody else has need not be copied; any other has to be."""

    class Rows(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self._kept = Row("?", 0)

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield Row("fresh", value)
            local = Row("local", value)
            yield local
            local[1] = -1
            parts = [value]
            yield Row("parts", parts)
            parts.append(-1)
            self._kept[0], self._kept[1] = "kept", value
            yield self._kept
            yield from (Row("inner", n) for n in (value, value + 1))

    class Listed(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            self._last = [Row("one", value), Row("two", value)]
            yield self._last[1]
            self._last[1][1] = -1
            self._last[0].set_field_names(["a", "b"])

    def changing(row: Row) -> Row:
        row[1] = row[1] if isinstance(row[1], list) else row[1] * 10
        return row

    env = environment()
    numbers = env.from_collection([1, 2, 3])
    if timed:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        assigned = strategy.with_timestamp_assigner(lambda value, _: value)
        numbers = numbers.assign_timestamps_and_watermarks(assigned)
    keyed = numbers.key_by(lambda n: n % 2)
    listed = keyed.process(Listed()).map(changing)
    found = collect_local(keyed.process(Rows()).map(changing).union(listed), **how)
    wanted = [
        Row(kind, each * 10 if isinstance(each, int) else each)
        for n in (1, 2, 3)
        for kind, each in [
            *(("fresh", n), ("local", n), ("parts", [n]), ("kept", n)),
            *(("inner", n), ("inner", n + 1), ("two", n)),
        ]
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))


def test_elements_in_several_states(how: Any) -> None:
    """A reducing state reduces into an object of its own, not into the element it was given."""

    class Several(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.all = runtime_context.get_list_state(ListStateDescriptor("all"))
            reducing = ReducingStateDescriptor("sum", add_up, None)
            self.sum = runtime_context.get_reducing_state(reducing)

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            self.all.add(value)
            self.sum.add(value)
            yield self.sum.get()["n"], [one["n"] for one in self.all.get()]

    stream = environment().from_collection(EVENTS[:3]).key_by(lambda e: e["k"]).process(Several())
    assert collect_local(stream, **how) == [(1, [1]), (3, [1, 2]), (7, [1, 2, 4])]


def test_a_value_changed_without_update(how: Any) -> None:
    """Not good style, but the same wherever a micro-batch ends."""

    class Careless(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.state = runtime_context.get_state(ValueStateDescriptor("list"))
            self.entries = runtime_context.get_map_state(MapStateDescriptor("map"))

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            if self.state.value() is None:
                self.state.update([])
                self.entries.put("x", {"n": 0})
            self.state.value().append(value)
            self.entries.get("x")["n"] += 1
            yield self.state.value(), self.entries.get("x")

    stream = environment().from_collection([1, 2, 3]).key_by(lambda e: 1).process(Careless())
    assert collect_local(stream, **how) == [
        ([1], {"n": 1}),
        ([1, 2], {"n": 2}),
        ([1, 2, 3], {"n": 3}),
    ]


def test_what_cannot_be_copied_names_operator_and_value(how: Any) -> None:
    def connect(value: Any) -> Any:
        import threading

        class Connection:
            def __init__(self) -> None:
                self.local = threading.local()

        return Connection()

    stream = environment().from_collection([1]).map(connect).name("connecting")
    with pytest.raises(
        FunctionError, match=r"(?s)of type Connection cannot be copied.*connecting.*element 1"
    ):
        collect_local(stream.map(lambda c: 1), **how)


def test_a_generator_is_handed_on(how: Any) -> None:
    stream = environment().from_collection([2, 3]).map(lambda n: (at for at in range(n)))
    assert collect_local(stream.flat_map(lambda numbers: numbers), **how) == [0, 1, 0, 1, 2]


def test_the_harness_keeps_values(how: Any) -> None:
    with OperatorHarness(Balance(), key_selector=lambda e: e[0]) as harness:
        for amount in AMOUNTS:
            harness.process_element(amount)
        assert harness.output == EXPECTED
