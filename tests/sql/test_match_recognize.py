"""Random MATCH_RECOGNIZE clauses find what Flink finds.

What Flink finds is in ``match_recognize.json``, which ``scripts/flink_match_recognize.py`` makes.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.planner.tables import Tables

from scurry.common.errors import FunctionError
from scurry.planner.errors import SqlNotSupportedError, SqlValidationError

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("match_recognize.json").read_text()
)


def found(case: dict[str, Any], **how: Any) -> list[tuple[Any, ...]]:
    tables = Tables()
    tables.create(
        "CREATE TABLE t (id INT, k STRING, n INT, p DOUBLE, s STRING, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '90' SECOND)",
        [(*row[:5], datetime.fromisoformat(row[5])) for row in case["rows"]],
    )
    measures = ", ".join(f"CAST(m{at} AS STRING)" for at in range(case["measures"]))
    changes = tables.changes(f"SELECT k, {measures} FROM t {case['clause']}", **how)
    assert all(change[0] == "+I" for change in changes)
    return [tuple(change[1:]) for change in changes]


def of_keys(rows: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    """The order of matches is defined within a key."""
    made: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        made.setdefault(row[0], []).append(row)
    return made


@pytest.mark.parametrize("number", range(len(CASES)))
def test_matches_are_flinks(number: int) -> None:
    case = CASES[number]
    if "refused" in case:
        with pytest.raises((SqlNotSupportedError, SqlValidationError)):
            found(case)
    elif "failed" in case:
        with pytest.raises(FunctionError, match="Could not skip to"):
            found(case)
    else:
        expected = of_keys([tuple(row) for row in case["found"]])
        assert of_keys(found(case)) == expected
        assert of_keys(found(case, cuts=[number % 3 + 1, 5], crash=[1])) == expected
