"""Every supported function has a value that Flink gave for it, committed as data.

Values of expressions are in ``tests/sql/functions/*.json``, with NULL among the operands; rows of
queries are in ``tests/sql/functions/queries`` and ``tests/sql/scenarios/*.sql``. All are made by
scripts that run PyFlink, and other tests compare what Scurry gives with them. Here is counted which
functions occur.
"""

from __future__ import annotations

import json
import re

import pytest
from tests.sql.flink_values import FILES, recorded, resolve
from tests.sql.scenario import all_scenarios

from scurry.functions.builtin import BUILT_INS
from scurry.functions.builtin.entry import BuiltIn, Kind, Status
from scurry.functions.expressions import Call

SUPPORTED = [entry for entry in BUILT_INS if entry.status is Status.SUPPORTED]
_SCALARS = [entry for entry in SUPPORTED if entry.kind is Kind.SCALAR]
#: how queries write what is no call of a function
_WRITTEN = {
    "EXISTS": r"\bEXISTS \(",
    "IN (query)": r"\bIN \(SELECT",
    "NOT IN (query)": r"\bNOT IN \(SELECT",
    "SINGLE_VALUE": r"[=,<>(] *\(SELECT",
    "$SUM0": r"`\$SUM0`\(",
    "DATE": r"\bDATE '",
    "TIME": r"\bTIME '",
    "TIMESTAMP": r"\bTIMESTAMP '",
    "INTERVAL": r"\bINTERVAL '",
}
#: functions whose value is another in every run, each with the test that shows what they do
_OTHERWISE = {
    "CURRENT_WATERMARK": "tests/unit/planner/test_times_of_rows.py",
    "TUMBLE_PROCTIME": "tests/unit/planner/test_times_of_rows.py",
    "HOP_PROCTIME": "tests/unit/planner/test_times_of_rows.py",
    "SESSION_PROCTIME": "tests/unit/planner/test_times_of_rows.py",
}
#: names that Flink's SQL does not have, and Scurry takes as well
_OURS_ALONE = {"!=", "LCASE", "SUM0", "UCASE"}
#: scalar functions that take nothing that could be NULL
_WITHOUT_NULL = {
    "CURRENT_DATABASE", "CURRENT_DATE", "CURRENT_ROW_TIMESTAMP", "CURRENT_TIME",
    "CURRENT_TIMESTAMP", "CURRENT_WATERMARK", "DATE", "E", "EXISTS", "FIELD", "IN (query)",
    "INTERVAL", "LOCALTIME", "LOCALTIMESTAMP", "NOT IN (query)", "NOW", "PI", "PROCTIME", "TIME",
    "TIMESTAMP", "UNIX_TIMESTAMP()", "UUID",
}  # fmt: skip


def _values() -> list[tuple[str, set[str]]]:
    """The expressions for which Flink gave a value, each with the functions in it."""
    found = []
    for path in sorted(FILES.glob("*.json")):
        for case in recorded(path.stem):
            if "value" in case:
                calls = (node for node in resolve(case["sql"]).walk() if isinstance(node, Call))
                found.append((case["sql"], {call.function for call in calls}))
    return found


def _queries() -> list[str]:
    """The queries for which Flink gave rows."""
    scenarios = [one.statements for one in all_scenarios() if one.table is not None]
    whole = json.loads((FILES / "queries" / "queries.json").read_text())["results"]
    return ["\n".join(one) for one in scenarios] + [one["sql"] for one in whole if "rows" in one]


VALUES = _values()
TEXTS = [sql for sql, _ in VALUES] + [" ".join(one.split()) for one in _queries()]


def _pattern(name: str) -> str:
    return _WRITTEN.get(name, rf"(?<![\w.$]){re.escape(name)}\s*\(")


def _is_written(name: str) -> bool:
    return any(re.search(_pattern(name), query) for query in TEXTS)


@pytest.mark.parametrize("entry", SUPPORTED, ids=lambda entry: entry.name)
def test_flink_gave_a_value(entry: BuiltIn) -> None:
    if entry.name in _OTHERWISE:
        return
    by_value = any(entry.name in calls for _, calls in VALUES)
    found = by_value or _is_written(entry.name)
    assert found, (
        f"{entry.name} has no value of Flink's: add a line to tests/sql/functions/*.txt and run "
        "scripts/flink_expressions.py with PyFlink"
    )


@pytest.mark.parametrize("entry", _SCALARS, ids=lambda entry: entry.name)
def test_flink_gave_a_value_for_null(entry: BuiltIn) -> None:
    if entry.name in _WITHOUT_NULL:
        return
    with_null = (sql for sql, calls in VALUES if entry.name in calls and "NULL" in sql.upper())
    assert next(with_null, None) is not None, f"{entry.name} has no line with NULL"


@pytest.mark.parametrize(
    "alias",
    sorted({alias for one in SUPPORTED for alias in one.aliases} - _OURS_ALONE),
)
def test_other_names_are_compared_as_well(alias: str) -> None:
    pattern = rf"(?<![\w.$]){re.escape(alias)}" + (r"\b" if alias.isidentifier() else "")
    assert any(re.search(pattern, text) for text in TEXTS), f"{alias} is in no line"
