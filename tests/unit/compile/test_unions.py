"""Operators behind unions: where they run, and that nothing is lost on the way there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from scurry.common import Time, WatermarkStrategy
from scurry.datastream import (
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.data_stream import DataStream
from scurry.datastream.functions import CheckpointedFunction, MapFunction
from scurry.datastream.state import ListStateDescriptor
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.testing import ListSink, LocalJob, collect_local

Event = tuple[str, int, int]
CUTS = [1, 2, 3, 5, None]


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def timed(env: StreamExecutionEnvironment, step: int, count: int = 10) -> DataStream:
    events: list[Event] = [("k", step * number, 1) for number in range(count)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    return env.from_collection(events).assign_timestamps_and_watermarks(strategy)


def same(event: Event) -> Event:
    return event


def counts(stream: DataStream) -> DataStream:
    """How many events there are in each window of 50 ms."""
    windows = stream.key_by(lambda e: e[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(50))
    )
    return windows.reduce(lambda a, b: (a[0], a[1] // 50 * 50, a[2] + b[2]))


def expected(*steps: int) -> Counter[int]:
    return Counter(step * n // 50 * 50 for step in steps for n in range(10))


def found(stream: DataStream, cuts: int | None) -> dict[int, int]:
    return {time // 50 * 50: count for _, time, count in collect_local(stream, cuts=cuts)}


def stages(env: StreamExecutionEnvironment) -> dict[str, int]:
    nodes = json.loads(env.describe_plan())["nodes"]
    return {node["type"]: node["stage"] for node in nodes}


def of_two_sources(env: StreamExecutionEnvironment) -> DataStream:
    return timed(env, 10).union(timed(env, 7)).map(same).name("after")


def of_two_branches(env: StreamExecutionEnvironment) -> DataStream:
    source = timed(env, 10)
    slow = source.map(lambda e: (e[0], e[1] * 7 // 10, e[2])).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e[1])
    )
    return source.map(same).union(slow).map(same).name("after")


def of_two_keyed_streams(env: StreamExecutionEnvironment) -> DataStream:
    first, second = (timed(env, step).key_by(lambda e: e[0]).map(same) for step in (10, 7))
    return first.union(second).map(same).name("after")


def of_a_source_and_a_keyed_stream(env: StreamExecutionEnvironment) -> DataStream:
    keyed = timed(env, 7).key_by(lambda e: e[0]).map(same)
    return timed(env, 10).union(keyed).map(same).name("after")


UNIONS: dict[Callable[[StreamExecutionEnvironment], DataStream], int] = {
    of_two_sources: 0,
    of_two_branches: 1,
    of_two_keyed_streams: 2,
    of_a_source_and_a_keyed_stream: 2,
}


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("union", UNIONS)
def test_no_record_is_lost_behind_a_union(union: Any, cuts: int | None) -> None:
    assert found(counts(union(environment())), cuts) == expected(10, 7)


@pytest.mark.parametrize(("union", "stage"), UNIONS.items())
def test_an_operator_behind_a_union_runs_in_one_place(union: Any, stage: int) -> None:
    env = environment()
    union(env).print()
    assert stages(env)["after"] == stage


def test_a_sink_may_be_chained_to_several_operators_of_one_place() -> None:
    env = environment()
    source = env.from_collection([1, 2])
    sink = ListSink()
    source.map(lambda n: n).union(source.map(lambda n: -n)).sink_to(sink).name("sink")
    assert stages(env)["sink"] == 0
    with LocalJob(env._compile(None)) as job:
        while job.step(1):
            pass
    assert sorted(sink.values) == [-2, -1, 1, 2]


class Remember(MapFunction, CheckpointedFunction):
    """Says with each element how many there were before it, in all of the function's life."""

    def initialize_state(self, context: Any) -> None:
        self.seen = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))
        self.count = sum(self.seen.get())

    def snapshot_state(self, context: Any) -> None:
        self.seen.update([self.count])

    def map(self, value: Any) -> Any:
        self.count += 1
        return self.count


@pytest.mark.parametrize("cuts", CUTS)
def test_operator_state_behind_a_union_is_that_of_one_function(cuts: int | None) -> None:
    env = environment(1)
    left, right = env.from_collection(range(6)), env.from_collection(range(4))
    counted = left.union(right).map(Remember())
    assert collect_local(counted, cuts=cuts, crash=[1], restart=[2]) == list(range(1, 11))


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_source_keeps_its_strategy_where_chains_are_broken(parallelism: int) -> None:
    """The strategy belongs to the source: a slot without a partition must not hold time back."""
    env = environment(parallelism).disable_operator_chaining()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda number, _: number * 10
    )
    source = env.from_source(NumberSequenceSource(0, 9), strategy, "numbers").set_parallelism(1)
    seen = source.key_by(lambda number: 0).process(Watermarks())
    # after each number the watermark is one below its timestamp, whichever slot it went through
    assert [mark for mark in collect_local(seen, cuts=1) if mark > 0][:3] == [9, 19, 29]


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_chain_broken_behind_one_reader_uses_all_slots(parallelism: int) -> None:
    env = environment(parallelism)
    numbers = env.from_collection(range(8)).process(Slot()).start_new_chain()
    assert set(collect_local(numbers)) == set(range(parallelism))


class Watermarks(KeyedProcessFunction):
    """Says the watermark before each element."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.timer_service().current_watermark()


class Slot(ProcessFunction):
    """Says which instance an element went through."""

    def open(self, runtime_context: Any) -> None:
        self.slot = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield self.slot
