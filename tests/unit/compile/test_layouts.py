"""Layouts of state: who declares them, what they depend on, and what a refusal says."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from typing import Any

import cloudpickle
import msgspec
import pytest

from scurry.checkpoint.carry_over import why_not
from scurry.checkpoint.epochs import decode_epoch
from scurry.common import Configuration, Time, Types, WatermarkStrategy
from scurry.common.errors import StateError
from scurry.datastream import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream import aggregates as agg
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.state.layout import StateLayout
from scurry.testing import ListSink, LocalJob

ms = Time.milliseconds
DATA = [("a", 1), ("b", 2), ("a", 3), ("b", 14), ("a", 15)]
STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda event, _: event[1]
)


def environment(**settings: Any) -> StreamExecutionEnvironment:
    named = {"state.backend": "memory", **{k.replace("__", "."): v for k, v in settings.items()}}
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration.of(named)
    ).set_parallelism(1)


def events(env: StreamExecutionEnvironment) -> Any:
    stream = env.from_collection(DATA).uid("events").assign_timestamps_and_watermarks(STRATEGY)
    return stream.key_by(lambda event: event[0])


def program(build: Any, sink: ListSink | None = None, **settings: Any) -> Any:
    env = environment(**settings)
    build(events(env)).uid("x").sink_to(sink or ListSink())
    return env._compile(None)


def layout(build: Any, **settings: Any) -> StateLayout:
    found = program(build, **settings).spec.inventory["x"].layout
    assert isinstance(found, StateLayout)
    return found


def refusal(before: Any, after: Any) -> str:
    with LocalJob(before) as job:
        job.step(3)
        with pytest.raises(StateError) as refused:
            job.continue_as(after)
    return str(refused.value)


def total(size: int) -> Any:
    windows = TumblingEventTimeWindows.of(ms(size))
    return lambda keyed: keyed.window(windows).reduce(lambda a, b: (a[0], a[1] + b[1]))


def test_the_refusal_names_operator_place_change_and_what_to_do() -> None:
    lines = refusal(program(total(10)), program(total(20))).splitlines()
    assert lines[0] == (
        "The checkpoint in memory holds state that operators of this program cannot read, because "
        "they have changed:"
    )
    assert lines[1].startswith(
        "  - 'Window(TumblingEventTimeWindows(20 ms), EventTimeTrigger, reduce)' (uid 'x', "
    )
    assert "test_layouts.py:" in lines[1]
    assert lines[1].endswith("): windows; size 10 -> 20, slide 10 -> 20")
    assert lines[2:] == [
        "Put back what has changed. Or begin with the changed operator anew: give it a uid of its "
        "own and drop the state of the old one for good: start with `scurry run "
        "--allow-dropped UID`, or with `--allow-non-restored-state` for all, or set "
        "execution.state-recovery.ignore-unclaimed-state to true."
    ]


def test_with_leave_changed_windows_begin_anew() -> None:
    """The two elements of a that had come are gone with the window they were in."""
    sink = ListSink()
    with LocalJob(program(total(10), sink)) as job:
        job.step(3)
        job.continue_as(program(total(20), sink), allow_non_restored_state=True)
        while job.step(1):
            pass
    assert sorted(sink.values) == [("a", 15), ("b", 14)]


def test_a_setting_that_promises_equal_results_is_not_changed_silently() -> None:
    def sums(keyed: Any) -> Any:
        return keyed.window(TumblingEventTimeWindows.of(ms(10))).aggregate(agg.sum(1))

    off = {"scurry__windows__vectorised": "false"}
    text = refusal(program(sums), program(sums, **off))
    assert "scurry.windows.vectorised true -> false" in text
    text = refusal(program(sums, **off), program(sums))
    assert "scurry.windows.vectorised false -> true" in text


def test_combining_before_the_hop_does_not_change_the_layout() -> None:
    def sums(keyed: Any) -> Any:
        return keyed.window(TumblingEventTimeWindows.of(ms(10))).aggregate(agg.sum(1))

    assert layout(sums) == layout(sums, **{"scurry__windows__combine-before-hop": "false"})


class Last(AggregateFunction):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Left empty."""


class MergedLast(Last):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a if acc_b is None else acc_b


class DeclaredLast(MergedLast):
    mergeable = True


def test_a_layout_follows_from_what_is_declared_not_from_code() -> None:
    windows = SlidingEventTimeWindows.of(ms(20), ms(10))
    empty, written, declared = (
        layout(lambda keyed, f=function: keyed.window(windows).aggregate(f()))
        for function in (Last, MergedLast, DeclaredLast)
    )
    assert empty == written
    assert declared.kind == "values by slice of time" != written.kind


def test_workers_are_told_which_operator_to_make() -> None:
    compiled = program(total(10))
    make = pickle.loads(cloudpickle.dumps(compiled.spec.operators["x"].make))
    assert make.kind.__name__ == "AlignedWindowOperator"
    assert compiled.spec.inventory["x"].layout.kind == "values by start of window"


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        yield left, right


def joined(lower: int, upper: int, sink: ListSink | None = None) -> Any:
    env = environment()
    left = events(env)
    right = (
        env.from_collection(DATA).uid("right").assign_timestamps_and_watermarks(STRATEGY)
    ).key_by(lambda event: event[0])
    joining = left.interval_join(right).between(ms(lower), ms(upper))
    joining.process(Pair()).uid("x").sink_to(sink or ListSink())
    return env._compile(None)


def test_bounds_of_an_interval_join_cannot_change() -> None:
    text = refusal(joined(-5, 5), joined(-5, 9))
    assert "elements that wait for their counterparts" in text
    assert "; upper bound 5 -> 9\n" in text


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield self.count.value()


def test_a_reduce_does_not_become_a_process_function() -> None:
    text = refusal(
        program(lambda keyed: keyed.reduce(lambda a, b: a)),
        program(lambda keyed: keyed.process(Counting())),
    )
    assert "it was kept as reduced values, and now as keyed states of a function" in text


class Ruled(KeyedBroadcastProcessFunction):
    def __init__(self, rules: MapStateDescriptor) -> None:
        self.rules = rules

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(self.rules).put(value, value)


def ruled(*names: str) -> Any:
    env = environment()
    states = [MapStateDescriptor(name, Types.INT(), Types.INT()) for name in names]
    rules = env.from_collection([1, 2, 3, 4]).uid("rules").broadcast(*states)
    events(env).connect(rules).process(Ruled(states[0])).uid("x").sink_to(ListSink())
    return env._compile(None)


def test_a_broadcast_state_may_come_but_not_go() -> None:
    with LocalJob(ruled("one")) as job:
        job.step(2)
        job.continue_as(ruled("one", "two"))
        job.step(1)
        with pytest.raises(StateError, match="broadcast states one, two -> two"):
            job.continue_as(ruled("two"))
        with pytest.raises(StateError, match="broadcast states one, two -> none"):
            job.continue_as(program(lambda keyed: keyed.process(Counting())))


def test_a_format_that_is_not_read_any_more_is_refused() -> None:
    old, now = StateLayout("x", 1), StateLayout("x", 3, {}, reads_from=2)
    assert why_not(old, now) == "x: format 1, of which this version of Scurry reads 2 to 3"
    assert why_not(StateLayout("x", 2), now) == ""
    assert why_not(StateLayout("x", 4), now) != ""


def test_checkpoints_of_earlier_versions_have_a_word() -> None:
    reduced = layout(lambda keyed: keyed.reduce(lambda a, b: a))
    assert why_not("reduce", reduced) == ""
    assert why_not("window", reduced) == "it was kept by a window, which this operator is not"
    assert why_not("window", layout(total(10))) == ""
    assert why_not("function", layout(lambda keyed: keyed.process(Counting()))) == ""


def test_layouts_are_part_of_an_epoch() -> None:
    with LocalJob(program(total(10))) as job:
        job.step(3)
        stored = decode_epoch(msgspec.json.encode(job.epoch()))
    assert stored.inventory["x"].layout == layout(total(10))


def sessions_of(gap: int, sink: ListSink) -> Any:
    """Sums of sessions in columns; the last events only move time."""
    data = [("a", 20_001), ("b", 20_002), ("c", 22_000), ("c", 23_000), ("c", 24_000)]
    env = environment()
    stream = env.from_collection(data).uid("events").assign_timestamps_and_watermarks(STRATEGY)
    sessions = EventTimeSessionWindows.with_gap(ms(gap))
    windowed = stream.key_by(lambda event: event[0]).window(sessions)
    windowed.aggregate(agg.count()).uid("x").sink_to(sink)
    return env._compile(None)


def test_sessions_in_columns_survive_a_shorter_gap() -> None:
    """Sessions lie in the store by the span of time that they end in, and a span is as long as the
    gap makes it: an old span may hold sessions that end after a new one would be over."""
    sink = ListSink()
    with LocalJob(sessions_of(10_000, sink)) as job:
        job.step(2)
        job.continue_as(sessions_of(100, sink))
        while job.step(1):
            job.restart(lose_local_state=True)
    assert sorted(sink.values) == [
        ("a", 20_001, 30_001, 1),
        ("b", 20_002, 30_002, 1),
        ("c", 22_000, 22_100, 1),
        ("c", 23_000, 23_100, 1),
        ("c", 24_000, 24_100, 1),
    ]


def test_windows_past_a_lower_lateness_are_forgotten() -> None:
    """With nothing left of them in the store."""

    def windows(lateness: int) -> Any:
        every = TumblingEventTimeWindows.of(ms(2))
        return lambda keyed: keyed.window(every).allowed_lateness(lateness).reduce(lambda a, b: b)

    with LocalJob(program(windows(100))) as job:
        job.step(3)
        assert job._hosts[1, 0].store.entries == 3
        job.continue_as(program(windows(0)))
        while job.step(1):
            pass
        assert job._hosts[1, 0].store.entries == 0


def test_the_plan_shows_how_state_is_kept() -> None:
    env = environment()
    total(10)(events(env)).uid("x").sink_to(ListSink())
    nodes = {node["id"]: node for node in json.loads(env.describe_plan())["nodes"]}
    assert nodes["x"]["state"] == "values by start of window"
    assert nodes["events"]["state"] == "source CollectionSource"
