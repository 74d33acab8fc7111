"""Windows of event time against their definition, however the input is cut, lost and run again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from scurry.testing import ListSink, OperatorHarness, run_local

LATE = OutputTag("late")
Event = tuple[str, int, int]
Span = tuple[int, int]

events = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(-30, 60)), min_size=1, max_size=40
).map(lambda pairs: [(key, time, at) for at, (key, time) in enumerate(pairs)])
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=6)
troubles = st.lists(st.integers(0, 8), max_size=3)
#: after which micro-batch the program goes on with how many slots
moves = st.dictionaries(st.integers(0, 8), st.integers(1, 4), max_size=2)


class Reference:
    """Windows with the default trigger, by definition: a plain loop over events."""

    def __init__(self, assign: Callable[[int], list[Span]], lateness: int, merging: bool) -> None:
        self.lateness, self.merging = lateness, merging
        self.assign_event: Callable[[Event], list[Span]] = lambda event: assign(event[1])
        self.open: dict[str, dict[Span, list[Event]]] = defaultdict(dict)
        self.due: set[tuple[int, str, Span]] = set()
        self.results: dict[str, list[Any]] = defaultdict(list)
        self.late: list[Event] = []

    def fire(self, key: str, span: Span) -> None:
        self.results[key].append((key, *span, [event[2] for event in self.open[key][span]]))

    def pass_to(self, watermark: float) -> None:
        for time, key, span in sorted(self.due):
            if time <= watermark:
                self.due.discard((time, key, span))
                self.fire(key, span)
        for spans in self.open.values():
            for span in [s for s in spans if s[1] - 1 + self.lateness <= watermark]:
                del spans[span]

    def merge(self, key: str, span: Span) -> Span:
        spans = self.open[key]
        touching = sorted(s for s in spans if s[0] <= span[1] and s[1] >= span[0])
        whole = (
            min([span[0], *(s[0] for s in touching)]),
            max([span[1], *(s[1] for s in touching)]),
        )
        contents = [event for s in touching for event in spans[s]]
        for old in touching:
            del spans[old]
            self.due.discard((old[1] - 1, key, old))
        if touching:
            spans[whole] = contents
        return whole

    def add(self, event: Event, watermark: float) -> None:
        key, time, _ = event
        taken = False
        for span in self.assign_event(event):
            if self.merging:
                span = self.merge(key, span)
            if span[1] - 1 + self.lateness <= watermark:
                continue
            taken = True
            self.open[key].setdefault(span, []).append(event)
            if span[1] - 1 <= watermark:
                self.fire(key, span)
            else:
                self.due.add((span[1] - 1, key, span))
        if not taken and time + self.lateness <= watermark:
            self.late.append(event)

    def run(self, data: list[Event], bound: int) -> tuple[dict[str, list[Any]], list[Event]]:
        highest: int | None = None
        for event in data:
            watermark = float("-inf") if highest is None else highest - bound - 1
            self.pass_to(watermark)
            self.add(event, watermark)
            highest = event[1] if highest is None else max(highest, event[1])
        self.pass_to(float("inf"))
        return dict(self.results), sorted(self.late)


class Collect(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Iterable[Event]) -> Iterable[Any]:
        window = context.window()
        yield key, window.start, window.end, [event[2] for event in elements]


class Numbers(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Event, accumulator: list[int]) -> list[int]:
        accumulator.append(value[2])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return list(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class WithWindow(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        (value,) = elements
        yield key, context.window().start, context.window().end, list(value)


class AnotherEventTimeTrigger(EventTimeTrigger):
    """The same trigger, unknown to the engine."""


def collect(windowed: Any) -> Any:
    return windowed.process(Collect())


def collect_by_custom_trigger(windowed: Any) -> Any:
    return windowed.trigger(AnotherEventTimeTrigger()).process(Collect())


def aggregate(windowed: Any) -> Any:
    return windowed.aggregate(Numbers(), WithWindow())


def reduce(windowed: Any) -> Any:
    return windowed.reduce(lambda a, b: a + b, WithWindow())


WAYS = [collect, collect_by_custom_trigger, aggregate, reduce]


def run(
    way: Callable[[Any], Any],
    assigner: WindowAssigner[Any, Any],
    data: list[Event],
    bound: int,
    lateness: int,
    parallelism: int,
    **how: Any,
) -> tuple[dict[str, list[Any]], list[Event]]:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(bound)
    ).with_timestamp_assigner(lambda event, _: event[1])
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    stream = env.from_collection(data).assign_timestamps_and_watermarks(strategy)
    keyed = stream.key_by(lambda event: event[0])
    if way is reduce:
        keyed = stream.map(lambda event: Many((event[2],), event)).key_by(
            lambda many: many.event[0]
        )
    windowed = keyed.window(assigner).allowed_lateness(lateness).side_output_late_data(LATE)
    results = way(windowed)
    main, late = ListSink(), ListSink()
    results.sink_to(main)
    results.get_side_output(LATE).sink_to(late)
    run_local(env, **how)
    by_key: dict[str, list[Any]] = defaultdict(list)
    for row in main.values:
        by_key[row[0]].append(row)
    return dict(by_key), sorted(e.event if isinstance(e, Many) else e for e in late.values)


class Many:
    """Numbers that add up, for reduce."""

    def __init__(self, numbers: tuple[int, ...], event: Event) -> None:
        self.numbers, self.event = numbers, event

    def __add__(self, other: Many) -> Many:
        return Many(self.numbers + other.numbers, self.event)

    def __iter__(self) -> Any:
        return iter(self.numbers)


def aligned(size: int, slide: int, offset: int) -> Callable[[int], list[Span]]:
    def assign(time: int) -> list[Span]:
        starts = range(time - size + 1, time + 1)
        found = [(s, s + size) for s in starts if (s - offset) % slide == 0]
        return found[::-1]

    return assign


@given(
    st.sampled_from(WAYS),
    events,
    st.integers(0, 20),
    st.integers(0, 25),
    st.integers(-6, 6),
    cuts,
    troubles,
    troubles,
    st.integers(1, 3),
)
def test_tumbling(
    way: Any,
    data: list[Event],
    bound: int,
    lateness: int,
    offset: int,
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    parallelism: int,
) -> None:
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(7), Time.milliseconds(offset))
    expected = Reference(aligned(7, 7, offset), lateness, False).run(data, bound)
    assert run(way, assigner, data, bound, lateness, parallelism) == expected
    cut = run(
        way, assigner, data, bound, lateness, parallelism, cuts=sizes, crash=crash, restart=restart
    )
    assert cut == expected


@given(
    st.sampled_from(WAYS),
    events,
    st.integers(0, 20),
    st.integers(0, 25),
    st.sampled_from([(10, 5), (10, 4), (12, 3), (5, 8), (7, 7)]),
    st.sampled_from([0, 5, 500_000]),
    cuts,
    troubles,
    troubles,
    moves,
)
def test_sliding(
    way: Any,
    data: list[Event],
    bound: int,
    lateness: int,
    shape: tuple[int, int],
    kept: int,
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    rescale: dict[int, int],
) -> None:
    assigner = SlidingEventTimeWindows.of(*map(Time.milliseconds, shape))
    expected = Reference(aligned(*shape, 0), lateness, False).run(data, bound)
    # what slices hold is in memory, or must be read again
    with patch("scurry.runtime.windowing.slices.KEEP", kept):
        assert run(way, assigner, data, bound, lateness, 2) == expected
        how = {"cuts": sizes, "crash": crash, "restart": restart, "rescale": rescale}
        cut = run(way, assigner, data, bound, lateness, 2, **how)
    assert cut == expected


@given(
    st.sampled_from(WAYS),
    events,
    st.integers(0, 20),
    # sessions of which no element is taken in late are formed in another way
    st.just(0) | st.integers(0, 25),
    st.integers(1, 9),
    cuts,
    troubles,
    troubles,
)
def test_sessions(
    way: Any,
    data: list[Event],
    bound: int,
    lateness: int,
    gap: int,
    sizes: list[int],
    crash: list[int],
    restart: list[int],
) -> None:
    assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(gap))
    expected = Reference(lambda time: [(time, time + gap)], lateness, True).run(data, bound)
    assert run(way, assigner, data, bound, lateness, 2) == expected
    cut = run(way, assigner, data, bound, lateness, 2, cuts=sizes, crash=crash, restart=restart)
    assert cut == expected


def gap_of(element: Any) -> int:
    """A gap that differs from element to element."""
    number = element.event[2] if isinstance(element, Many) else element[2]
    return 1 + number * 7 % 12


@given(
    st.sampled_from(WAYS),
    events,
    st.integers(0, 20),
    st.integers(0, 25),
    st.sampled_from([0, 5, 500_000]),
    cuts,
    troubles,
    troubles,
    moves,
)
def test_sessions_whose_gap_elements_decide(
    way: Any,
    data: list[Event],
    bound: int,
    lateness: int,
    kept: int,
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    rescale: dict[int, int],
) -> None:
    assigner = EventTimeSessionWindows.with_dynamic_gap(gap_of)
    reference = Reference(lambda time: [], lateness, True)
    reference.assign_event = lambda event: [(event[1], event[1] + gap_of(event))]
    expected = reference.run(data, bound)
    # what sessions hold is in memory, or must be read again
    with patch("scurry.runtime.windowing.session_table.KEEP", kept):
        assert run(way, assigner, data, bound, lateness, 2) == expected
        how = {"cuts": sizes, "crash": crash, "restart": restart, "rescale": rescale}
        cut = run(way, assigner, data, bound, lateness, 2, **how)
    assert cut == expected


class Panes(ProcessWindowFunction):
    """Tells all there is to tell, and the windows that were cleared before."""

    def open(self, runtime_context: Any) -> None:
        self.cleared: list[Any] = []

    def process(self, key: str, context: Any, elements: Iterable[Event]) -> Iterable[Any]:
        yield key, context.window(), context.pane(), context.current_watermark(), list(elements)
        yield "cleared", tuple(self.cleared)
        self.cleared.clear()

    def clear(self, context: Any) -> None:
        self.cleared.append(context.window())


@given(events, st.integers(0, 20), st.integers(0, 25), st.sampled_from([3, gap_of]))
def test_both_session_operators_do_the_same_in_the_same_order(
    data: list[Event], bound: int, lateness: int, gap: Any
) -> None:
    """Across keys too, with timestamps, panes, and what is cleared."""
    found = []
    for trigger in (EventTimeTrigger(), AnotherEventTimeTrigger()):
        assigner: Any = EventTimeSessionWindows.with_dynamic_gap(gap_of)
        if gap == 3:
            assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(3))
        stream = StreamExecutionEnvironment.get_execution_environment().from_collection([])
        windowed = stream.key_by(lambda event: event[0]).window(assigner).trigger(trigger)
        late = windowed.allowed_lateness(lateness).side_output_late_data(LATE)
        with OperatorHarness.of(late.process(Panes())) as harness:
            highest = -(10**6)
            for event in data:
                harness.process_watermark(highest - bound - 1)
                harness.process_element(event, event[1])
                highest = max(highest, event[1])
            harness.process_watermark((1 << 63) - 1)
            found.append((harness.timestamped_output, harness.side_output(LATE)))
    assert found[0] == found[1]
