"""Connected streams: both inputs reach one function, in the order of the input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common import Duration, Types, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing import ListSink, collect_local, run_local

SIDE = OutputTag("side")


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


class Label(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return ("one", value)

    def map2(self, value: Any) -> Any:
        return None if value == "drop" else ("two", value)


class Spell(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        yield from range(value)

    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        return list(value) if value else None


class Log(CoProcessFunction):
    """Yields which input an element came by, its timestamp and the watermark."""

    def open(self, runtime_context: Any) -> None:
        self.seen: list[Any] = []
        self.place = runtime_context.get_index_of_this_subtask()

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.output(SIDE, (1, value))
        yield 1, value, ctx.timestamp()

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield SIDE, (2, value)
        yield 2, value, ctx.timestamp()


class Latest(KeyedCoProcessFunction):
    """Joins the first stream with the latest element of the second; forgets it by a timer."""

    def open(self, runtime_context: Any) -> None:
        self.latest = runtime_context.get_state(ValueStateDescriptor("latest"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), value, self.latest.value()

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.latest.update(value)
        if ctx.timestamp() is not None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        self.latest.clear()
        yield ctx.get_current_key(), "expired", timestamp


def test_co_map_takes_streams_of_different_types_and_drops_none() -> None:
    env = environment()
    numbers = env.from_collection([1, 2], type_info=Types.INT())
    words = env.from_collection(["a", "drop"], type_info=Types.STRING())
    found = collect_local(numbers.connect(words).map(Label()))
    assert Counter(found) == Counter([("one", 1), ("one", 2), ("two", "a")])


def test_co_flat_map() -> None:
    env = environment()
    found = collect_local(
        env.from_collection([2, 1]).connect(env.from_collection(["ab", ""])).flat_map(Spell())
    )
    assert Counter(found) == Counter([0, 1, 0, "a", "b"])


def test_declared_output_types_are_enforced() -> None:
    env = environment()
    stream = env.from_collection([1]).connect(env.from_collection(["x"]))
    with pytest.raises(FunctionError, match=r"TypeMismatchError(.|\n)*'Co-Map'"):
        collect_local(stream.map(Label(), output_type=Types.INT()))


def test_keyed_streams_share_state_per_key() -> None:
    env = environment(3)
    left = env.from_collection([("a", 1), ("b", 2)])
    right = env.from_collection([("A", "x"), ("B", "y")])
    joined = (
        right.connect(left)
        .key_by(lambda e: e[0].lower(), lambda e: e[0])
        .process(Latest(), Types.PICKLED_BYTE_ARRAY())
    )
    # without event time the first source comes first within a micro-batch
    assert sorted(collect_local(joined), key=repr) == [
        ("a", ("A", "x"), None),
        ("b", ("B", "y"), None),
    ]


def test_keyed_by_each_streams_own_key_by() -> None:
    env = environment(3)
    left = env.from_collection([("a", 1), ("b", 2)]).key_by(lambda e: e[0])
    right = env.from_collection([("x", "a"), ("y", "b")]).key_by(lambda e: e[1])
    joined = left.connect(right).process(Latest())
    assert sorted(collect_local(joined)) == [("a", ("a", 1), None), ("b", ("b", 2), None)]


def timed(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    return env.from_collection(data).assign_timestamps_and_watermarks(strategy)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("cuts", [None, 1, 3])
def test_streams_of_one_source_meet_in_its_order(parallelism: int, cuts: int | None) -> None:
    env = environment(parallelism)
    source = timed(env, [("k", t, t % 3 == 0) for t in range(30)])
    even, odd = source.filter(lambda e: e[2]), source.filter(lambda e: not e[2])
    joined = odd.connect(even).key_by(lambda e: e[0], lambda e: e[0]).process(Latest())
    found = collect_local(joined, cuts=cuts)
    rows = [row for row in found if row[1] != "expired"]
    assert [(row[1][1], row[2][1]) for row in rows] == [(t, t - t % 3) for t in range(30) if t % 3]
    assert [row[2] for row in found if row[1] == "expired"] == [t + 10 for t in range(0, 30, 3)]


def test_timers_wait_for_the_slower_input() -> None:
    env = environment()
    fast = timed(env, [("k", t) for t in (5, 100)])
    slow = timed(env, [("k", t) for t in (1, 2)])

    class Marks(KeyedCoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield 1, value[1], ctx.timer_service().current_watermark()

        def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield 2, value[1], ctx.timer_service().current_watermark()

    joined = fast.key_by(lambda e: e[0]).connect(slow.key_by(lambda e: e[0])).process(Marks())
    unknown = -(1 << 63)
    # the merged order: by the running watermark of each record's own source
    assert collect_local(joined) == [(1, 5, unknown), (2, 1, unknown), (2, 2, 0), (1, 100, 4)]


@pytest.mark.parametrize("parallelism", [1, 2])
def test_unions_side_outputs_and_the_same_stream_twice(parallelism: int) -> None:
    class Split(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield value
            yield SIDE, -value

    env = environment(parallelism)
    split = env.from_collection([1, 2, 3]).process(Split())
    union = split.get_side_output(SIDE).union(env.from_collection([10]), split, split)
    found = collect_local(union.connect(union).map(Label()))
    once = [-1, -2, -3, 10, 1, 2, 3, 1, 2, 3]
    assert Counter(found) == Counter([(port, x) for port in ("one", "two") for x in once])


def test_the_same_stream_on_both_inputs_of_a_keyed_function() -> None:
    env = environment()
    stream = env.from_collection(list(range(10)))
    joined = stream.connect(stream).key_by(lambda e: e % 2, lambda e: e % 2).process(Latest())
    found = collect_local(joined, cuts=3)
    # input 1 comes first where both are the same element
    assert {(key, value): latest for key, value, latest in found} == {
        (x % 2, x): (x - 2 if x >= 2 else None) for x in range(10)
    }


def test_side_outputs_of_both_methods_in_both_forms() -> None:
    env = environment(1)
    main, side = ListSink(), ListSink()
    stream = env.from_collection([1]).connect(env.from_collection(["x"])).process(Log())
    stream.sink_to(main)
    stream.get_side_output(SIDE).sink_to(side)
    run_local(env)
    assert sorted(main.values) == [(1, 1, None), (2, "x", None)]
    assert sorted(side.values) == [(1, 1), (2, "x")]


def test_both_inputs_of_an_unkeyed_function_meet_in_every_instance() -> None:
    class Meet(CoProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = {1: 0, 2: 0}
            self.place = runtime_context.get_index_of_this_subtask()

        def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
            self.seen[1] += 1
            yield self.place, 1

        def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
            self.seen[2] += 1
            yield self.place, 2

    env = environment(2)
    left, right = env.from_collection(list(range(10))), env.from_collection(list(range(10)))
    found = collect_local(left.rebalance().connect(right.broadcast()).process(Meet()))
    assert Counter(found) == Counter({(0, 1): 5, (1, 1): 5, (0, 2): 10, (1, 2): 10})


def test_what_follows_is_chained_and_a_single_instance_is_possible() -> None:
    env = environment(2)
    stream = env.from_collection([3, 1]).connect(env.from_collection(["x"]))
    found = collect_local(stream.map(Label()).set_parallelism(1).map(lambda e: e[1]))
    assert Counter(found) == Counter([3, 1, "x"])


def test_explain_shows_both_inputs() -> None:
    env = environment()
    left, right = env.from_collection([1]), env.from_collection(["x"])
    connected = left.connect(right.rebalance()).map(Label()).uid("both")
    connected.print()
    shown = env.explain()
    assert "+= rebalance => [input 1] Co-Map  (uid both; stage 1" in shown
    assert "+= rebalance => [input 2] Co-Map  (uid both; stage 1" in shown
    assert "(see above)" in shown


class Clocks(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)

    def process_element2(self, value: Any, ctx: Any) -> None:
        return None


def test_timers_without_keys_are_refused() -> None:
    env = environment()
    stream = env.from_collection([1]).connect(env.from_collection([2])).process(Clocks())
    with pytest.raises(FunctionError, match=r"Timers belong to a key: call key_by"):
        collect_local(stream)


def test_a_co_process_function_may_use_keys() -> None:
    class Ring(CoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)

        def process_element2(self, value: Any, ctx: Any) -> None:
            return None

        def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
            yield ctx.get_current_key(), timestamp

    env = environment()
    one, two = timed(env, [("a", 1)]), timed(env, [("b", 2)])
    stream = one.connect(two).key_by(lambda e: e[0], lambda e: e[0]).process(Ring())
    assert collect_local(stream) == [("a", 6)]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a, b: a.connect(5), "connect takes streams, got 5"),
        (lambda a, b: a.connect(environment().from_collection([1])), "one environment only"),
        (lambda a, b: a.connect(b).map(lambda e: e), "needs a CoMapFunction, got"),
        (lambda a, b: a.connect(b).flat_map(Label()), "needs a CoFlatMapFunction, got"),
        (lambda a, b: a.connect(b).process(5), "CoProcessFunction or a KeyedCoProcessFunction"),
        (lambda a, b: a.connect(b).process(Latest()), r"call key_by\(selector1, selector2\)"),
        (
            lambda a, b: a.key_by(lambda e: e).connect(b).map(Label()),
            "The first of the connected streams has keys, the second has none",
        ),
        (
            lambda a, b: a.connect(b.key_by(lambda e: e)).process(Clocks()),
            "The second of the connected streams has keys, the first has none",
        ),
    ],
)
def test_mistakes(build: Any, message: str) -> None:
    env = environment()
    with pytest.raises(ProgramError, match=message):
        build(env.from_collection([1]), env.from_collection([2]))


def test_errors_name_the_element() -> None:
    class Break(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value

        def map2(self, value: Any) -> Any:
            return 1 / value

    env = environment()
    stream = env.from_collection([0]).connect(env.from_collection([4, 0])).map(Break())
    with pytest.raises(FunctionError, match=r"ZeroDivisionError(.|\n)*Co-Map(.|\n)*element 0"):
        collect_local(stream)


def test_bounded_out_of_order_inputs_agree_on_the_watermark() -> None:
    env = environment(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(3)
    ).with_timestamp_assigner(lambda event, _: event)
    one = env.from_collection([10, 7, 20]).assign_timestamps_and_watermarks(strategy)
    two = env.from_collection([5, 30]).assign_timestamps_and_watermarks(strategy)
    found = collect_local(one.connect(two).process(Log()))
    assert sorted((port, value, stamp) for port, value, stamp in found) == [
        (1, 7, 7),
        (1, 10, 10),
        (1, 20, 20),
        (2, 5, 5),
        (2, 30, 30),
    ]


def test_the_method_that_returned_no_results_is_named() -> None:
    class Wrong(CoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> Any:
            yield value

        def process_element2(self, value: Any, ctx: Any) -> Any:
            return value

    env = StreamExecutionEnvironment.get_execution_environment()
    joined = env.from_collection([1]).connect(env.from_collection([2])).process(Wrong())
    with pytest.raises(FunctionError, match=r"process_element2 returned 2 \(int\)"):
        collect_local(joined)
