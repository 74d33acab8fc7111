"""Expressions as functions of single values mean what they mean on columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.data_types import DataType, DataTypes
from scurry.functions.aggregate_calls import AggregateCall
from scurry.functions.builtin import resolve, resolve_aggregate
from scurry.functions.expressions import Expression, InputRef, Literal
from scurry.runtime.expressions import EvaluationContext, compile_expression
from scurry.runtime.relational.aggregates.scratch import aggregate_rows
from scurry.runtime.relational.scalar_code import row_function, values_aggregate

INT, BIGINT, DOUBLE = DataTypes.INT(), DataTypes.BIGINT(), DataTypes.DOUBLE()
STRING, BOOLEAN = DataTypes.STRING(), DataTypes.BOOLEAN()
COLUMNS: list[DataType] = [INT, BIGINT, DOUBLE, STRING, BOOLEAN]
VALUES: dict[DataType, st.SearchStrategy[Any]] = {
    INT: st.sampled_from([0, 1, -1, 7, 2**31 - 1, -(2**31)]),
    BIGINT: st.sampled_from([0, 1, -1, 12, 2**63 - 1, -(2**63)]),
    DOUBLE: st.sampled_from([0.0, -0.5, 1.0, 1e300]),
    STRING: st.sampled_from(["", "a", "b", "aé", "z𝄞"]),
    BOOLEAN: st.booleans(),
}
NUMBERS: tuple[DataType, ...] = (INT, BIGINT, DOUBLE)


def leaves(kind: DataType) -> st.SearchStrategy[Expression]:
    constants = VALUES[kind].map(lambda value: Literal(value, kind.not_null()))
    return st.just(InputRef(COLUMNS.index(kind), kind)) | constants


@st.composite
def numbers(draw: st.DrawFn, kind: DataType, depth: int) -> Expression:
    if depth == 0 or draw(st.booleans()):
        return draw(leaves(kind))
    operator = draw(st.sampled_from("+-*"))
    sides = [draw(numbers(kind, depth - 1)) for _ in range(2)]
    return resolve(operator, sides)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> Expression:
    kind = draw(st.sampled_from(["compare", "and", "or", "not", "null", "column"]))
    if depth == 0 or kind == "column":
        return draw(leaves(BOOLEAN))
    if kind == "compare":
        of = draw(st.sampled_from(COLUMNS))
        value = numbers(of, 2) if of in NUMBERS else leaves(of)
        operator = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
        return resolve(operator, (draw(value), draw(value)))
    if kind == "null":
        of = draw(st.sampled_from(COLUMNS))
        return resolve(draw(st.sampled_from(["IS NULL", "IS NOT NULL"])), (draw(leaves(of)),))
    inner = conditions(depth - 1)
    if kind == "not":
        return resolve("NOT", (draw(inner),))
    return resolve(kind.upper(), draw(st.lists(inner, min_size=2, max_size=3)))


rows = st.tuples(*(st.none() | VALUES[kind] for kind in COLUMNS))


@given(conditions(), st.lists(rows, min_size=1, max_size=6))
def test_single_values_and_columns_agree(tree: Expression, table: list[tuple[Any, ...]]) -> None:
    code = row_function(tree)
    assert code is not None
    arrays = [
        pa.array([row[at] for row in table], kind.arrow_type()) for at, kind in enumerate(COLUMNS)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, [f"c{at}" for at in range(len(COLUMNS))])
    on_columns = compile_expression(tree)(batch, EvaluationContext()).to_pylist()
    assert [code(row) for row in table] == on_columns


@given(
    st.sampled_from(["COUNT", "SUM", "AVG", "MIN", "MAX"]),
    st.sampled_from([0, 1, 2]),
    st.lists(rows, min_size=1, max_size=6),
)
def test_aggregates_of_values_and_of_columns_agree(
    name: str, column: int, table: list[tuple[Any, ...]]
) -> None:
    _, (argument,), result = resolve_aggregate(name, [InputRef(column, COLUMNS[column])])
    call = AggregateCall(name, (0,), result.arrow_type())
    code = values_aggregate(call, [argument])
    assert code is not None
    arrays = [
        pa.array([row[at] for row in table], kind.arrow_type()) for at, kind in enumerate(COLUMNS)
    ]
    batch = pa.RecordBatch.from_arrays(arrays, [f"c{at}" for at in range(len(COLUMNS))])
    values = compile_expression(argument)(batch, EvaluationContext())
    one = pa.RecordBatch.from_arrays([values], ["v"])
    (found,) = aggregate_rows([call], one, np.zeros(1, dtype=np.int64))
    assert code(list(table)) == found[0].as_py()
