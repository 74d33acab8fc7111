"""Have Flink evaluate SQL expressions, and write what it says as data for the tests.

Run it with an interpreter that has PyFlink, which the project itself does not need:

    <python with apache-flink> scripts/flink_expressions.py tests/sql/functions/*.txt

Each file has one expression a line; empty lines and lines that start with ``--`` are left out. Next
to ``x.txt`` the script writes ``x.json``: for each expression Flink's type and value, or ``error``
with the place where Flink refused it, "plan" or "run". Expressions are evaluated in batch mode in
the zone of ``ZONE``, many in one query, because a query costs a second and an expression nothing.

A line that begins with SELECT or WITH is a query: its types and all its rows are written.
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path

ZONE = "Asia/Tokyo"
#: expressions in one query: where many of them fail, small queries are divided less often
SIZE = 8


def environment():
    from pyflink.table import EnvironmentSettings, TableEnvironment

    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made.get_config().set("table.local-time-zone", ZONE)
    made.get_config().set("parallelism.default", "1")
    return made


class Evaluator:
    """Evaluates expressions; a query that fails is divided until the one to blame is alone."""

    def __init__(self) -> None:
        self.tables = environment()
        self.results: dict[str, dict] = {}

    def evaluate(self, expressions: list[str]) -> list[dict]:
        for one in filter(is_query, expressions):
            self._query(one)
        planned = [e for e in expressions if not is_query(e) and self._plans(e)]
        for start in range(0, len(planned), SIZE):
            self._run(planned[start : start + SIZE])
        return [self.results[e] for e in expressions]

    def _query(self, query: str) -> None:
        found: dict = {"sql": query}
        self.results[query] = found
        try:
            table = self.tables.sql_query(query)
            columns = table._j_table.getResolvedSchema().getColumns()
            types = [c.getDataType().getLogicalType().asSummaryString() for c in columns]
        except Exception as failure:
            found.update(error="plan", says=says(failure))
            return
        try:
            rows = table._j_table.execute().collect()
            found.update(types=types, rows=[])
            while rows.hasNext():
                found["rows"].append(plain(rows.next())["row"])
            rows.close()
        except Exception as failure:
            found.pop("rows", None)
            found.update(error="run", says=says(failure))

    def _plans(self, expression: str) -> bool:
        try:
            table = self.tables.sql_query(f"SELECT {expression} AS c")
        except Exception as failure:
            self.results[expression] = {"sql": expression, "error": "plan", "says": says(failure)}
            return False
        column = table._j_table.getResolvedSchema().getColumns().get(0)
        kind = column.getDataType().getLogicalType().asSummaryString()
        self.results[expression] = {"sql": expression, "type": kind}
        return True

    def _run(self, expressions: list[str]) -> None:
        columns = ", ".join(f"{e} AS c{at}" for at, e in enumerate(expressions))
        try:
            rows = self.tables.sql_query(f"SELECT {columns}")._j_table.execute().collect()
            row = rows.next()
            for at, expression in enumerate(expressions):
                self.results[expression]["value"] = plain(row.getField(at))
            rows.close()
        except Exception as failure:
            if len(expressions) == 1:
                self.results[expressions[0]].update(error="run", says=says(failure))
                return
            middle = len(expressions) // 2
            self._run(expressions[:middle])
            self._run(expressions[middle:])


def is_query(line: str) -> bool:
    """Whether a line is a whole query."""
    return line.startswith(("SELECT ", "WITH "))


def says(failure: Exception) -> str:
    """The sentence of the exception that is at the bottom of it."""
    cause = getattr(failure, "java_exception", None)
    text = str(failure)
    while cause is not None:
        text = str(cause.toString())
        cause = cause.getCause()
    return text.split("\n")[0][:300]


def plain(value):
    """A value as JSON: texts for whatever JSON has no form for."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, bytes | bytearray):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, Decimal):
        return {"decimal": format(value, "f")}
    return of_java(value)


def of_java(value):
    name = value.getClass().getName()
    if name == "java.math.BigDecimal":
        return {"decimal": value.toPlainString()}
    if name == "org.apache.flink.types.Row":
        return {"row": [plain(value.getField(at)) for at in range(value.getArity())]}
    if name.startswith("["):
        return [plain(item) for item in value]
    if name.startswith("java.time."):
        return {name.removeprefix("java.time."): value.toString()}
    if hasattr(value, "items"):
        return {"map": sorted(([plain(k), plain(v)] for k, v in value.items()), key=repr)}
    return {name: value.toString()}


def main() -> None:
    evaluator = Evaluator()
    for name in sys.argv[1:]:
        path = Path(name)
        lines = [line.strip() for line in path.read_text().splitlines()]
        expressions = [line for line in lines if line and not line.startswith("--")]
        found = evaluator.evaluate(expressions)
        head = {
            "made by": "scripts/flink_expressions.py, run with PyFlink",
            "zone": ZONE,
        }
        lines = [json.dumps(one, ensure_ascii=False) for one in found]
        body = ",\n    ".join(lines)
        text = json.dumps(head)[:-1] + f', "results": [\n    {body}\n]}}\n'
        path.with_suffix(".json").write_text(text)
        print(path, len(found), "expressions,", sum("error" in one for one in found), "errors")


if __name__ == "__main__":
    main()
