"""Interval, temporal and window joins, and top-N of windows: what the definition gives, however the
input is cut, lost, run again and rescaled."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.changelog import ChangelogMode
from scurry.functions.aggregate_calls import SortKey
from scurry.plan.nodes import Node
from scurry.plan.relational import (
    TemporalJoin,
    TimeIntervalJoin,
    WatermarkAssigner,
    WindowJoin,
    WindowRank,
    WindowTable,
)
from scurry.testing.relations import changes_of, keyed, relation

TIME = pa.timestamp("ms", "UTC")
SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("at", TIME)])
ZERO = datetime(1970, 1, 1, tzinfo=UTC)
BOTH = pa.schema([*SCHEMA, *SCHEMA])
#: no row is later than this
DELAY = 50


def shown(value: Any) -> Any:
    return round((value - ZERO).total_seconds() * 1000) if isinstance(value, datetime) else value


def watermark(columns: Any, context: Any, delay: int = DELAY) -> Any:
    return pa.array([shown(at) - delay for at in columns.column(2).to_pylist()], TIME)


def timed(rows: list[Any], name: str, kinds: list[str] | None = None, late: int = DELAY) -> Node:
    changes = [
        (kind, key, n, ZERO + timedelta(milliseconds=at))
        for kind, (key, n, at) in zip(kinds or ["+I"] * len(rows), rows, strict=True)
    ]
    return WatermarkAssigner(
        name="watermark",
        inputs=(relation(SCHEMA, changes, name, ChangelogMode.UPSERT),),
        columns=SCHEMA,
        mode=ChangelogMode.UPSERT if kinds else ChangelogMode.INSERT_ONLY,
        rowtime=2,
        watermark=partial(watermark, delay=late),
    )


def less(columns: Any, context: Any) -> Any:
    """left.n < right.n"""
    return pc.less(columns.column(1), columns.column(columns.num_columns // 2 + 1))


def is_less(one: Any, other: Any) -> bool:
    return None not in (one[1], other[1]) and one[1] < other[1]


rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.none() | st.integers(0, 3), st.integers(0, 40)),
    max_size=12,
)
cuts = st.lists(st.integers(1, 5), min_size=1, max_size=4)
troubles = st.lists(st.integers(0, 5), max_size=2)
degrees = st.dictionaries(st.integers(1, 4), st.integers(1, 3), max_size=2)
NONE = (None, None, None)


def joined(left: list[Any], right: list[Any], kind: str, match: Any) -> Counter[Any]:
    """A join of two tables, by definition."""
    made: Counter[Any] = Counter()
    for one in left:
        found = [other for other in right if match(one, other)]
        if kind in ("semi", "anti"):
            if bool(found) == (kind == "semi"):
                made[one] += 1
            continue
        made.update((*one, *other) for other in found)
        if not found and kind in ("left", "full"):
            made[(*one, *NONE)] += 1
    if kind in ("right", "full"):
        alone = (o for o in right if not any(match(one, o) for one in left))
        made.update((*NONE, *other) for other in alone)
    return made


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
@given(rows, rows, st.integers(-8, 8), st.integers(0, 9), st.booleans(), cuts, troubles, degrees)
def test_interval_joins(
    kind: str,
    left: list[Any],
    right: list[Any],
    lower: int,
    width: int,
    conditional: bool,
    cut: list[int],
    crash: list[int],
    rescale: dict[int, int],
) -> None:
    node = TimeIntervalJoin(
        name="join",
        uid="join",
        inputs=(keyed(timed(left, "left"), 0), keyed(timed(right, "right"), 0)),
        columns=BOTH,
        kind=kind,
        lower=lower,
        upper=lower + width,
        left_time=2,
        right_time=2,
        condition=less if conditional else None,
    )

    def match(one: Any, other: Any) -> bool:
        near = lower <= other[2] - one[2] <= lower + width
        return (
            one[0] is not None
            and one[0] == other[0]
            and near
            and (not conditional or is_less(one, other))
        )

    sent = changes_of(node, cut, crash, rescale=rescale, parallelism=2)
    assert Counter(tuple(map(shown, row)) for _, *row in sent) == joined(left, right, kind, match)


@given(rows, rows, st.integers(-8, 8), st.integers(0, 9), cuts, troubles)
def test_late_rows_meet_what_is_still_kept(
    left: list[Any],
    right: list[Any],
    lower: int,
    width: int,
    cut: list[int],
    crash: list[int],
) -> None:
    """Pairs that are found on columns are those of the outer join, which goes row by row."""

    def pairs(kind: str) -> list[Any]:
        node = TimeIntervalJoin(
            name="join",
            uid="join",
            inputs=(keyed(timed(left, "left", late=3), 0), keyed(timed(right, "right", late=3), 0)),
            columns=BOTH,
            kind=kind,
            lower=lower,
            upper=lower + width,
            left_time=2,
            right_time=2,
        )
        return [row for row in changes_of(node, cut, crash) if row[-1] is not None]

    assert pairs("inner") == pairs("left")


@pytest.mark.parametrize("left_join", [False, True])
@given(
    rows,
    st.lists(
        st.tuples(
            st.sampled_from(["+I", "+U", "-D"]),
            st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3), st.integers(0, 40)),
        ),
        max_size=12,
        unique_by=lambda one: (one[1][0], one[1][2]),
    ),
    st.booleans(),
    cuts,
    troubles,
    degrees,
)
def test_temporal_joins(
    left_join: bool,
    left: list[Any],
    versions: list[Any],
    conditional: bool,
    cut: list[int],
    crash: list[int],
    rescale: dict[int, int],
) -> None:
    right = [row for _, row in versions]
    node = TemporalJoin(
        name="join",
        uid="join",
        inputs=(
            keyed(timed(left, "left"), 0),
            keyed(timed(right, "right", [kind for kind, _ in versions]), 0),
        ),
        columns=BOTH,
        left=left_join,
        left_time=2,
        right_time=2,
        condition=less if conditional else None,
    )
    wanted: Counter[Any] = Counter()
    for one in left:
        past = [v for v in versions if v[1][0] == one[0] and v[1][2] <= one[2]]
        latest = max(past, key=lambda v: v[1][2], default=("-D", NONE))
        if latest[0] == "-D" or (conditional and not is_less(one, latest[1])):
            if left_join:
                wanted[(*one, *NONE)] += 1
        else:
            wanted[(*one, *latest[1])] += 1
    sent = changes_of(node, cut, crash, rescale=rescale, parallelism=2)
    assert Counter(tuple(map(shown, row)) for _, *row in sent) == wanted


WINDOW = [(name, TIME) for name in ("window_start", "window_end", "window_time")]
WINDOWED = pa.schema([*SCHEMA, *WINDOW])


def windowed(rows: list[Any], name: str) -> WindowTable:
    return WindowTable(
        name="windows",
        inputs=(timed(rows, name),),
        columns=WINDOWED,
        kind="tumble",
        time=2,
        size=10,
    )


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full", "semi", "anti"])
@given(rows, rows, st.booleans(), cuts, troubles, degrees)
def test_window_joins(
    kind: str,
    left: list[Any],
    right: list[Any],
    conditional: bool,
    cut: list[int],
    crash: list[int],
    rescale: dict[int, int],
) -> None:
    node = WindowJoin(
        name="join",
        uid="join",
        inputs=(keyed(windowed(left, "left"), 0), keyed(windowed(right, "right"), 0)),
        columns=WINDOWED if kind in ("semi", "anti") else pa.schema([*WINDOWED, *WINDOWED]),
        kind=kind,
        left_window=(3, 4),
        right_window=(3, 4),
        condition=less if conditional else None,
    )

    def match(one: Any, other: Any) -> bool:
        same = one[0] is not None and one[0] == other[0] and one[2] // 10 == other[2] // 10
        return same and (not conditional or is_less(one, other))

    sent = changes_of(node, cut, crash, rescale=rescale, parallelism=2)
    found = Counter((*map(shown, r[:3]), *map(shown, r[6:9])) for _, *r in sent)
    assert found == joined(left, right, kind, match)


@given(rows, st.integers(1, 2), st.integers(0, 2), st.booleans(), cuts, troubles, degrees)
def test_top_n_of_windows(
    rows: list[Any],
    first: int,
    more: int,
    number: bool,
    cut: list[int],
    crash: list[int],
    rescale: dict[int, int],
) -> None:
    node = WindowRank(
        name="rank",
        uid="rank",
        inputs=(keyed(windowed(rows, "rows"), 0),),
        columns=pa.schema([*WINDOWED, *([("rank", pa.int64())] if number else [])]),
        order=(SortKey(1, ascending=False, nulls_last=True),),
        first=first,
        last=first + more,
        window_start=3,
        window_end=4,
        number=number,
    )
    by_window: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        by_window[row[0], row[2] // 10].append(row)
    wanted: Counter[Any] = Counter()
    for found in by_window.values():
        ranked = sorted(found, key=lambda row: (row[1] is None, -(row[1] or 0)))
        for at, row in enumerate(ranked[first - 1 : first + more], start=first):
            wanted[(*row, at) if number else row] += 1
    sent = changes_of(node, cut, crash, rescale=rescale, parallelism=2)
    assert Counter((*map(shown, r[:3]), *r[6:]) for _, *r in sent) == wanted
