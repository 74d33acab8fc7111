"""SQL expressions on columns: how many rows a second, for one expression of each kind?

One process, one core, batches of 100 000 rows; the time is that of the CPU. Texts are counted twice
where it matters: with 5 000 distinct ones and with all of them distinct.
"""

from __future__ import annotations

import time
from decimal import Decimal

import click
import numpy as np
import pyarrow as pa

from scurry.common.data_types import row_type_from_arrow
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.scope import Scope
from scurry.planner.columns import Column
from scurry.runtime.expressions import EvaluationContext, compile_expression
from scurry.sql.parser import parse_expression

EXPRESSIONS = {
    "arithmetic": ("i + 1", "l * 2 + i", "l / (i * i + 1)", "d * 1.5E0 + i"),
    "decimals": ("m * 0.908", "m + m", "m / 3", "ROUND(m, 1)"),
    "conditions": ("i > 5 AND s LIKE 'user-1%'", "l IN (1, 2, 3, 4)"),
    "choices": (
        "CASE WHEN i > 0 THEN 'a' WHEN i < -500 THEN 'b' ELSE 'c' END",
        "CASE WHEN i <> 0 THEN l / i ELSE 0 END",
        "COALESCE(i, 0)",
    ),
    "texts": ("UPPER(s)", "s || '-x'", "SUBSTRING(u, 8, 3)", "SPLIT_INDEX(u, '/', 2)"),
    "patterns": ("REGEXP_EXTRACT(s, '-(.*)', 1)", "REGEXP_EXTRACT(u, 'q=(.*)', 1)"),
    "hashes": ("MD5(s)", "MD5(u)"),
    "casts": ("CAST(l AS STRING)", "CAST(d AS STRING)", "CAST(t AS STRING)", "CAST(m AS DOUBLE)"),
    "times": (
        "DATE_FORMAT(t, 'yyyy-MM-dd HH:mm')",
        "EXTRACT(HOUR FROM t)",
        "FLOOR(t TO HOUR)",
        "t + INTERVAL '1' DAY",
        "CAST(t AS TIMESTAMP_LTZ(3))",
    ),
    "collections": ("ARRAY[i, i]", "a[1]", "CARDINALITY(a)", "ARRAY_CONTAINS(a, 5)", "ROW(i, s)"),
    "JSON": ("JSON_VALUE(j, '$.a.b')",),
}


class NoCatalog:
    """A catalogue without tables and functions."""

    def find_table(self, names: tuple[str, ...]) -> None:
        return None

    def table_names(self) -> tuple[str, ...]:
        return ()

    def find_function(self, names: tuple[str, ...]) -> None:
        return None

    def function_names(self) -> tuple[str, ...]:
        return ()


def rows(count: int) -> pa.RecordBatch:
    """A batch with a column of each kind."""
    chance = np.random.default_rng(1)
    moments = chance.integers(0, 1_600_000_000_000, count)
    cents = chance.integers(1, 10**8, count)
    return pa.RecordBatch.from_pydict(
        {
            "i": pa.array(chance.integers(-1000, 1000, count), pa.int32()),
            "l": pa.array(chance.integers(1, 10**6, count), pa.int64()),
            "d": pa.array(chance.random(count) * 1000),
            "m": pa.array([Decimal(int(c)).scaleb(-2) for c in cents], pa.decimal128(12, 2)),
            "s": pa.array([f"user-{at % 5000}" for at in range(count)]),
            "u": pa.array([f"http://h{at}.example.com/p?q={at}" for at in range(count)]),
            "t": pa.array(moments, pa.timestamp("ms")),
            "j": pa.array([f'{{"a": {{"b": {at % 20000}}}}}' for at in range(count)]),
            "a": pa.array([[at, at + 1] for at in range(count)], pa.list_(pa.int64())),
        }
    )


def rate(sql: str, batch: pa.RecordBatch) -> float:
    """Rows a second, the best of five."""
    schema = row_type_from_arrow(batch.schema)
    columns = tuple(Column(field.name, field.data_type) for field in schema)
    tree = ExpressionBinder(Scope.of("t", columns), NoCatalog()).bind(parse_expression(sql))
    compiled, context = compile_expression(tree), EvaluationContext(zone="Europe/Berlin")
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        compiled(batch, context)
        best = min(best, time.process_time() - start)
    return batch.num_rows / max(best, 1e-9)


@click.command(help=__doc__.splitlines()[0])
@click.option("--rows", "count", default=100_000, show_default=True)
def main(count: int) -> None:
    """Measure every expression."""
    batch = rows(count)
    for kind, expressions in EXPRESSIONS.items():
        click.echo(kind)
        for sql in expressions:
            click.echo(f"  {rate(sql, batch) / 1e6:9.2f} M rows/s  {sql}")


if __name__ == "__main__":
    main()
