"""Built-in aggregates: on columns and on rows they give what their definition gives, however the
input is cut, lost and run again."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.datastream import OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from scurry.testing import ListSink, run_local

LATE = OutputTag("late")
Event = tuple[Any, int, Any]

whole = st.integers(-5, 5) | st.sampled_from([2**62, -(2**62), 2**70])
numbers = st.one_of(
    whole,
    st.floats(-1e3, 1e3),
    st.sampled_from([0.1, -0.0, 1e300, -1e300, math.inf, -math.inf, math.nan]),
    st.none(),
)
KEYS = [st.integers(-3, 3), st.sampled_from("abc"), st.sampled_from([1, "a", (1, 2), None])]
events = st.one_of(
    st.lists(st.tuples(key, st.integers(-30, 60), value), min_size=1, max_size=40)
    for key in KEYS
    for value in (st.integers(0, 9), st.floats(0, 1), numbers)
)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=6)
troubles = st.lists(st.integers(0, 8), max_size=3)
assigners = st.sampled_from(
    [
        TumblingEventTimeWindows.of(Time.milliseconds(7), Time.milliseconds(3)),
        TumblingEventTimeWindows.of(Time.milliseconds(1)),
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(4)),
        SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(8)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(3)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(9)),
    ]
)


class Collect(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Event]) -> Iterable[Any]:
        window = context.window()
        yield key, window.start, window.end, [value for _, _, value in elements]


def built_in(windowed: Any) -> Any:
    return windowed.aggregate(
        agg.count(), agg.count(2), agg.sum(2), agg.min(2), agg.max(2), agg.avg(2)
    )


def run(
    way: Any, vectorised: bool, assigner: WindowAssigner[Any, Any], data: list[Event], bound: int,
    lateness: int, **how: Any,
) -> tuple[dict[str, list[Any]], list[Any]]:  # fmt: skip
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(bound)
    ).with_timestamp_assigner(lambda event, _: event[1])
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.get_configuration().set_boolean("scurry.windows.vectorised", vectorised)
    stream = env.from_collection(data).assign_timestamps_and_watermarks(strategy)
    windowed = stream.key_by(lambda event: event[0]).window(assigner)
    results = way(windowed.allowed_lateness(lateness).side_output_late_data(LATE))
    main, late = ListSink(), ListSink()
    results.sink_to(main)
    results.get_side_output(LATE).sink_to(late)
    run_local(env, **how)
    by_key: dict[str, list[Any]] = defaultdict(list)
    for row in main.values:
        by_key[repr(row[0])].append(row)
    return dict(by_key), sorted(map(repr, late.values))


def total(values: list[Any]) -> Any:
    """The sum by definition: whole, or exact and rounded once."""
    if not any(isinstance(value, float) for value in values):
        return sum(values)
    special = [v for v in values if isinstance(v, float) and not math.isfinite(v)]
    if special:
        return sum(special)
    scaled = sum(n * (2**1100 // d) for n, d in (value.as_integer_ratio() for value in values))
    return scaled / 2**1100


def expected_row(key: Any, start: int, end: int, elements: list[Any]) -> tuple[Any, ...]:
    values = [value for value in elements if value is not None]
    if not values:
        return key, start, end, len(elements), 0, None, None, None, None
    by_size = sorted(values, key=lambda value: (value != value, value))
    added = total(values)
    mean = added / len(values)
    return key, start, end, len(elements), len(values), added, by_size[0], by_size[-1], mean


def shown(found: tuple[dict[str, list[Any]], list[Any]]) -> str:
    """As text: NaN equals itself there, and 1 is not 1.0."""
    rows = {
        key: [tuple(v + 0.0 if type(v) is float else v for v in row) for row in found[0][key]]
        for key in sorted(found[0])
    }
    return repr((rows, found[1]))


@given(assigners, events, st.integers(0, 20), st.integers(0, 25), cuts, troubles, troubles)
def test_both_lanes_give_what_the_definition_gives(
    assigner: Any,
    data: list[Event],
    bound: int,
    lateness: int,
    sizes: list[int],
    crash: list[int],
    restart: list[int],
) -> None:
    collected, late = run(
        lambda windowed: windowed.process(Collect()), True, assigner, data, bound, lateness
    )
    expected = shown(
        ({key: [expected_row(*row) for row in rows] for key, rows in collected.items()}, late)
    )
    trouble: dict[str, Any] = {"cuts": sizes, "crash": crash, "restart": restart}
    for vectorised in (True, False):
        assert shown(run(built_in, vectorised, assigner, data, bound, lateness)) == expected
        cut = run(built_in, vectorised, assigner, data, bound, lateness, **trouble)
        assert shown(cut) == expected
