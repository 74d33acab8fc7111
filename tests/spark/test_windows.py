"""Windows on Spark: transcripts, and a program with a restart, give what they give without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.transcripts import test_matrix as matrix
from tests.transcripts.test_transcripts import TRANSCRIPTS, expected_of, program, text_of

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.connectors.parquet import ParquetSource
from scurry.datastream import OutputTag, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.window import (
    AfterCount,
    AfterWatermark,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.testing import collect_local
from scurry.testing.spark import collect_on_spark

pytestmark = pytest.mark.spark
ON_SPARK = [param.values[0] for param in TRANSCRIPTS if param.values[0].get("spark")]
LATE = OutputTag("late")
EVENTS = [(f"k{i % 5}", (i * 37) % 211, i) for i in range(80)]


def labelled(number: int) -> Callable[[Any], Any]:
    return lambda row: (number, row[0], text_of(row))


def test_transcripts(collect_cut: Callable[..., list[Any]]) -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        parts = [program(t, env).map(labelled(at)) for at, t in enumerate(ON_SPARK)]
        return reduce(lambda a, b: a.union(b), parts)

    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    for number, key, pane in collect_cut(build):
        found[number, key].append(pane)
    for at, transcript in enumerate(ON_SPARK):
        for key in "ab":
            assert found[at, key] == expected_of(transcript)[0], transcript["name"]


def test_a_selection_of_the_matrix() -> None:
    """Cases of every assigner, and together of every trigger, lateness and mode, in one job."""
    cases = [case for programs in matrix.PROGRAMS.values() for case in programs][::31]
    assert {case.assigner for case in cases} == set(matrix.PROGRAMS)
    matrix.check(collect_on_spark(lambda env: matrix.program(env, cases), 9, 2), cases)


def windows(env: StreamExecutionEnvironment) -> Any:
    """Three kinds of windows over one stream, their late elements, and windows behind windows."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(30)
    ).with_timestamp_assigner(lambda event, _: event[1])
    stream = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = stream.key_by(lambda event: event[0])

    def add(a: Any, b: Any) -> Any:
        return a[0], max(a[1], b[1]), a[2] + b[2]

    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    counted = tumbling.allowed_lateness(40).side_output_late_data(LATE).reduce(add)
    sliding = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(20)))
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(9)))
    early = sessions.trigger(AfterWatermark(early=AfterCount(2)))
    second = counted.key_by(lambda event: len(event[0])).window(
        TumblingEventTimeWindows.of(Time.milliseconds(100))
    )
    streams = [counted, counted.get_side_output(LATE), sliding.reduce(add), early.reduce(add)]
    named = [s.map(lambda row, at=at: (at, row)) for at, s in enumerate(streams)]
    return reduce(lambda a, b: a.union(b), [*named, second.sum(2).map(lambda row: (9, row))])


def aggregates(env: StreamExecutionEnvironment) -> Any:
    """Built-in aggregates over windows of three kinds."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(30)
    ).with_timestamp_assigner(lambda event, _: event[1])
    stream = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = stream.key_by(lambda event: event[0])
    kinds = [
        TumblingEventTimeWindows.of(Time.milliseconds(20)),
        SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(20)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(9)),
    ]
    totals = [
        keyed.window(kind).allowed_lateness(40).aggregate(agg.count(), agg.sum(2)) for kind in kinds
    ]
    named = [s.map(lambda row, at=at: (at, row)) for at, s in enumerate(totals)]
    return reduce(lambda a, b: a.union(b), named)


def test_built_in_aggregates(collect_cut: Callable[..., list[Any]]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.get_configuration().set_boolean("scurry.windows.vectorised", False)
    assert sorted(collect_cut(aggregates)) == sorted(collect_local(aggregates(env)))


@pytest.mark.parametrize("max_records", [700, 100_000])
def test_what_is_combined_on_its_way_gives_the_definition(tmp_path: Path, max_records: int) -> None:
    """Records of few keys, some of them too late, in files that are read as columns."""
    random = Random(7)
    stamps = [number + random.randrange(40) for number in range(6000)]
    stamps[3000:3010] = range(10)
    rows = [(f"k{random.randrange(3)}", stamp, random.randrange(100)) for stamp in stamps]
    names = ["key", "ts", "value"]
    columns = [list(column) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), tmp_path / "events.parquet")
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(50)
    ).with_timestamp_assigner(lambda event, _: event[1])
    seen: list[dict[str, int]] = []

    def build(env: StreamExecutionEnvironment) -> Any:
        env.on_progress(lambda progress: seen.append(dict(progress.counters)))
        events = env.from_source(ParquetSource(tmp_path, element=tuple), in_order, "events")
        sliding = SlidingEventTimeWindows.of(Time.milliseconds(200), Time.milliseconds(100))
        windowed = events.key_by(lambda event: event[0]).window(sliding)
        return windowed.aggregate(agg.count(), agg.sum(2), agg.max(2)).uid("totals")

    contents: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at, (key, stamp, value) in enumerate(rows):
        for start in (stamp // 100 * 100, stamp // 100 * 100 - 100):
            if not 3000 <= at < 3010:
                contents[key, start].append(value)
    expected = sorted(
        (key, start, start + 200, len(values), sum(values), max(values))
        for (key, start), values in contents.items()
    )
    assert sorted(collect_on_spark(build, max_records)) == expected
    counters = seen[-1]
    assert (counters["in:totals"], counters["late:totals"]) == (6000, 10)
    assert counters["combined:totals"] == 5990


def test_several_windows_in_one_program(collect_cut: Callable[..., list[Any]]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    assert sorted(collect_cut(windows)) == sorted(collect_local(windows(env)))
