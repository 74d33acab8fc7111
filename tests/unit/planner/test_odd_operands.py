"""Every function with operands that nobody meant it for: bound, or refused with a place."""

from __future__ import annotations

import pytest
from tests.unit.planner.tables import Tables

from scurry.common.errors import ScurryError
from scurry.functions.builtin import BUILT_INS

OPERANDS = [
    "", "*", "id", "NULL", "r", "tags", "'x'", "TRUE", "1.5", "DATE '2024-01-01'", "COUNT(*)",
    "r, NULL", "r, 0", "r, 99", "r, 1.5", "id, NULL", "name, id", "NULL, NULL",
    "name, DATE '2024-01-01'", "tags, tags", "tags, -1", "MAP['a', 1], r", "id, name, NULL",
    "NULL, NULL, NULL", "id, id, id, id, id, id",
]  # fmt: skip
NAMES = sorted({entry.name for entry in BUILT_INS if entry.name.replace("_", "").isalnum()})


@pytest.mark.parametrize("operands", OPERANDS)
def test_no_operands_break_a_function(operands: str) -> None:
    tables = Tables()
    tables.create("CREATE TABLE t (id INT, name STRING, tags ARRAY<STRING>, r ROW<x INT>)")
    for name in NAMES:
        refused = refusal_of(tables, f"SELECT {name}({operands}) FROM t")
        assert refused is None or "^" in refused


def refusal_of(tables: Tables, query: str) -> str | None:
    try:
        tables.optimised(query)
    except ScurryError as refusal:
        return str(refusal)
    return None
