"""Keys that are fields of columns are the keys of the records: functions see the same keys, and
windows the same sums, as if each record had been asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Row, Time, Types, WatermarkStrategy
from scurry.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.state import ValueStateDescriptor
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.functions.source import (
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)
from scurry.runtime.columnar import combiner
from scurry.testing import collect_local

FIELDS = ["text", "number", "float", "flag", "time"]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b", None]),
        st.sampled_from([0, 1, -5, None]),
        st.sampled_from([0.5, 0.0, -0.0, 1.0, float("nan"), None]),
        st.booleans(),
    ),
    max_size=30,
)
SELECTORS: dict[str, Any] = {
    "text": lambda r: r["text"],
    "number": lambda r: r["number"],
    "float": lambda r: r["float"],
    "flag": lambda r: r.flag,
    "one": lambda r: (r["number"],),
    "two": lambda r: (r["text"], r["number"]),
    "four": lambda r: (r.text, r[1], r["float"], r.flag),
}


class Table(Source, SourceEnumerator):
    """Columns as a source."""

    columnar = True
    max_tasks = 1

    def __init__(self, columns: pa.RecordBatch) -> None:
        self.columns = columns

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return self

    def initial_position(self) -> Json:
        return 0

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        size = self.columns.num_rows
        end = min(size, position + max_records)
        ranges = [ReadRange("0", [position, end])] if end > position else []
        return ReadPlan(end, ranges, finished=end == size)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        yield SourceBatch(columns=self.columns.slice(what[0], what[1] - what[0]))


def table(rows: list[Any]) -> pa.RecordBatch:
    kinds = [pa.string(), pa.int32(), pa.float64(), pa.bool_(), pa.int64()]
    lists = list(zip(*((*row, at) for at, row in enumerate(rows)), strict=True)) or [()] * 5
    arrays = [pa.array(values, kind) for values, kind in zip(lists, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=FIELDS)


def stream(columns: pa.RecordBatch) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
    stamped = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda r, _: r["time"]
    )
    return env.from_source(Table(columns), stamped, "table")


class Numbered(KeyedProcessFunction):
    """For each record its key, and how many of that key there have been."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        number = (self.count.value() or 0) + 1
        self.count.update(number)
        yield value["time"], repr(ctx.get_current_key()), number


def same(key: Any) -> Any:
    """A key as something that is equal where keys are one."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple("nan" if part != part else part for part in parts)


@given(ROWS, st.sampled_from(sorted(SELECTORS)), st.integers(1, 12))
def test_functions_see_the_keys_of_records(rows: list[Any], name: str, cut: int) -> None:
    select = SELECTORS[name]
    counts: Counter[Any] = Counter()
    expected = []
    for at, row in enumerate(Row(**dict(zip(FIELDS, row, strict=False))) for row in rows):
        counts[same(select(row))] += 1
        expected.append((at, same(select(row)), counts[same(select(row))]))
    found = collect_local(stream(table(rows)).key_by(select).process(Numbered()), cut)
    names = {"nan": float("nan")}
    read = [(at, same(eval(key, names)), number) for at, key, number in sorted(found)]
    assert read == expected


@given(ROWS, st.sampled_from(sorted(SELECTORS)), st.integers(1, 12))
def test_windows_sum_by_the_keys_of_records(rows: list[Any], name: str, cut: int) -> None:
    select = SELECTORS[name]
    whole = Counter(same(select(Row(**dict(zip(FIELDS, row, strict=False))))) for row in rows)
    with pytest.MonkeyPatch.context() as patch:
        # also few records are combined before they travel
        patch.setattr(combiner, "_LEAST", 1)
        patch.setattr(combiner, "_SHARE", 0)
        windows = TumblingEventTimeWindows.of(Time.milliseconds(1000))
        counted = stream(table(rows)).key_by(select).window(windows).aggregate(agg.count())
        found = collect_local(counted, cut)
    assert Counter({same(key): count for key, _, _, count in found}) == whole


def test_a_key_that_is_a_row_is_read_from_the_records() -> None:
    inner = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])

    class Nested(Table):
        type_info = Types.ROW_NAMED(["inner", "time"], [inner, Types.LONG()])

    columns = pa.RecordBatch.from_pylist(
        [{"inner": {"a": at % 2, "b": "x"}, "time": at} for at in range(6)]
    )
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    rows = env.from_source(Nested(columns), WatermarkStrategy.no_watermarks(), "nested")
    found = collect_local(rows.key_by(lambda r: r["inner"]).process(Numbered()))
    assert sorted((at, number) for at, _, number in found) == [(at, at // 2 + 1) for at in range(6)]
