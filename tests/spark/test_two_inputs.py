"""Two inputs on Spark: connected streams, broadcast rules, joins, whatever the micro-batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common import WatermarkStrategy
from scurry.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    ProcessFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from scurry.testing.spark import collect_on_spark

RULES = MapStateDescriptor("rules")


class Latest(KeyedCoProcessFunction):
    """Joins input 1 with the latest of input 2; 5 ms later a timer reports it."""

    def open(self, runtime_context: Any) -> None:
        self.latest = runtime_context.get_state(ValueStateDescriptor("latest"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), value, self.latest.value()

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.latest.update(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), "timer", timestamp


def connected(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    source = env.from_collection(list(range(60))).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event)
    )
    one, two = source.filter(lambda e: e % 3), source.filter(lambda e: not e % 3)
    return one.connect(two).key_by(lambda e: e % 2, lambda e: e % 2).process(Latest())


@pytest.mark.parametrize("max_records", [None, 11])
def test_connected_streams(max_records: int | None) -> None:
    found = collect_on_spark(connected, max_records=max_records)
    latest: dict[int, int | None] = {0: None, 1: None}
    expected: list[Any] = [(t % 2, "timer", t + 5) for t in range(0, 60, 3)]
    for t in range(60):
        if t % 3:
            expected.append((t % 2, t, latest[t % 2]))
        else:
            latest[t % 2] = t
    assert sorted(found, key=repr) == sorted(expected, key=repr)


class Match(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, [k for k, limit in ctx.get_broadcast_state(RULES).items() if value > limit]

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        yield left, right, ctx.get_timestamp()


def test_interval_join() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda event, _: event
        )
        left, right = (
            env.from_collection(list(range(0, 60, step)))
            .assign_timestamps_and_watermarks(strategy)
            .key_by(lambda e: e % 2)
            for step in (2, 3)
        )
        return left.interval_join(right).between(-4, 3).process(Pair())

    expected = [
        (left, right, max(left, right))
        for left in range(0, 60, 2)
        for right in range(0, 60, 3)
        if left % 2 == right % 2 and -4 <= right - left <= 3
    ]
    assert sorted(collect_on_spark(build, max_records=7)) == expected


class Threes(ProcessFunction, CheckpointedFunction):
    """Lets elements go in threes; what waits is operator state."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("waiting"))
        self.waiting = list(self.state.get())

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.waiting.append(value)
        if len(self.waiting) == 3:
            yield tuple(self.waiting)
            self.waiting.clear()

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.waiting)


def test_operator_state_in_the_ingress_and_in_a_stage() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        threes = env.from_collection(list(range(90))).process(Threes())
        return threes.rebalance().process(Threes()).set_parallelism(1)

    found = collect_on_spark(build, max_records=10)
    assert found == [tuple((i, i + 1, i + 2) for i in range(n, n + 9, 3)) for n in range(0, 90, 9)]


def test_broadcast_rules_in_every_slot() -> None:
    data = [item for i in range(20) for item in (i, (f"r{i:02}", i), 2 * i)]

    def build(env: StreamExecutionEnvironment) -> DataStream:
        source = env.from_collection(data)
        events = source.filter(lambda e: isinstance(e, int))
        rules = source.filter(lambda e: isinstance(e, tuple))
        return events.connect(rules.broadcast(RULES)).process(Match())

    rules: dict[str, int] = {}
    expected = []
    for item in data:
        if isinstance(item, tuple):
            rules[item[0]] = item[1]
        else:
            expected.append((item, [name for name in sorted(rules) if item > rules[name]]))
    found = collect_on_spark(build, max_records=13)
    assert sorted(found) == sorted(expected)
