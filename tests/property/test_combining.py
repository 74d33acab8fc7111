"""Records that are combined on their way to windows give the rows that they give one by one."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.connectors.parquet import ParquetSource
from scurry.datastream import OutputTag, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from scurry.functions.source import ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator
from scurry.runtime.columnar import combiner
from scurry.runtime.task_context import TaskReport
from scurry.testing import ListSink, run_local

Event = tuple[Any, int, Any]
TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(10))
IN_ORDER = WatermarkStrategy.for_monotonous_timestamps()

values = st.one_of(
    st.lists(st.integers(-5, 5) | st.sampled_from([2**62, -(2**62)]), min_size=1, max_size=50),
    st.lists(
        st.floats(-1e3, 1e3) | st.sampled_from([0.1, -0.0, 1e300, -1e300, math.inf, math.nan]),
        min_size=1,
        max_size=50,
    ),
    st.lists(st.integers(0, 9) | st.none(), min_size=1, max_size=50),
)
keys = st.sampled_from([[-3, 0, 7, 2**40], ["a", "b", "ü", ""], [1, None]])


@st.composite
def some_events(draw: st.DrawFn) -> list[Event]:
    """Events whose fields are of one type each, so that they can be columns."""
    some = draw(values)
    kinds = draw(keys)
    stamps = draw(st.lists(st.integers(-30, 60), min_size=len(some), max_size=len(some)))
    if draw(st.booleans()):
        stamps.sort()
    return [
        (kinds[draw(st.integers(0, len(kinds) - 1))], t, v)
        for t, v in zip(stamps, some, strict=True)
    ]


assigners = st.sampled_from(
    [
        TumblingEventTimeWindows.of(Time.milliseconds(7), Time.milliseconds(3)),
        TumblingEventTimeWindows.of(Time.milliseconds(1)),
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(4)),
        SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(8)),
    ]
)
cuts = st.lists(st.integers(1, 20), min_size=1, max_size=6)
troubles = st.lists(st.integers(0, 8), max_size=3)


@pytest.fixture(autouse=True)
def always_combine(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few records have something in common."""
    monkeypatch.setattr(combiner, "_LEAST", 1)
    monkeypatch.setattr(combiner, "_SHARE", 0)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were combined, batch by batch."""
    found: list[int] = []
    split = combiner.SliceCombiner.split

    def counting(self: Any, *arguments: Any) -> Any:
        combined, rest = split(self, *arguments)
        found.append(0 if combined is None else combined.records)
        return combined, rest

    monkeypatch.setattr(combiner.SliceCombiner, "split", counting)
    return found


def columns_of(events: list[Event]) -> pa.Table:
    columns = [pa.array(list(column)) for column in zip(*events, strict=True)]
    return pa.Table.from_arrays(columns, names=["key", "ts", "value"])


def written(events: list[Event], path: Path) -> Source:
    """A source that reads ``events`` from a file."""
    pq.write_table(columns_of(events), path)
    return ParquetSource(path, element=tuple)


def run(
    source: Source,
    assigner: WindowAssigner[Any, Any],
    bound: int,
    combining: bool,
    keyed: bool = True,
    twice: bool = False,
    **how: Any,
) -> dict[str, list[Any]]:
    """The results of each key, in order."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(bound)
    ).with_timestamp_assigner(lambda event, _: event[1])
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.get_configuration().set_boolean("scurry.windows.combine-before-hop", combining)
    stream = env.from_source(source, strategy, "events")
    if twice:
        stream = stream.union(stream)
    windowed: Any = stream.window_all(assigner)
    if keyed:
        windowed = stream.key_by(lambda event: event[0]).window(assigner)
    results = windowed.aggregate(
        agg.count(), agg.count(2), agg.sum(2), agg.min(2), agg.max(2), agg.avg(2)
    )
    sink = ListSink()
    results.sink_to(sink)
    counted: Counter[str] = Counter()
    count = TaskReport.count

    def counting(report: TaskReport, name: str, number: int = 1) -> None:
        counted[name.partition(":")[0]] += number
        count(report, name, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TaskReport, "count", counting)
        run_local(env, **how)
    by_key: dict[str, list[Any]] = defaultdict(list)
    for row in sink.values:
        # as text NaN equals itself
        by_key[repr(row[0]) if keyed else ""].append(repr(row))
    by_key["counted"] = [counted["in"], counted["late"]]
    return dict(by_key)


@given(assigners, some_events(), st.integers(0, 20), cuts, troubles, troubles, st.booleans())
def test_one_partition_gives_the_same_rows_in_the_same_order(
    tmp_path_factory: Any,
    assigner: Any,
    data: list[Event],
    bound: int,
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    keyed: bool,
) -> None:
    """Late records included."""
    source = written(data, tmp_path_factory.mktemp("events") / "events.parquet")
    expected = run(source, assigner, bound, combining=False, keyed=keyed)
    assert run(source, assigner, bound, combining=True, keyed=keyed) == expected
    trouble: dict[str, Any] = {"cuts": sizes, "crash": crash, "restart": restart}
    troubled = run(source, assigner, bound, combining=True, keyed=keyed, **trouble)
    # what is run again counts again
    assert troubled | {"counted": []} == expected | {"counted": []}


class Script(Source):
    """Reads what it is told: for each micro-batch the events of some partitions. A partition is
    unknown until something comes from it."""

    as_tuples = True

    def __init__(self, batches: list[dict[str, list[Event]]]) -> None:
        self.batches = batches

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return ScriptEnumerator(self.batches)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        yield SourceBatch(columns=columns_of(self.batches[what[0]][what[1]]).to_batches()[0])


class ScriptEnumerator(SourceEnumerator):
    def __init__(self, batches: list[dict[str, list[Event]]]) -> None:
        self.batches = batches

    def initial_position(self) -> int:
        return 0

    def plan(self, position: int, max_records: int) -> ReadPlan:
        ranges = [ReadRange(name, [position, name]) for name in self.batches[position]]
        return ReadPlan(position + 1, ranges, position + 1 == len(self.batches))

    def partitions(self) -> list[str]:
        return []


scripts = st.lists(
    st.dictionaries(st.sampled_from("xyz"), some_events(), max_size=3), min_size=1, max_size=5
)


@given(assigners, scripts, st.integers(0, 20), troubles, st.booleans())
def test_partitions_that_turn_up_late_give_the_same_rows(
    assigner: Any,
    script: list[dict[str, list[Event]]],
    bound: int,
    crash: list[int],
    twice: bool,
) -> None:
    """What is on time in a new partition can be late for the windows: it is dropped, and counted.
    Here nothing is late in its own partition, for then it may be chance what becomes of it."""
    for name in "xyz":
        stamps = iter(sorted(t for batch in script for _, t, _ in batch.get(name, ())))
        for batch in script:
            if name in batch:
                batch[name] = [(key, next(stamps), value) for key, _, value in batch[name]]
    how: dict[str, Any] = {"crash": crash, "twice": twice}
    expected = run(Script(script), assigner, bound, combining=False, **how)
    assert run(Script(script), assigner, bound, combining=True, **how) == expected


def test_what_can_be_combined_is(tmp_path: Path, seen: list[int]) -> None:
    for name, key in (("numbers", 7), ("strings", "seven")):
        source = written([(key, stamp, 1) for stamp in range(100)], tmp_path / name)
        rows = run(source, TUMBLING, 0, combining=True)[repr(key)]
        assert rows == [repr((key, t, t + 10, 10, 10, 10, 1, 1, 1.0)) for t in range(0, 100, 10)]
        assert sum(seen) == 100
        seen.clear()
    run(source, TUMBLING, 0, combining=True, keyed=False)
    assert sum(seen) == 100


def test_late_records_travel_by_themselves(tmp_path: Path, seen: list[int]) -> None:
    stamps = [1, 2, 50, 3, 51, 45, 4]
    source = written([("a", stamp, 1) for stamp in stamps], tmp_path / "events")
    rows = run(source, TUMBLING, 3, combining=True)["'a'"]
    # 45 is below the watermark, but its window has not fired
    assert rows == [
        repr(("a", start, start + 10, n, n, n, 1, 1, 1.0))
        for start, n in [(0, 2), (40, 1), (50, 2)]
    ]
    assert seen == [5]


@pytest.mark.parametrize(
    ("strategy", "windows", "combined"),
    [
        (IN_ORDER, lambda keyed: keyed.window(TUMBLING), True),
        (IN_ORDER, lambda keyed: keyed.window(TUMBLING).allowed_lateness(5), False),
        (
            IN_ORDER,
            lambda keyed: keyed.window(TUMBLING).side_output_late_data(OutputTag("late")),
            False,
        ),
        (
            IN_ORDER,
            lambda keyed: keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(3))),
            False,
        ),
        (
            IN_ORDER.with_idleness(Duration.of_seconds(1)),
            lambda keyed: keyed.window(TUMBLING),
            False,
        ),
    ],
    ids=["plain", "lateness", "late output", "sessions", "idleness"],
)
def test_explain_says_where_records_are_combined(
    strategy: WatermarkStrategy, windows: Any, combined: bool
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection([(1, 2)]).assign_timestamps_and_watermarks(strategy)
    windows(stream.key_by(lambda event: event[0])).aggregate(agg.count()).print()
    assert ("+= hash, combined first => " in env.explain()) == combined
    assert ('"ship_strategy": "hash, combined first"' in env.describe_plan()) == combined
