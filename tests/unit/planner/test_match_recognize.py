"""Searches for patterns in rows that nobody planned for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.unit.planner.tables import Tables

from scurry.common.errors import FunctionError

ZERO = datetime.fromisoformat("2024-01-01")
#: a key, a number, a second
Rows = list[tuple[str | None, int | None, int]]


def found(rows: Rows, define: str, measure: str = "B.id", pattern: str = "A B", **how: Any) -> Any:
    tables = Tables()
    tables.create(
        "CREATE TABLE t (id INT, k STRING, n INT, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)",
        [(at, k, n, ZERO + timedelta(seconds=s)) for at, (k, n, s) in enumerate(rows)],
    )
    changes = tables.changes(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS a, "
        f"{measure} AS m AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}) DEFINE {define})",
        **how,
    )
    return [change[1:] for change in changes]


def test_a_condition_is_not_asked_about_rows_that_no_match_waits_for() -> None:
    """As Flink, run beside it, does."""
    rows: Rows = [("x", 0, 1), ("x", 5, 2), ("x", 4, 3), ("x", 0, 4)]
    assert found(rows, "A AS A.n > 4, B AS 10 / B.n > 1") == [("x", 1, 2)]
    guarded: Rows = [("x", 5, 1), ("x", 0, 2)]
    assert found(guarded, "A AS A.n > 4, B AS B.n <> 0 AND 10 / B.n > 1") == []


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"define": "A AS A.n > 4, B AS 10 / B.n > 1"}, "on element {'B.n': 0}"),
        ({"define": "A AS A.n > 4, B AS A.n / B.n > 1"}, "on element {'A.n': 5, 'B.n': 0}"),
        ({"define": "A AS A.n > 4", "measure": "A.n / B.n"}, "on element {'A.n': 5, 'B.n': 0}"),
    ],
)
def test_a_failure_names_the_operator_and_the_values(how: dict[str, Any], words: str) -> None:
    with pytest.raises(FunctionError) as failure:
        found([("x", 5, 1), ("x", 0, 2)], **how)
    assert "division by zero" in str(failure.value)
    assert "in operator 'Match(" in str(failure.value)
    assert words in str(failure.value)


def test_rows_without_a_key_are_one_partition_and_no_rows_are_no_match() -> None:
    assert found([(None, 5, 1), ("x", 5, 2), (None, 6, 3)], "A AS A.n = 5") == [(None, 0, 2)]
    assert found([], "A AS A.n = 5") == []


def test_keys_of_the_same_time_are_in_one_order_however_rows_are_cut() -> None:
    names = [f"k{number}" for number in range(30)]
    rows: Rows = [(name, 5, 1) for name in names] + [(name, 6, 2) for name in reversed(names)]
    rows += [("z", 1, 9), ("z", 1, 9)]
    whole = found(rows, "A AS A.n = 5")
    assert len(whole) == len(names)
    for cuts in (1, 7, [31, 3], [45, 20]):
        assert found(rows, "A AS A.n = 5", cuts=cuts, crash=[1]) == whole


def test_a_search_in_processing_time() -> None:
    tables = Tables()
    rows = [(at, n) for at, n in enumerate([1, 5, 6, 5, 5, 7])]
    tables.create("CREATE TABLE o (id INT, n INT, p AS PROCTIME())", rows)
    query = (
        "SELECT * FROM o MATCH_RECOGNIZE (ORDER BY p MEASURES A.id AS a, B.id AS b "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS A.n = 5, B AS B.n > A.n)"
    )
    for cuts in (None, 1, 2):
        changes = tables.changes(query, cuts=cuts)
        assert changes == [("+I", 1, 2), ("+I", 4, 5)]


def test_more_conditions_than_a_number_has_bits() -> None:
    names = [f"v{number}" for number in range(70)]
    tables = Tables()
    tables.create(
        "CREATE TABLE t (n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
        [(at, ZERO + timedelta(seconds=at)) for at in range(72)],
    )
    define = ", ".join(f"{name} AS {name}.n = {at + 1}" for at, name in enumerate(names))
    assert tables.changes(
        f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES v0.n AS a, v69.n AS z "
        f"PATTERN ({' '.join(names)}) DEFINE {define})"
    ) == [("+I", 1, 70)]
