"""Every table says how it is dealt out when the parallelism changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.transcripts.changes import ENGINE, Windowing, compiled
from tests.transcripts.test_changes import ASSIGNERS, CUT, EVICTORS, TRIGGERS

from scurry.common import Configuration, Time, Types, WatermarkStrategy
from scurry.common.errors import FunctionError, StateError
from scurry.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from scurry.runtime.rescaling import RULES, SPACES, rule_of
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.testing import ListSink, LocalJob

STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda event, _: event[1]
)
DATA = [("a", 1), ("b", 2), ("a", 3), ("b", 4)]
RULE = MapStateDescriptor("rule", Types.INT(), Types.INT())


def tables_of(job: Any, batches: int, size: int) -> set[str]:
    """The tables that a job has written to, without the operators' uids."""
    found: set[str] = set()
    with LocalJob(job) as running:
        for _ in range(batches):
            running.clock += 7
            running.step(size)
            for host in running._hosts.values():
                for part in host.store.parts:
                    found |= {getattr(part, "name", SCHEMAS), getattr(part, "_elements", SCHEMAS)}
    for table in found:
        rule_of(table)
    return {table.partition("\x1f")[2].partition("\x1f")[0] for table in found} - {""}


def windowings() -> Iterable[Windowing]:
    for assigner in ASSIGNERS:
        for function in ("process", "reduce", "aggregate", "aggregate by window"):
            yield Windowing(assigner, function=function, lateness=10)
    for trigger in TRIGGERS:
        yield Windowing(trigger=trigger)
    for evictor in EVICTORS:
        yield Windowing(evictor=evictor)
    for one in (Windowing(), Windowing(ASSIGNERS[5])):
        yield replace(one, function="built-in")


class Everything(KeyedProcessFunction, CheckpointedFunction):
    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))

    def initialize_state(self, context: Any) -> None:
        self.list = context.get_operator_state_store().get_list_state(ListStateDescriptor("list"))

    def snapshot_state(self, context: Any) -> None:
        self.list.update([1])

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.value.update(1)
        ctx.timer_service().register_event_time_timer(100)
        ctx.timer_service().register_processing_time_timer(100)
        yield value


class Ruled(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULE).put(value, value)


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        yield left


class OfWindow(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        context.window_state().get_state(ValueStateDescriptor("seen")).update(1)
        context.global_state().get_state(ValueStateDescriptor("seen")).update(1)
        yield key


def others() -> Any:
    """A program with all operators that keep something and are no windows of the matrix."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.of({"state.backend": "memory"})
    ).set_parallelism(1)
    timed = env.from_collection(DATA).assign_timestamps_and_watermarks(STRATEGY)
    keyed = timed.key_by(lambda event: event[0])
    rules = env.from_collection([1, 2, 3, 4]).broadcast(RULE)
    windowed = keyed.window(ENGINE["TumblingEventTimeWindows"].of(Time.milliseconds(1)))
    joined = keyed.interval_join(timed.key_by(lambda event: event[0]))
    streams = [
        keyed.process(Everything()).uid("process"),
        keyed.reduce(lambda a, b: b).uid("reduce"),
        keyed.connect(rules).process(Ruled()).uid("rules"),
        joined.between(Time.milliseconds(0), Time.milliseconds(5)).process(Pair()).uid("join"),
        windowed.allowed_lateness(50).process(OfWindow()).uid("windows"),
    ]
    for stream in streams:
        stream.sink_to(ListSink())
    return env._compile(None)


def test_every_table_that_operators_make_is_declared() -> None:
    found = tables_of(others(), 4, 2)
    for windowing in windowings():
        found |= tables_of(compiled(windowing, ListSink(), ListSink()), 3, CUT)
    own = {name for name in found if name.startswith("#")}
    of_spaces = {name for name in own if name.startswith(SPACES)}
    assert own - of_spaces == set(RULES)
    assert {name.partition(":")[0] + ":" for name in of_spaces} == set(SPACES)


def test_a_table_that_is_not_declared_is_an_error() -> None:
    with pytest.raises(StateError) as refused:
        rule_of("sums\x1f#new-table")
    assert str(refused.value) == (
        "The table '#new-table' of operator 'sums' does not say how it is dealt out to another "
        "number of slots. It was written by a newer version of Scurry, or its rule is missing from "
        "scurry.runtime.rescaling. Use that version, or the parallelism that the job had."
    )
    assert rule_of("sums\x1fcount") is rule_of("sums\x1f#window:count")


class Reserved(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        runtime_context.get_state(ValueStateDescriptor("#left"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def test_functions_keep_out_of_the_operators_tables() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    keyed = env.from_collection(DATA).key_by(lambda event: event[0])
    keyed.process(Reserved()).sink_to(ListSink())
    with (
        LocalJob(env._compile(None)) as job,
        pytest.raises(FunctionError, match=r"state name '#left'; names that begin with '#'"),
    ):
        job.step()
