"""States with a time to live, queried: what has expired is not shown, and does not stay."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.contract._views import Viewed, environment, viewed

from scurry.common import Time, WatermarkStrategy
from scurry.datastream import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
)
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.queryable.errors import QueryError
from scurry.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from scurry.testing import ListSink

HOUR = 3_600_000


class Dated(KeyedProcessFunction):
    """Keeps values that live for an hour, in three kinds of states."""

    def __init__(self, ttl: StateTtlConfig) -> None:
        self.ttl = ttl

    def open(self, runtime_context: Any) -> None:
        def asked(descriptor: Any, name: str) -> Any:
            descriptor.enable_time_to_live(self.ttl)
            descriptor.set_queryable(name)
            return descriptor

        self.value = runtime_context.get_state(asked(ValueStateDescriptor("v"), "value"))
        self.list = runtime_context.get_list_state(asked(ListStateDescriptor("l"), "list"))
        self.map = runtime_context.get_map_state(asked(MapStateDescriptor("m"), "map"))

    def process_element(self, event: Any, ctx: Any) -> Any:
        _, at = event
        self.value.update(at)
        self.list.add(at)
        self.map.put(at % 2, at)
        yield event


def program(ttl: StateTtlConfig, events: list[tuple[str, int]]) -> Any:
    env = environment(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    stream = env.from_collection(events).uid("events").assign_timestamps_and_watermarks(strategy)
    stream.key_by(lambda event: event[0]).process(Dated(ttl)).uid("dated").sink_to(ListSink())
    return env


def has(view: Viewed, name: str, key: str) -> bool:
    try:
        view.queries.get(name, key)
    except QueryError as refused:
        if refused.code != "no_such_key":
            raise
        return False
    return True


def records(view: Viewed) -> int:
    """How many records the view holds, expired or not."""
    writer = view.keeper._writer
    assert writer is not None
    with writer._env.begin() as txn:
        return int(txn.stat()["entries"])


def test_what_has_expired_is_not_shown(tmp_path: Path) -> None:
    ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
    events = [("old", 1), ("new", 2), ("other", 3)]
    with viewed(program(ttl, events), tmp_path) as view:
        now = int(time.time() * 1000)
        view.job.clock = now - 2 * HOUR
        assert view.job.step(1)
        assert not any(has(view, name, "old") for name in ("value", "list", "map"))
        view.job.clock = now
        assert view.job.step(1)
        told = view.queries.get("list", "new")
        assert (told["elements"], told["expires"]) == ([2], [now + HOUR])
        (entry,) = view.queries.get("map", "new")["entries"]
        assert entry == {"key": 0, "value": 2, "expires": now + HOUR}
        assert [row["key"] for row in view.queries.scan("value")["rows"]] == ["new"]
        # with the micro-batches that follow, expired records go for good
        assert view.job.step(1)
        view.keeper.settle()
        assert records(view) == 2 + 2 * 3


def test_event_time_is_the_watermark_of_the_answer(tmp_path: Path) -> None:
    ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
    ttl = (
        StateTtlConfig.new_builder(Time.hours(1))
        .set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.EventTime)
        .build()
    )
    events = [("a", 1000), ("b", 2000), ("b", HOUR + 1001), ("b", HOUR + 1500)]
    with viewed(program(ttl, events), tmp_path) as view:
        assert view.job.step(2)
        assert view.queries.get("value", "a")["expires"] == 1000 + HOUR
        assert view.job.step(1)
        assert not has(view, "value", "a")
        assert has(view, "value", "b")


def test_expired_values_are_shown_if_the_state_says_so(tmp_path: Path) -> None:
    shown = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    ttl = (StateTtlConfig.new_builder(Time.milliseconds(1)).set_state_visibility(shown)).build()
    with viewed(program(ttl, [("a", 7)]), tmp_path) as view:
        view.job.clock = int(time.time() * 1000) + 10
        assert view.job.step()
        time.sleep(0.05)
        assert view.queries.get("value", "a")["value"] == 7


class OfWindows(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        descriptor = ValueStateDescriptor("s")
        descriptor.set_queryable("s")
        context.window_state().get_state(descriptor)
        yield key


class OfOperator(KeyedProcessFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        descriptor = ListStateDescriptor("s")
        descriptor.set_queryable("s")
        context.get_operator_state_store().get_list_state(descriptor)

    def snapshot_state(self, context: Any) -> None:
        pass

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


RULES = MapStateDescriptor("rules")
RULES.set_queryable("rules")


class Matching(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        pass


def windows(env: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event
    )
    stream = env.from_collection([1, 2]).assign_timestamps_and_watermarks(strategy)
    keyed = stream.key_by(lambda n: n)
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).process(OfWindows())


def operator(env: Any) -> Any:
    return env.from_collection([1]).key_by(lambda n: n).process(OfOperator())


def broadcast(env: Any) -> Any:
    rules = env.from_collection(["r"]).broadcast(RULES)
    return env.from_collection([1]).connect(rules).process(Matching())


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (windows, r"belongs to single windows .* stream\.window\(\.\.\.\)\.set_queryable"),
        (operator, "is operator state, which belongs to no key and cannot be queried"),
        (broadcast, "is broadcast state, which belongs to no key and cannot be queried"),
    ],
)
def test_states_of_no_key_cannot_be_queried(build: Any, said: str, tmp_path: Path) -> None:
    env = environment(1)
    build(env).sink_to(ListSink())
    with pytest.raises(Exception, match=said), viewed(env, tmp_path) as view:
        view.job.step()
