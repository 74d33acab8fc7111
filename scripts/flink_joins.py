"""Makes tests/unit/relational/flink_joins.json: what Flink sends for joins of two changelogs.

Run it with a Python that has apache-flink, from the root of the project:

    python scripts/flink_joins.py > tests/unit/relational/flink_joins.json

Both sides stem from one stream, whose records come slowly, one by one, so that each has gone all
the way before the next one comes.
"""

from __future__ import annotations

import json
import time
from typing import Any

from pyflink.common import Configuration, Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

KINDS = {
    "+I": RowKind.INSERT,
    "-U": RowKind.UPDATE_BEFORE,
    "+U": RowKind.UPDATE_AFTER,
    "-D": RowKind.DELETE,
}
CHANGES = """
+I l x 1, +I r x 5, +I r x 6, +I l x 2, -U r x 5, +U r x 1, -D l x 1, +I l y 7, -D r x 6, -D r x 1,
+I l x 2, +I r x 3, +I r x 3, -D r x 3, -D l x 2, -U l y 7, +U l y 8, +I r y 9, -U l y 8, +U l y 9,
-D r x 3, +I l - 4, +I r - 4, -D l - 4, -D r y 9, -D l x 2
"""


def changes() -> list[list[Any]]:
    made = []
    for text in CHANGES.replace("\n", " ").split(","):
        kind, side, key, number = text.split()
        made.append([kind, side, None if key == "-" else key, int(number)])
    return made


def query(kind: str, condition: str) -> str:
    on = f"l.k = r.j {condition}"
    if kind in ("semi", "anti"):
        exists = "NOT EXISTS" if kind == "anti" else "EXISTS"
        return f"SELECT * FROM l WHERE {exists} (SELECT 1 FROM r WHERE {on})"
    return f"SELECT * FROM l {kind} JOIN r ON {on}"


def slowly(row: Row) -> Row:
    time.sleep(0.15)
    return row


def main() -> None:
    settings = Configuration()
    settings.set_string("python.fn-execution.bundle.size", "1")
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    environment.set_parallelism(1)
    environment.set_buffer_timeout(0)
    tables = StreamTableEnvironment.create(environment)
    kind = Types.ROW_NAMED(["s", "k", "n"], [Types.STRING(), Types.STRING(), Types.LONG()])
    rows = []
    for text, *values in changes():
        rows.append(Row(*values))
        rows[-1].set_row_kind(KINDS[text])
    stream = environment.from_collection(rows, kind).map(slowly, kind)
    tables.create_temporary_view("t", tables.from_changelog_stream(stream))
    tables.execute_sql("CREATE TEMPORARY VIEW l AS SELECT k, n AS a FROM t WHERE s = 'l'")
    tables.execute_sql("CREATE TEMPORARY VIEW r AS SELECT k AS j, n AS b FROM t WHERE s = 'r'")
    texts = {kind: text for text, kind in KINDS.items()}
    made: dict[str, Any] = {"input": changes(), "sent": {}}
    for name, condition in (("", ""), (" if less", "AND l.a < r.b")):
        for join in ("inner", "left", "right", "full", "semi", "anti"):
            with tables.execute_sql(query(join, condition)).collect() as found:
                sent = [[texts[row.get_row_kind()], *row] for row in found]
            made["sent"][join + name] = sent
    print(json.dumps(made, indent=1))


main()
