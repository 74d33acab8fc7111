"""Windows of points in time are in the time of the session's zone, also where its clocks are set.

New York set its clocks forward on 2024-03-10 at 07:00 UTC, from 2 to 3, and back on 2024-11-03 at
06:00 UTC, from 2 to 1. What is expected follows from that.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.planner.tables import Tables, table_rows

from scurry.planner.options import PlannerOptions

NEW_YORK = PlannerOptions(zone="America/New_York")
ROWS = [
    "2024-03-10 05:30:00", "2024-03-10 06:30:00", "2024-03-10 07:30:00", "2024-03-11 03:30:00",
    "2024-03-11 04:30:00", "2024-11-03 04:30:00", "2024-11-03 05:30:00", "2024-11-03 06:00:30",
    "2024-11-03 06:30:00", "2024-11-03 05:10:00", "2024-11-03 07:30:00", "2024-11-04 04:59:00",
    "2024-11-04 05:30:00",
]  # fmt: skip


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create(
        "CREATE TABLE t (n INT, ts TIMESTAMP_LTZ(3), p AS PROCTIME(), WATERMARK FOR ts AS ts)",
        [(n, datetime.fromisoformat(f"{at}+00:00")) for n, at in enumerate(ROWS)],
    )
    return made


def window(text: str) -> str:
    return f"TABLE({text.replace('(', '(TABLE t, DESCRIPTOR(ts), ', 1)})"


HOURS = window("TUMBLE(INTERVAL '1' HOUR)")


def shown(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows with times as short texts, in order."""
    texts = [
        tuple(f"{v:%m-%d %H:%M}" if isinstance(v, datetime) else v for v in row) for row in rows
    ]
    return sorted(texts)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "TUMBLE(INTERVAL '1' DAY)",
            [("03-10 00:00", "03-11 00:00", 4), ("03-11 00:00", "03-12 00:00", 1),
             ("11-03 00:00", "11-04 00:00", 7), ("11-04 00:00", "11-05 00:00", 1)],
        ),
        (
            "TUMBLE(INTERVAL '1' HOUR)",
            [("03-10 00:00", "03-10 01:00", 1), ("03-10 01:00", "03-10 02:00", 1),
             ("03-10 03:00", "03-10 04:00", 1), ("03-10 23:00", "03-11 00:00", 1),
             ("03-11 00:00", "03-11 01:00", 1), ("11-03 00:00", "11-03 01:00", 1),
             ("11-03 01:00", "11-03 02:00", 4), ("11-03 02:00", "11-03 03:00", 1),
             ("11-03 23:00", "11-04 00:00", 1), ("11-04 00:00", "11-04 01:00", 1)],
        ),
        (
            "CUMULATE(INTERVAL '12' HOUR, INTERVAL '1' DAY)",
            [("03-10 00:00", "03-10 12:00", 3), ("03-10 00:00", "03-11 00:00", 4),
             ("03-11 00:00", "03-11 12:00", 1), ("03-11 00:00", "03-12 00:00", 1),
             ("11-03 00:00", "11-03 12:00", 6), ("11-03 00:00", "11-04 00:00", 7),
             ("11-04 00:00", "11-04 12:00", 1), ("11-04 00:00", "11-05 00:00", 1)],
        ),
        (
            "SESSION(INTERVAL '40' MINUTE)",
            [("03-10 00:30", "03-10 01:10", 1), ("03-10 01:30", "03-10 02:10", 1),
             ("03-10 03:30", "03-10 04:10", 1), ("03-10 23:30", "03-11 00:10", 1),
             ("03-11 00:30", "03-11 01:10", 1), ("11-03 00:30", "11-03 02:10", 5),
             ("11-03 02:30", "11-03 03:10", 1), ("11-03 23:59", "11-04 01:10", 2)],
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("aggregate", ["COUNT(*)", "CARDINALITY(ARRAY_AGG(n))"])
def test_windows_in_local_time(
    tables: Tables, kind: str, expected: list[Any], aggregate: str
) -> None:
    query = (
        f"SELECT window_start, window_end, CAST({aggregate} AS INT) FROM {window(kind)} "
        "GROUP BY window_start, window_end"
    )
    whole = tables.changes(query, NEW_YORK)
    assert shown(table_rows(whole)) == expected
    assert tables.changes(query, NEW_YORK, cuts=1) == whole
    again = tables.changes(query, NEW_YORK, cuts=2, crash={2}, restart={4})
    assert table_rows(again) == table_rows(whole)


def test_the_time_of_a_window_is_a_point_in_time(tables: Tables) -> None:
    inner = (
        f"SELECT window_time AS wt, COUNT(*) AS c FROM {HOURS} "
        "GROUP BY window_start, window_end, window_time"
    )
    times = tables.rows(f"SELECT wt FROM ({inner}) AS q WHERE c > 1", options=NEW_YORK)
    assert times == [(datetime(2024, 11, 3, 5, 59, 59, 999_000, UTC),)]
    query = (
        f"SELECT window_start, SUM(c) FROM TABLE(TUMBLE(({inner}), DESCRIPTOR(wt), "
        "INTERVAL '4' HOUR)) GROUP BY window_start, window_end"
    )
    assert shown(tables.rows(query, options=NEW_YORK, cuts=1)) == [
        ("03-10 00:00", 3), ("03-10 20:00", 1), ("03-11 00:00", 1), ("11-03 00:00", 6),
        ("11-03 20:00", 1), ("11-04 00:00", 1),
    ]  # fmt: skip


def test_first_rows_and_joins_of_windows(tables: Tables) -> None:
    first = (
        "SELECT n, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, "
        f"window_end ORDER BY n DESC) AS r FROM {HOURS}) AS q WHERE r = 1 AND n BETWEEN 5 AND 10"
    )
    expected = [(5, "11-03 00:00"), (9, "11-03 01:00"), (10, "11-03 02:00")]
    assert shown(tables.rows(first, options=NEW_YORK, cuts=1)) == expected
    pairs = (
        f"SELECT x.n, y.n FROM (SELECT * FROM {HOURS}) AS x JOIN (SELECT * FROM {HOURS}) AS y "
        "ON x.window_start = y.window_start AND x.window_end = y.window_end AND x.n < y.n"
    )
    found = tables.rows(pairs, options=NEW_YORK, cuts=1)
    assert found == [(6, 7), (6, 8), (6, 9), (7, 8), (7, 9), (8, 9)]
    rows = "SELECT n, window_start FROM " + window("SESSION(INTERVAL '40' MINUTE)")
    assert shown(tables.rows(f"{rows} WHERE n = 8", options=NEW_YORK)) == [(8, "11-03 00:30")]


def test_processing_time_is_shown_in_the_zone(tables: Tables) -> None:
    query = "SELECT window_start FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '1' DAY))"
    (utc, *_), (local, *_) = tables.rows(query), tables.rows(query, options=NEW_YORK)
    assert (utc[0] - local[0]).total_seconds() in (0, 86_400)
    assert local[0].hour == 0


def test_windows_of_timestamps_know_no_zone() -> None:
    made = Tables()
    made.create(
        "CREATE TABLE e (ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
        [(datetime.fromisoformat("2024-03-10 02:30:00"),)],
    )
    query = "SELECT window_start FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' DAY))"
    assert shown(made.rows(query, options=NEW_YORK)) == [("03-10 00:00",)]
