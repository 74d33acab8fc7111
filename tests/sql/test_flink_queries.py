"""Aggregates, functions of OVER and of windows: what Flink gave for whole queries, in batch mode.

``functions/queries/queries.json`` is made from the lines of the text beside it by
``scripts/flink_expressions.py``. Each line there is a query that Flink can run.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from tests.sql.flink_values import FILES, ZONE, comparable, of_flink, plain, same

from scurry.common.data_types import DataType
from scurry.table import EnvironmentSettings, Table, TableEnvironment
from scurry.testing.tables import changes_of_table

CASES = json.loads((FILES / "queries" / "queries.json").read_text())["results"]
#: queries whose last column Flink declares NOT NULL, though there are rows for which it is NULL
_NULLABLE = {
    case["sql"]
    for case in CASES
    if "ARRAY_AGG(DISTINCT x)" in case["sql"] or "x, 1, -1) OVER" in case["sql"]
}


def _query(sql: str) -> Table:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.get_config().set_local_timezone(ZONE)
    return env.sql_query(sql)


def _ours(row: tuple[Any, ...], types: list[DataType]) -> list[Any]:
    return [_internal(value, kind) for value, kind in zip(row, types, strict=True)]


def _internal(value: Any, kind: DataType) -> Any:
    """A value as users get it, in the form in which Flink's are compared."""
    (found,) = plain(pa.array([value], kind.arrow_type()))
    return comparable(found, kind)


def _types_of(types: list[DataType], sql: str) -> list[str]:
    """The types as texts, without the two differences that the page of functions names."""
    texts = [str(one).removesuffix(" *ROWTIME*") for one in types]
    if sql in _NULLABLE:
        texts[-1] += " NOT NULL"
    return texts


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sql"])
def test_rows_and_types_are_flinks(case: dict[str, Any]) -> None:
    table = _query(case["sql"])
    types = table.row_type.field_types()
    assert _types_of(types, case["sql"]) == case["types"]
    found = sorted((_ours(row, types) for _, *row in changes_of_table(table)), key=repr)
    expected = [
        [of_flink(value, kind) for value, kind in zip(row, types, strict=True)]
        for row in case["rows"]
    ]
    assert len(found) == len(expected)
    assert all(map(same, found, sorted(expected, key=repr))), (found, expected)
