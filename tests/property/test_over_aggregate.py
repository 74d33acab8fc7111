"""OVER and sorting by time: what the definition gives, however the input is cut, lost, run again
and rescaled."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.functions.aggregate_calls import AggregateCall, Frame, SortKey
from scurry.plan.nodes import Node
from scurry.plan.relational import OverAggregate, TemporalSort, WatermarkAssigner
from scurry.testing.relations import changes_of, keyed, relation

TIME = pa.timestamp("ms", "UTC")
SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("at", TIME)])
ZERO = datetime(1970, 1, 1, tzinfo=UTC)
CALLS = (
    AggregateCall("COUNT", (1,)),
    AggregateCall("SUM", (1,)),
    AggregateCall("MAX", (1,)),
    AggregateCall("COUNT", (1,), distinct=True),
)


def milli(time: datetime) -> int:
    return round((time - ZERO).total_seconds() * 1000)


def timed(rows: list[Any], delay: int) -> Node:
    changes = [("+I", key, n, ZERO + timedelta(milliseconds=at)) for key, n, at in rows]

    def watermark(columns: Any, context: Any) -> Any:
        return pa.array([milli(at) - delay for at in columns.column(2).to_pylist()], TIME)

    return WatermarkAssigner(
        name="watermark",
        inputs=(relation(SCHEMA, changes),),
        columns=SCHEMA,
        rowtime=2,
        watermark=watermark,
    )


def on_time(rows: list[Any], delay: int) -> list[Any]:
    reached, kept = -(1 << 62), []
    for row in rows:
        if row[2] > reached:
            kept.append(row)
        reached = max(reached, row[2] - delay)
    return kept


def results(rows: list[Any]) -> tuple[Any, ...]:
    values = [n for _, n, _ in rows if n is not None]
    total = sum(values) if values else None
    return len(values), total, max(values, default=None), len(set(values))


def expected(rows: list[Any], frame: Frame) -> list[Any]:
    by_key: dict[str, list[Any]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row[2]):
        by_key[row[0]].append(row)
    made = []
    for mine in by_key.values():
        for at, row in enumerate(mine):
            if frame.rows:
                first = 0 if frame.preceding is None else max(0, at - frame.preceding)
                seen = mine[first : at + 1]
            else:
                low = -(1 << 62) if frame.preceding is None else row[2] - frame.preceding
                seen = [other for other in mine if low <= other[2] <= row[2]]
            made.append((*row, *results(seen)))
    return made


rows = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.none() | st.integers(-3, 3), st.integers(0, 40)),
    min_size=1,
    max_size=25,
)
frames = st.builds(Frame, st.booleans(), st.none() | st.integers(0, 6))
cuts = st.lists(st.integers(1, 9), min_size=1, max_size=4)
troubles = st.lists(st.integers(0, 6), max_size=2)
degrees = st.dictionaries(st.integers(1, 4), st.integers(1, 3), max_size=2)
OUT = pa.schema([*SCHEMA, *((f"c{n}", pa.int64()) for n in range(len(CALLS)))])


@given(rows, frames, st.integers(0, 15), cuts, troubles, troubles, degrees)
def test_over_event_time(
    rows: list[Any],
    frame: Frame,
    delay: int,
    cut: list[int],
    crash: list[int],
    restart: list[int],
    rescale: dict[int, int],
) -> None:
    node = OverAggregate(
        name="over",
        uid="over",
        inputs=(keyed(timed(rows, delay), 0),),
        columns=OUT,
        calls=CALLS,
        frame=frame,
        time=2,
    )
    sent = changes_of(node, cut, crash, restart, rescale, 2)
    found = [(key, n, milli(at), *rest) for _, key, n, at, *rest in sent]
    assert sorted(found, key=repr) == sorted(expected(on_time(rows, delay), frame), key=repr)
    assert {change[0] for change in sent} <= {"+I"}


@given(rows, st.none() | st.integers(0, 4), cuts, troubles)
def test_over_processing_time(
    rows: list[Any], preceding: int | None, cut: list[int], crash: list[int]
) -> None:
    node = OverAggregate(
        name="over",
        inputs=(keyed(timed(rows, 0), 0),),
        columns=OUT,
        calls=CALLS,
        frame=Frame(rows=True, preceding=preceding),
        time=None,
    )
    by_key: dict[str, list[Any]] = defaultdict(list)
    wanted = []
    for row in rows:
        mine = by_key[row[0]]
        mine.append(row)
        first = 0 if preceding is None else max(0, len(mine) - 1 - preceding)
        wanted.append((*row, *results(mine[first:])))
    sent = changes_of(node, cut, crash)
    assert [(key, n, milli(at), *rest) for _, key, n, at, *rest in sent] == wanted


@pytest.mark.parametrize("ascending", [True, False])
@given(rows, st.integers(0, 15), cuts, troubles)
def test_rows_in_the_order_of_time(
    ascending: bool, rows: list[Any], delay: int, cut: list[int], crash: list[int]
) -> None:
    node = TemporalSort(
        name="sort",
        inputs=(keyed(timed(rows, delay)),),
        columns=SCHEMA,
        time=2,
        order=(SortKey(0, ascending),),
    )
    kept = on_time(rows, delay)
    wanted = sorted(kept, key=lambda row: (row[2], row[0] if ascending else -ord(row[0])))
    sent = [(key, n, milli(at)) for _, key, n, at in changes_of(node, cut, crash)]
    assert sent == wanted


@given(rows, cuts, troubles)
def test_numbers_of_rows_and_values_before(
    rows: list[Any], cut: list[int], crash: list[int]
) -> None:
    calls = (
        AggregateCall("ROW_NUMBER"),
        AggregateCall("LAG", (1,)),
        AggregateCall("LAG", (1,), constants=(2, 99)),
    )
    node = OverAggregate(
        name="over",
        inputs=(keyed(timed(rows, 50), 0),),
        columns=pa.schema([*SCHEMA, *((f"c{n}", pa.int64()) for n in range(3))]),
        calls=calls,
        frame=Frame(rows=False),
        time=2,
    )
    by_key: dict[str, list[Any]] = defaultdict(list)
    wanted = []
    for row in sorted(rows, key=lambda row: row[2]):
        mine = by_key[row[0]]
        mine.append(row[1])
        before = mine[-2] if len(mine) > 1 else None
        wanted.append((*row, len(mine), before, mine[-3] if len(mine) > 2 else 99))
    sent = [(key, n, milli(at), *rest) for _, key, n, at, *rest in changes_of(node, cut, crash)]
    assert sorted(sent, key=repr) == sorted(wanted, key=repr)
