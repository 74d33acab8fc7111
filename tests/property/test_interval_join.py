"""Interval joins against the definition, however the input is cut, crashed or restarted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Duration, WatermarkStrategy
from scurry.datastream import OutputTag, ProcessFunction, ProcessJoinFunction
from scurry.datastream import StreamExecutionEnvironment as Environment
from scurry.testing import ListSink, run_local

LATE = [OutputTag("left-late"), OutputTag("right-late")]
#: key, timestamp, side
events = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(0, 1)),
    min_size=1,
    max_size=40,
)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=6)
troubles = st.lists(st.integers(0, 8), max_size=3)
bounds = st.tuples(st.integers(-15, 15), st.integers(-15, 15)).map(sorted)


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        assert (ctx.get_left_timestamp(), ctx.get_right_timestamp()) == (left[1], right[1])
        yield left[3], right[3], ctx.get_timestamp()


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield (*value, ctx.timestamp())


def run(
    data: list[Any], bound: int, lower: int, upper: int, parallelism: int, **how: Any
) -> tuple[list[Any], list[Any]]:
    env = Environment.get_execution_environment().set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    source = env.from_collection(data).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event[1])
    )
    sides = [source.filter(lambda e, s=s: e[2] == s).key_by(lambda e: e[0]) for s in (0, 1)]
    joined = (
        sides[0]
        .interval_join(sides[1])
        .between(lower, upper)
        .side_output_left_late_data(LATE[0])
        .side_output_right_late_data(LATE[1])
        .process(Pair())
    )
    pairs, late = ListSink(), [ListSink(), ListSink()]
    joined.process(Stamped()).sink_to(pairs)
    for tag, sink in zip(LATE, late, strict=True):
        joined.get_side_output(tag).sink_to(sink)
    run_local(env, **how)
    assert all(row[2] == row[3] for row in pairs.values), "results stand at the pair's timestamp"
    return sorted(row[:3] for row in pairs.values), sorted(late[0].values + late[1].values)


def brute_force(data: list[Any], bound: int, lower: int, upper: int) -> tuple[list[Any], list[Any]]:
    """All pairs in bounds of elements that were not late, unless the watermark had reached the
    earlier one's last chance before the later one came."""
    unknown = -(1 << 62)
    pairs, late = [], []
    kept: list[tuple[Any, int]] = []
    watermark = highest = unknown
    for event in data:
        key, time, side, _ = event
        before, watermark = watermark, unknown if highest == unknown else highest - bound - 1
        if watermark > before:
            kept = [(other, until) for other, until in kept if until > watermark]
        highest = max(highest, time)
        if time < watermark:
            late.append(event)
            continue
        for other, _ in kept:
            left, right = (event, other) if side == 0 else (other, event)
            if other[0] == key and other[2] != side and lower <= right[1] - left[1] <= upper:
                pairs.append((left[3], right[3], max(time, other[1])))
        last = max(time, time + upper) if side == 0 else max(time, time - lower)
        kept.append((event, last))
    return sorted(pairs), sorted(late)


@given(events, st.integers(0, 30), bounds, cuts, troubles, troubles, st.integers(1, 3))
def test_pairs_and_late_elements(
    drawn: list[Any],
    bound: int,
    between: list[int],
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    parallelism: int,
) -> None:
    data = [(*event, number) for number, event in enumerate(drawn)]
    expected = brute_force(data, bound, *between)
    assert run(data, bound, *between, parallelism) == expected
    assert run(data, bound, *between, parallelism, cuts=sizes, crash=crash, restart=restart) == (
        expected
    )
    if bound >= 40:
        return
    in_time = run(data, 50, *between, parallelism, cuts=sizes)
    assert in_time == (definition(data, *between), [])


def definition(data: list[Any], lower: int, upper: int) -> list[Any]:
    """With nobody late: all pairs of equal keys within the bounds."""
    return sorted(
        (left[3], right[3], max(left[1], right[1]))
        for left in data
        for right in data
        if left[2] == 0
        and right[2] == 1
        and left[0] == right[0]
        and lower <= right[1] - left[1] <= upper
    )
