"""Windows in programs: state, side outputs, custom parts, and what goes wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from scurry.common import Time, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError, StateError
from scurry.datastream import (
    AggregateFunction,
    AllWindowFunction,
    DataStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from scurry.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from scurry.datastream.window import (
    AccumulationMode,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    MergingWindowAssigner,
    NeverTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)
from scurry.runtime.windowing import slices
from scurry.testing import ListSink, LocalJob, OperatorHarness, collect_local, run_local

ms = Time.milliseconds
LATE = OutputTag("late")
SIDE = OutputTag("side")
# b is before a in the order of addresses
EVENTS = [("a", 1), ("b", 2), ("a", 5), ("a", 12), ("b", 3), ("a", 25)]
TEN = TumblingEventTimeWindows.of(ms(10))


def stream(events: list[Any] = EVENTS, parallelism: int = 1) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    return env.from_collection(events).assign_timestamps_and_watermarks(strategy)


def keyed(events: list[Any] = EVENTS) -> Any:
    return stream(events).key_by(lambda event: event[0])


def add(a: Any, b: Any) -> Any:
    return a[0], a[1] + b[1]


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> str:
        return f"sum {accumulator}"

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Apply(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [(key, window.start, list(inputs))]


class ApplyAll(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [(window.start, list(inputs))]


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().end, list(elements), context.current_processing_time()


class Process(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, context.window().start, [element[1] for element in elements]


def test_every_way_to_compute() -> None:
    ten = [("b", 2), ("a", 6), ("a", 12), ("a", 25)]
    assert collect_local(keyed().window(TEN).reduce(add)) == ten
    assert collect_local(keyed().window(TEN).sum(1)) == ten
    assert collect_local(keyed().window(TEN).max_by(1)) == [ten[0], ("a", 5), *ten[2:]]
    assert collect_local(keyed().window(TEN).aggregate(Sum())) == [
        "sum 2",
        "sum 6",
        "sum 12",
        "sum 25",
    ]
    assert collect_local(keyed().window(TEN).apply(Apply()))[1] == ("a", 0, [("a", 1), ("a", 5)])
    assert collect_local(keyed().window(TEN).aggregate(Sum(), Apply()))[1] == ("a", 0, ["sum 6"])
    assert collect_local(keyed().window(TEN).reduce(add, Process()))[1] == ("a", 0, [6])


def test_windows_over_the_whole_stream_run_in_one_slot() -> None:
    def run(build: Any) -> list[Any]:
        return collect_local(build(stream(parallelism=3)))

    assert run(lambda s: s.window_all(TEN).reduce(add)) == [("a", 8), ("a", 12), ("a", 25)]
    assert run(lambda s: s.window_all(TEN).apply(ApplyAll()))[1] == (10, [("a", 12)])
    assert run(lambda s: s.window_all(TEN).process(ProcessAll()))[2] == (30, [("a", 25)], 0)
    assert run(lambda s: s.count_window_all(4).sum(1)) == [("a", 20)]
    assert run(lambda s: s.count_window_all(4, 1).sum(1)) == [("a", 20), ("b", 22), ("a", 45)]


def test_results_carry_the_last_instant_of_their_window() -> None:
    with OperatorHarness.of(keyed().window(TEN).reduce(add)) as harness:
        harness.process_element(("a", 1), 1)
        harness.process_watermark(50)
        assert harness.timestamped_output == [(("a", 1), 9)]


@pytest.mark.parametrize("cuts", [None, 1])
def test_windows_behind_windows(cuts: int | None) -> None:
    first = keyed([("a", t) for t in range(0, 100, 3)]).window(TEN).reduce(add)
    second = first.window_all(TumblingEventTimeWindows.of(ms(50))).reduce(add)
    totals = [("a", sum(range(0, 50, 3))), ("a", sum(range(51, 100, 3)))]
    assert collect_local(second, cuts=cuts) == totals


def test_late_elements_are_counted_and_sent_to_the_side_output() -> None:
    result = keyed().window(TEN).side_output_late_data(LATE).reduce(add)
    late = ListSink()
    result.print()
    result.get_side_output(LATE).sink_to(late)
    run_local(result.get_execution_environment())
    assert late.values == [("b", 3)]
    with OperatorHarness.of(keyed().window(TEN).reduce(add)) as harness:
        harness.process_watermark(50)
        harness.process_element(("a", 1), 1)
        assert harness.counter("late") == 1


class Stateful(ProcessWindowFunction):
    """Counts the firings of each window and of each key; what is left of a window is told."""

    FIRINGS = ValueStateDescriptor("firings")

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        counts = []
        for store in (context.window_state(), context.global_state()):
            state = store.get_state(self.FIRINGS)
            state.update((state.value() or 0) + 1)
            counts.append(state.value())
        context.output(SIDE, (key, context.current_watermark()))
        yield key, context.window().start, *counts

    def clear(self, context: Any) -> None:
        state = context.window_state().get_state(self.FIRINGS)
        state.clear()


class OtherTrigger(CountTrigger):
    """Fires at each element; unknown to the engine."""


@pytest.mark.parametrize("how", [{}, {"cuts": 1}, {"cuts": 2, "crash": [1], "restart": [2]}])
def test_state_of_windows_and_keys(how: Any) -> None:
    result = keyed().window(TEN).allowed_lateness(20).process(Stateful())
    main, side = ListSink(), ListSink()
    result.sink_to(main)
    result.get_side_output(SIDE).sink_to(side)
    run_local(result.get_execution_environment(), **how)
    assert main.values == [
        ("b", 0, 1, 1),
        ("a", 0, 1, 1),
        ("b", 0, 2, 2),
        ("a", 10, 1, 2),
        ("a", 20, 1, 3),
    ]
    assert side.values == [("b", 9), ("a", 9), ("b", 11), ("a", 19), ("a", 29)]


@pytest.mark.parametrize("trigger", [None, OtherTrigger(1)])
def test_clear_is_called_when_a_window_ends(trigger: Any) -> None:
    windowed = keyed([("a", 1), ("a", 30), ("a", 60)]).window(TEN).allowed_lateness(5)
    if trigger is not None:
        windowed = windowed.trigger(trigger)
    result = windowed.process(Stateful()).uid("w")
    result.sink_to(ListSink())
    with LocalJob(result.get_execution_environment()._compile(None)) as job:
        job.step(1)
        job.step(2)
        assert job.state("w", "#window:firings") in ({}, {("a", TimeWindow(60, 70)): 1})
        assert set(job.state("w", "firings")) == {"a"}


def test_sessions_have_no_state_of_their_own() -> None:
    sessions = keyed().window(EventTimeSessionWindows.with_gap(ms(5))).process(Stateful())
    with pytest.raises(FunctionError, match=r"Windows that merge have no state of their own"):
        collect_local(sessions)


class EveryOther(Trigger):
    """Fires at each second element, 3 ms after the last one, and purges at the window's end."""

    COUNT = ReducingStateDescriptor("count", lambda a, b: a + b)
    DUE = ValueStateDescriptor("due")

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        due = ctx.get_partitioned_state(self.DUE)
        if due.value() is not None:
            ctx.delete_event_time_timer(due.value())
        due.update(timestamp + 3)
        ctx.register_event_time_timer(timestamp + 3)
        count = ctx.get_partitioned_state(self.COUNT)
        count.add(1)
        return TriggerResult.FIRE if count.get() % 2 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.FIRE

    def on_merge(self, window: Any, ctx: Any) -> None:
        raise AssertionError("tumbling windows do not merge")

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.COUNT).clear()
        ctx.get_partitioned_state(self.DUE).clear()


@pytest.mark.parametrize("cuts", [None, 1])
def test_a_trigger_of_ones_own(cuts: int | None) -> None:
    events = [("a", 1), ("a", 2), ("a", 7), ("a", 15)]
    result = keyed(events).window(TEN).trigger(EveryOther()).process(Process())
    assert collect_local(result, cuts=cuts) == [
        ("a", 0, [1, 2]),
        ("a", 0, [1, 2, 7]),
        ("a", 10, [15]),
        ("a", 10, [15]),
    ]


@dataclass(frozen=True)
class Named(Window):
    name: str
    last: int

    def max_timestamp(self) -> int:
        return self.last


class ByName(MergingWindowAssigner):
    """One window for each initial; windows of one initial merge, the later end counts."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[Named]:
        return [Named(element[2], timestamp + 10)]

    def merge_windows(self, windows: Iterable[Named], callback: Any) -> None:
        by_name: dict[str, list[Named]] = {}
        for window in windows:
            by_name.setdefault(window.name, []).append(window)
        for name, group in by_name.items():
            if len(group) > 1:
                callback.merge(group, Named(name, max(window.last for window in group)))

    def get_default_trigger(self, env: Any) -> Any:
        return TEN.get_default_trigger(env)

    def get_window_serializer(self) -> Any:
        return None

    def is_event_time(self) -> bool:
        return True


class Names(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().name, context.window().last, [element[1] for element in elements]


@pytest.mark.parametrize("how", [{}, {"cuts": 1, "restart": [1, 2, 3]}])
def test_an_assigner_of_ones_own_whose_windows_merge(how: Any) -> None:
    events = [("a", 1, "x"), ("a", 2, "y"), ("a", 5, "x"), ("a", 20, "z"), ("a", 30, "x")]
    result = keyed(events).window(ByName()).process(Names())
    assert collect_local(result, **how) == [
        ("y", 12, [2]),
        ("x", 15, [1, 5]),
        ("z", 30, [20]),
        ("x", 40, [30]),
    ]


class OnlyEven(Evictor):
    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> list[Any]:
        return [element for element in elements if element.value[1] % 2 == 0]

    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        elements.clear()


def test_an_evictor_of_ones_own() -> None:
    events = [("a", 1), ("a", 2), ("a", 4), ("a", 5), ("a", 6)]
    windowed = keyed(events).window(TEN).trigger(CountTrigger.of(3)).evictor(OnlyEven())
    assert collect_local(windowed.process(Process())) == [("a", 0, [2, 4])]
    windowed = keyed(events).window(TEN).evictor(CountEvictor.of(2))
    assert collect_local(windowed.reduce(add)) == [("a", 11)]
    windowed = keyed(events).window(TEN).evictor(CountEvictor.of(2))
    assert collect_local(windowed.aggregate(Sum())) == ["sum 11"]


def test_a_million_sessions_of_one_key_are_not_a_million_times_slower() -> None:
    sessions = EventTimeSessionWindows.with_gap(ms(1))
    with OperatorHarness.of(keyed().window(sessions).reduce(add)) as harness:
        for number in range(3000):
            harness.process_element(("a", 0), (number * 7919 % 3000) * 3)
        assert harness.output == []
        harness.process_watermark(10**6)
        assert len(harness.output) == 3000


def test_a_very_large_timestamp_is_a_timestamp() -> None:
    last = (1 << 63) - 1
    for trigger in (None, OtherTrigger(1)):
        windowed = keyed().window(TEN)
        if trigger is not None:
            windowed = windowed.trigger(trigger)
        with OperatorHarness.of(windowed.reduce(add)) as harness:
            harness.process_element(("a", 1), last)
            harness.process_watermark(last)
            assert harness.timestamped_output == [(("a", 1), last)]


@pytest.mark.parametrize(
    "assigner", [TEN, EventTimeSessionWindows.with_gap(ms(5)), SlidingEventTimeWindows(9, 3, 0)]
)
def test_an_element_without_timestamp_is_an_error_that_says_what_to_do(assigner: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    plain = env.from_collection([("a", 1)]).key_by(lambda event: event[0])
    with pytest.raises(FunctionError) as caught:
        collect_local(plain.window(assigner).reduce(add))
    assert "('a', 1)" in str(caught.value)
    assert "with_timestamp_assigner" in str(caught.value)
    env.close()
    plain.window(TumblingProcessingTimeWindows.of(ms(5))).reduce(add).print()
    run_local(env)


class Broken(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        raise ValueError("no good")


class Lost(CountTrigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        return None


class NotIterable(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return 5


@pytest.mark.parametrize("trigger", [None, CountTrigger.of(1)])
def test_a_failing_function_is_told_with_its_window_or_element(trigger: Any) -> None:
    windowed = keyed().window(TEN)
    expected = r"TimeWindow\(start=0, end=10\) of key 'b'"
    if trigger is not None:
        windowed, expected = windowed.trigger(trigger), r"\('a', 1\)"
    with pytest.raises(FunctionError, match=expected) as caught:
        collect_local(windowed.process(Broken()))
    assert "ValueError: no good" in str(caught.value)


def test_wrong_answers_of_functions_and_triggers() -> None:
    with pytest.raises(FunctionError, match=r"Lost.on_element returned None; a trigger returns"):
        collect_local(keyed().window(TEN).trigger(Lost(1)).process(Process()))
    with pytest.raises(FunctionError, match=r"NotIterable returned 5 \(int\); it must yield"):
        collect_local(keyed().window(TEN).process(NotIterable()))
    gaps = EventTimeSessionWindows.with_dynamic_gap(lambda element: -1)
    with pytest.raises(FunctionError, match=r"session gap of \('a', 1\) is -1"):
        collect_local(keyed().window(gaps).process(Process()))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: keyed().window(5), "window needs a WindowAssigner .* got 5"),
        (lambda: keyed().window(TEN).trigger(5), "trigger needs a Trigger, got 5"),
        (lambda: keyed().window(TEN).evictor(5), "evictor needs an Evictor, got 5"),
        (lambda: keyed().window(TEN).allowed_lateness(-1), "cannot be negative, got -1"),
        (lambda: keyed().window(TEN).side_output_late_data("x"), "needs an OutputTag, got 'x'"),
        (lambda: keyed().window(TEN).accumulation_mode("x"), "AccumulationMode, got 'x'"),
        (lambda: keyed().window(TEN).process(Process), "class Process itself; pass an instance"),
        (lambda: keyed().window(TEN).process(Apply()), "needs a ProcessWindowFunction"),
        (lambda: keyed().window(TEN).aggregate(add), "needs an AggregateFunction"),
        (lambda: keyed().window(TEN).reduce(add, Sum()), "WindowFunction or a ProcessWindow"),
        (lambda: stream().window_all(TEN).apply(Apply()), "needs an AllWindowFunction"),
        (
            lambda: (
                keyed()
                .window(EventTimeSessionWindows.with_gap(ms(1)))
                .trigger(DeltaTrigger.of(1, lambda a, b: 0))
                .reduce(add)
            ),
            "DeltaTrigger cannot serve EventTimeSessionWindows.* merge",
        ),
        (
            lambda: (
                keyed()
                .window(TEN)
                .evictor(CountEvictor.of(1))
                .accumulation_mode(AccumulationMode.DISCARDING)
                .reduce(add)
            ),
            "leave out one of the two",
        ),
    ],
)
def test_mistakes_are_found_when_the_program_is_built(build: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        build()


def test_a_trigger_that_never_fires_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="NeverTrigger gives no results, and its state only grows"):
        keyed().window(GlobalWindows.create()).reduce(add)
    with pytest.warns(UserWarning, match="only grows"):
        keyed().window(TEN).trigger(NeverTrigger()).reduce(add)


def test_assigners_are_shown_in_the_plan() -> None:
    env = stream().get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    timed = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    timed.key_by(lambda e: e[0]).window(TEN).reduce(add).print()
    assert "Window(TumblingEventTimeWindows(10 ms), EventTimeTrigger, reduce)" in env.explain()
    assert isinstance(TEN, WindowAssigner)


@pytest.mark.parametrize("assigner", [TEN, SlidingEventTimeWindows(10, 4, 0)])
def test_windows_that_do_not_fit_into_memory(
    assigner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [(f"k{i % 3}", (i * 7) % 60) for i in range(60)]

    def run(cuts: int | None) -> list[list[Any]]:
        windowed = keyed(events).window(assigner).allowed_lateness(15)
        summed = keyed(events).window(assigner).allowed_lateness(15).reduce(add)
        return [collect_local(s, cuts=cuts) for s in (windowed.process(Process()), summed)]

    expected = run(None)
    monkeypatch.setattr(slices, "KEEP", 2)
    assert run(1) == expected


@pytest.mark.parametrize(
    "change", [lambda w: w.process(Process()), lambda w: w.trigger(CountTrigger.of(5)).reduce(add)]
)
def test_windows_stored_in_another_way_are_not_silently_forgotten(change: Any) -> None:
    with OperatorHarness.of(keyed().window(TEN).reduce(add)) as harness:
        harness.process_element(("a", 1), 1)
        harness.checkpoint()
        with OperatorHarness.of(change(keyed().window(TEN))) as other:
            harness._make = other._make
        with pytest.raises(StateError, match=r"another function, trigger.*a uid of their own"):
            harness.restart()


def test_a_timestamp_whose_window_would_begin_before_time_does_is_refused() -> None:
    windows = stream([("a", -(2**63) + 5)]).key_by(lambda e: e[0]).window(TEN)
    with pytest.raises(FunctionError, match="64 bits cannot hold the start of its window"):
        collect_local(windows.reduce(lambda a, b: a))
