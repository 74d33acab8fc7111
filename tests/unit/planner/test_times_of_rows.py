"""Functions whose value is another in every run: watermarks and processing time in queries."""

from __future__ import annotations

import datetime

import pytest
from tests.unit.planner.tables import Tables

_DAY = datetime.datetime(2024, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone


def at(second: int) -> datetime.datetime:
    return _DAY + datetime.timedelta(seconds=second)


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create(
        "CREATE TABLE e (id INT, ts TIMESTAMP(3), pt AS PROCTIME(), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)",
        [(1, at(10)), (2, at(30)), (3, at(20))],
    )
    return made


def test_the_watermark_that_is_in_force_at_a_row(tables: Tables) -> None:
    """That of all rows before it; none before the first."""
    found = tables.changes("SELECT id, CURRENT_WATERMARK(ts) AS w FROM e", cuts=1)
    assert found == [("+I", 1, None), ("+I", 2, at(5)), ("+I", 3, at(25))]


def test_rows_that_are_late_are_found_by_the_watermark(tables: Tables) -> None:
    late = "SELECT id FROM e WHERE CURRENT_WATERMARK(ts) IS NOT NULL AND ts < CURRENT_WATERMARK(ts)"
    assert tables.changes(late) == [("+I", 3)]


@pytest.mark.parametrize(
    ("name", "sizes", "count"),
    [
        ("TUMBLE", "INTERVAL '1' MINUTE", 1),
        ("HOP", "INTERVAL '30' SECOND, INTERVAL '1' MINUTE", 3),
        ("SESSION", "INTERVAL '1' MINUTE", 1),
    ],
)
def test_windows_have_a_processing_time(tables: Tables, name: str, sizes: str, count: int) -> None:
    query = (
        f"SELECT {name}_PROCTIME(ts, {sizes}) IS NULL, COUNT(*) FROM e GROUP BY {name}(ts, {sizes})"
    )
    found = tables.changes(query)
    assert [one[:2] for one in found] == [("+I", False)] * count
