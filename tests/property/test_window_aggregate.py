"""Aggregates of windows and sessions: what the definition gives, however the input is cut, lost,
run again and rescaled."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from scurry.functions.aggregate_calls import AggregateCall, AssignedWindows
from scurry.plan.nodes import Node
from scurry.plan.relational import (
    SessionAggregate,
    WatermarkAssigner,
    WindowAggregate,
    WindowTable,
)
from scurry.testing.relations import changes_of, keyed, relation

TIME = pa.timestamp("ms", "UTC")
SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("x", pa.float64()), ("at", TIME)])
WINDOW = [("window_start", TIME), ("window_end", TIME), ("window_time", TIME)]
ZERO = datetime(1970, 1, 1, tzinfo=UTC)
COMBINED: dict[str, AggregateCall] = {
    "rows": AggregateCall("COUNT"),
    "count": AggregateCall("COUNT", (1,)),
    "sum": AggregateCall("SUM", (1,)),
    "floats": AggregateCall("SUM", (2,), pa.float64()),
    "min": AggregateCall("MIN", (1,)),
    "max": AggregateCall("MAX", (2,), pa.float64()),
    "least": AggregateCall("MIN", (0,), pa.string()),
}
KEPT = {
    "distinct": AggregateCall("COUNT", (1,), distinct=True),
    "list": AggregateCall("ARRAY_AGG", (1,), pa.list_(pa.int64())),
    "last": AggregateCall("LAST_VALUE", (1,), pa.int64()),
}
CALLS = {**COMBINED, **KEPT}


def there(rows: list[Any], index: int) -> list[Any]:
    return [row[index] for row in rows if row[index] is not None]


DEFINED: dict[str, Any] = {
    "rows": len,
    "count": lambda rows: len(there(rows, 1)),
    "sum": lambda rows: sum(there(rows, 1)) if there(rows, 1) else None,
    "floats": lambda rows: float(sum(map(Fraction, there(rows, 2)))) if there(rows, 2) else None,
    "min": lambda rows: min(there(rows, 1), default=None),
    "max": lambda rows: max(there(rows, 2), default=None),
    "least": lambda rows: min(there(rows, 0), default=None),
    "distinct": lambda rows: len(set(there(rows, 1))),
    "list": lambda rows: [row[1] for row in rows],
    "last": lambda rows: (there(rows, 1) or [None])[-1],
}


def moment(milli: int) -> datetime:
    return ZERO + timedelta(milliseconds=milli)


def milli(time: datetime) -> int:
    return round((time - ZERO).total_seconds() * 1000)


def timed(rows: list[Any], delay: int) -> Node:
    changes = [("+I", key, n, x, moment(at)) for key, n, x, at in rows]

    def watermark(columns: Any, context: Any) -> Any:
        return pa.array([milli(at) - delay for at in columns.column(3).to_pylist()], TIME)

    return WatermarkAssigner(
        name="watermark",
        inputs=(relation(SCHEMA, changes),),
        columns=SCHEMA,
        rowtime=3,
        watermark=watermark,
    )


def windows(kind: str, at: int) -> list[tuple[int, int]]:
    if kind == "tumble":
        return [(at - at % 10, at - at % 10 + 10)]
    if kind == "hop":
        return [(s, s + 10) for s in range(at - 10, at + 1) if s % 5 == 0 and s <= at < s + 10]
    begin = at - at % 20
    return [(begin, begin + size) for size in (5, 10, 15, 20) if at < begin + size]


SIZES = {"tumble": (10, 0), "hop": (10, 5), "cumulate": (20, 5)}


def aggregate(
    rows: list[Any], kind: str, names: list[str], delay: int, assigned: bool = False
) -> WindowAggregate:
    """Aggregates of windows; ``assigned`` are those that the aggregate finds by itself."""
    size, step = SIZES[kind]
    calls = tuple(CALLS[name] for name in names)
    table: Node = WindowTable(
        name="windows",
        inputs=(timed(rows, delay),),
        columns=pa.schema([*SCHEMA, *WINDOW]),
        kind=kind,
        time=3,
        size=size,
        step=step,
    )
    found = AssignedWindows(kind, 3, size, step, 0, table.schema, (0,), calls)
    results = [(name, CALLS[name].type) for name in names]
    return WindowAggregate(
        name="aggregate",
        uid="aggregate",
        inputs=(keyed(timed(rows, delay) if assigned else table, 0),),
        columns=pa.schema([("k", pa.string()), *results, *WINDOW]),
        calls=calls,
        window_start=4,
        window_end=5,
        windows=found if assigned else None,
    )


def expected(rows: list[Any], kind: str, names: list[str], delay: int) -> list[Any]:
    held: dict[Any, list[Any]] = defaultdict(list)
    reached = -(1 << 62)
    for row in rows:
        for start, end in windows(kind, row[3]):
            if end - 1 > reached:
                held[end, row[0], start].append(row)
        reached = max(reached, row[3] - delay)
    return sorted(
        (
            (key, *(DEFINED[name](found) for name in names), start, end, end - 1)
            for (end, key, start), found in held.items()
        ),
        key=repr,
    )


def shown(changes: list[Any]) -> list[Any]:
    assert {kind for kind, *_ in changes} <= {"+I"}
    return sorted(((*c[1:-3], *map(milli, c[-3:])) for c in changes), key=repr)


rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.none() | st.integers(-3, 3),
        st.none() | st.sampled_from([0.5, 0.25, -0.75, 1e10]),
        st.integers(0, 60),
    ),
    min_size=1,
    max_size=25,
)
cuts = st.lists(st.integers(1, 9), min_size=1, max_size=4)
troubles = st.lists(st.integers(0, 6), max_size=2)
degrees = st.dictionaries(st.integers(1, 4), st.integers(1, 3), max_size=2)
delays = st.integers(0, 15)


@given(
    rows,
    st.sampled_from(sorted(SIZES)),
    st.lists(st.sampled_from(sorted(CALLS)), max_size=3, unique=True),
    delays,
    cuts,
    troubles,
    troubles,
    degrees,
)
def test_windows_have_what_came_in_time(
    rows: list[Any],
    kind: str,
    names: list[str],
    delay: int,
    cut: list[int],
    crash: list[int],
    restart: list[int],
    rescale: dict[int, int],
) -> None:
    sent = changes_of(aggregate(rows, kind, names, delay), cut, crash, restart, rescale, 2)
    assert shown(sent) == expected(rows, kind, names, delay)


@given(
    rows,
    st.sampled_from(sorted(SIZES)),
    st.lists(st.sampled_from(sorted(COMBINED)), max_size=3, unique=True),
    delays,
    cuts,
    troubles,
    degrees,
)
def test_an_aggregate_that_finds_windows_by_itself_makes_the_same(
    rows: list[Any],
    kind: str,
    names: list[str],
    delay: int,
    cut: list[int],
    crash: list[int],
    rescale: dict[int, int],
) -> None:
    node = aggregate(rows, kind, names, delay, assigned=True)
    sent = changes_of(node, cut, crash, rescale=rescale, parallelism=2)
    assert shown(sent) == expected(rows, kind, names, delay)


def sessions(rows: list[Any], gap: int, names: list[str], delay: int) -> list[Any]:
    held: dict[Any, list[list[Any]]] = defaultdict(list)
    made = []
    reached = -(1 << 62)

    def pass_time(until: int) -> None:
        for key, found in held.items():
            for session in list(found):
                end = max(row[3] for row in session) + gap
                if end - 1 <= until:
                    found.remove(session)
                    start = min(row[3] for row in session)
                    made.append(
                        (key, *(DEFINED[name](session) for name in names), start, end, end - 1)
                    )

    for row in rows:
        pass_time(reached)
        joined = [row]
        for session in list(held[row[0]]):
            low, high = min(r[3] for r in session), max(r[3] for r in session)
            if low - gap <= row[3] <= high + gap:
                held[row[0]].remove(session)
                joined = [r for r in rows if any(r is s for s in [*session, *joined])]
        if max(r[3] for r in joined) + gap - 1 > reached:
            held[row[0]].append(joined)
        elif len(joined) > 1:
            held[row[0]].append([r for r in joined if r is not row])
        reached = max(reached, row[3] - delay)
    pass_time(1 << 62)
    return sorted(made, key=repr)


@given(
    rows,
    st.integers(2, 12),
    st.lists(st.sampled_from(sorted(CALLS)), max_size=3, unique=True),
    delays,
    cuts,
    troubles,
    degrees,
)
def test_sessions_have_what_came_in_time(
    rows: list[Any],
    gap: int,
    names: list[str],
    delay: int,
    cut: list[int],
    crash: list[int],
    rescale: dict[int, int],
) -> None:
    results = [(name, CALLS[name].type) for name in names]
    node = SessionAggregate(
        name="sessions",
        uid="sessions",
        inputs=(keyed(timed(rows, delay), 0),),
        columns=pa.schema([("k", pa.string()), *results, *WINDOW]),
        calls=tuple(CALLS[name] for name in names),
        time=3,
        gap=gap,
    )
    sent = changes_of(node, cut, crash, rescale=rescale, parallelism=2)
    assert shown(sent) == sessions(rows, gap, names, delay)
