"""How rows are cut into batches, and NULLs among them, do not change the values of expressions.

The expressions are those whose values are compared with Flink's. Their constants become columns, in
which some values are NULL; then a batch of several rows must give what the rows give alone, or fail
if one of them does.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.sql.flink_values import FILES, evaluate, lifted, recorded, resolve, same

from scurry.functions.expressions import is_deterministic
from scurry.runtime.expressions import EvaluationError

_FAILED = object()


def rows_of(columns: list[pa.Scalar]) -> list[pa.RecordBatch]:
    """One row with all values, one with none, and for each column one in which only it is NULL."""
    width = len(columns)
    patterns = [set(), set(range(width)), *({at} for at in range(width)), set()]
    names = [str(at) for at in range(width)]
    return [
        pa.RecordBatch.from_arrays(
            [
                pa.nulls(1, c.type) if at in missing else pa.repeat(c, 1)
                for at, c in enumerate(columns)
            ],
            names,
        )
        for missing in patterns
    ]


def tried(tree: Any, batch: pa.RecordBatch) -> Any:
    try:
        return evaluate(tree, batch)
    except EvaluationError:
        return _FAILED


@pytest.mark.parametrize("name", sorted(path.stem for path in FILES.glob("*.json")))
def test_a_batch_gives_what_its_rows_give(name: str) -> None:
    for case in recorded(name):
        if "error" in case:
            continue
        columns: list[pa.Scalar] = []
        tree = lifted(resolve(case["sql"]), columns)
        if not columns or not is_deterministic(tree):
            continue
        rows = rows_of(columns)
        alone = [tried(tree, row) for row in rows]
        whole = tried(tree, pa.Table.from_batches(rows).combine_chunks().to_batches()[0])
        kept = [row for row, value in zip(rows, alone, strict=True) if value is not _FAILED]
        if _FAILED in alone:
            assert whole is _FAILED, case["sql"]
            if not kept:
                continue
            alone = [value for value in alone if value is not _FAILED]
            whole = tried(tree, pa.Table.from_batches(kept).combine_chunks().to_batches()[0])
        expected = [value[0] for value in alone]
        assert whole is not _FAILED, case["sql"]
        assert same(whole, expected), (case["sql"], whole, expected)
        later = pa.Table.from_batches(kept).combine_chunks().to_batches()[0].slice(1)
        assert same(tried(tree, later), expected[1:]), case["sql"]
