"""Makes tests/unit/relational/flink_changelogs.json: what Flink sends for queries over changelogs.

Run it with a Python that has apache-flink, from the root of the project:

    python scripts/flink_changelogs.py > tests/unit/relational/flink_changelogs.json
"""

from __future__ import annotations

import json
from typing import Any

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

KINDS = {
    "+I": RowKind.INSERT,
    "-U": RowKind.UPDATE_BEFORE,
    "+U": RowKind.UPDATE_AFTER,
    "-D": RowKind.DELETE,
}
INSERTS: list[list[Any]] = [
    ["+I", "a", 3, 1.5, "x"],
    ["+I", "a", 1, None, "y"],
    ["+I", "b", None, 2.5, "x"],
    ["+I", "a", 1, 0.5, "x"],
    ["+I", "a", 5, 4.0, None],
    ["+I", "b", 2, 0.25, "z"],
    ["+I", "a", 2, 1.0, "y"],
    ["+I", "a", 3, 1.5, "x"],
    ["+I", "b", 2, 8.0, "a"],
]
CHANGES: list[list[Any]] = [
    *INSERTS[:5],
    ["-D", "a", 5, 4.0, None],
    ["-U", "a", 1, None, "y"],
    ["+U", "a", 7, 2.0, "y"],
    ["+I", "b", 9, 1.0, "q"],
    ["-D", "b", None, 2.5, "x"],
    ["-D", "a", 3, 1.5, "x"],
    ["-D", "b", 9, 1.0, "q"],
    ["+I", "b", 4, 3.0, "r"],
    ["+I", "a", 7, 2.0, "y"],
]
COUNTED = "SELECT k, COUNT(*), COUNT(n), SUM(n), AVG(n), MIN(n), MAX(n) FROM t GROUP BY k"
RANKED = """
SELECT {columns}
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n {order}) AS r FROM t)
WHERE r <= 2
"""
QUERIES = {
    "counted": COUNTED,
    "floats": "SELECT k, SUM(x), AVG(x), MIN(x), MAX(x) FROM t GROUP BY k",
    "spread": "SELECT k, VAR_POP(x), VAR_SAMP(x), STDDEV_POP(x), STDDEV_SAMP(x) FROM t GROUP BY k",
    "distinct": "SELECT k, COUNT(DISTINCT s), SUM(DISTINCT n) FROM t GROUP BY k",
    "filtered": """
    SELECT k, COUNT(*) FILTER (WHERE n > 1), SUM(n) FILTER (WHERE s = 'x') FROM t GROUP BY k
    """,
    "unchanged": "SELECT k, MAX(n) FROM t GROUP BY k",
    "all": "SELECT COUNT(*), SUM(n) FROM t",
    "once": "SELECT DISTINCT k, s FROM t",
    "edges": "SELECT k, FIRST_VALUE(s), LAST_VALUE(s), LISTAGG(s) FROM t GROUP BY k",
    "ranked": RANKED.format(columns="k, n, x, s", order="DESC"),
    "numbered": RANKED.format(columns="k, n, x, s, r", order="ASC"),
}


def row_of(row: Any) -> list[Any]:
    kinds = {kind: text for text, kind in KINDS.items()}
    return [kinds[row.get_row_kind()], *row]


def run(changes: list[list[Any]], query: str) -> list[list[Any]]:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(1)
    tables = StreamTableEnvironment.create(environment)
    kind = Types.ROW_NAMED(
        ["k", "n", "x", "s"], [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.STRING()]
    )
    rows = []
    for text, *values in changes:
        row = Row(*values)
        row.set_row_kind(KINDS[text])
        rows.append(row)
    stream = environment.from_collection(rows, kind)
    tables.create_temporary_view("t", tables.from_changelog_stream(stream))
    with tables.execute_sql(query).collect() as found:
        return [row_of(row) for row in found]


def main() -> None:
    inputs = {"inserts": INSERTS, "changes": CHANGES}
    made: dict[str, Any] = {"inputs": inputs, "sent": {}}
    for name, query in QUERIES.items():
        for given, changes in inputs.items():
            made["sent"][f"{name} of {given}"] = run(changes, query)
    print(json.dumps(made, indent=1))


main()
