"""Evaluating expressions on batches: choices, constants, failures, the clock, user functions."""

from __future__ import annotations

import asyncio
import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.sql.flink_values import resolve

from scurry.common.data_types import DataTypes, row_type_from_arrow
from scurry.common.errors import ScurryError
from scurry.common.types import Row
from scurry.functions.builtin import BUILT_INS, Kind, Status
from scurry.functions.expressions import AsyncSettings, Expression, InputRef, UdfCall
from scurry.functions.udfs import FunctionContext, ScalarFunction, udf
from scurry.runtime.expressions import (
    KERNELS,
    EvaluationContext,
    EvaluationError,
    compile_expression,
    compile_predicate,
    compile_projection,
)
from scurry.runtime.expressions.choices import CHOICES

CONTEXT = EvaluationContext(zone="Europe/Berlin", now=1_600_000_000_123)


def tree_of(sql: str, batch: pa.RecordBatch) -> Expression:
    return resolve(sql, row_type_from_arrow(batch.schema))


def values(sql: str, context: EvaluationContext = CONTEXT, **columns: Any) -> list[Any]:
    batch = pa.RecordBatch.from_pydict(columns or {"x": [0]})
    return list(compile_expression(tree_of(sql, batch))(batch, context).to_pylist())


def test_every_supported_scalar_function_can_be_computed() -> None:
    queries = {"EXISTS", "IN (query)", "NOT IN (query)", "INTERVAL"}
    names = {b.name for b in BUILT_INS if b.kind is Kind.SCALAR and b.status is Status.SUPPORTED}
    assert names - queries == (set(KERNELS) | set(CHOICES)) - queries


# --- choices -----------------------------------------------------------------------------------


def test_a_branch_is_evaluated_for_its_rows_only() -> None:
    sql = "CASE WHEN b <> 0 THEN a / b WHEN a = 7 THEN -1 ELSE a END"
    assert values(sql, a=[6, 7, 8, None], b=[2, 0, 0, 1]) == [3, -1, 8, None]


def test_and_stops_at_false_and_or_at_true() -> None:
    assert values("b <> 0 AND a / b > 1", a=[6, 1], b=[2, 0]) == [True, False]
    assert values("b = 0 OR a / b > 1", a=[6, 1], b=[2, 0]) == [True, True]
    assert values("b <> 0 AND a / b > 1", a=[6, None, 1], b=[None, 2, 2]) == [None, None, False]


def test_coalesce_evaluates_what_is_still_needed() -> None:
    assert values("COALESCE(a, 1 / b)", a=[5, None], b=[0, 1]) == [5, 1]


def test_rows_without_a_branch_get_the_default() -> None:
    assert values("CASE WHEN a > 1 THEN 'big' END", a=[1, 2, None]) == [None, "big", None]
    assert values("CASE WHEN a > 1 THEN ARRAY[a] ELSE ARRAY[0] END", a=[1, 2]) == [[0], [2]]


def test_an_empty_batch_has_empty_results() -> None:
    batch = pa.RecordBatch.from_pydict({"a": pa.array([], pa.int64()), "s": pa.array([], "string")})
    for sql in (
        "a / 2",
        "CASE WHEN a > 1 THEN a / 0 ELSE 1 END",
        "UPPER(s)",
        "s || 'x'",
        "ARRAY[a]",
    ):
        assert len(compile_expression(tree_of(sql, batch))(batch, CONTEXT)) == 0


# --- predicates and projections -----------------------------------------------------------------


def test_unknown_does_not_pass_a_filter() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, None, 3]})
    mask = compile_predicate(tree_of("a > 1", batch))(batch, CONTEXT)
    assert mask.to_pylist() == [False, False, True]


def test_a_projection_has_the_columns_of_its_trees() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    trees = [tree_of("a + 1", batch), tree_of("'x'", batch)]
    made = compile_projection(trees, ["n", "t"])(batch, CONTEXT)
    assert made.to_pydict() == {"n": [2, 3], "t": ["x", "x"]}


# --- failures ----------------------------------------------------------------------------------


def test_a_failure_shows_its_place_in_the_query() -> None:
    with pytest.raises(EvaluationError) as caught:
        values("1 + a / b", a=[1], b=[0])
    assert str(caught.value) == (
        "division by zero, in ($0 / $1) (line 1, column 5)\n  1 + a / b\n      ^^^^^"
    )


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("CAST(s AS INT)", "'abc' is no INT"),
        ("CAST(s AS DATE)", "'abc' is no date"),
        ("TO_TIMESTAMP_LTZ(s)", "'abc' is no timestamp"),
        ("SHA2(s, 5)", "224, 256, 384, 512 bits, not 5"),
        ("DECODE(X'61', 'klingon')", "there is no character set 'klingon'"),
        ("CONVERT_TZ('2020-01-01 00:00:00', 'UTC', 'Mars/Base')", "no time zone 'Mars/Base'"),
        ("s LIKE 'a!' ESCAPE '!'", "nothing to escape"),
        ("ELEMENT(ARRAY[1, 2])", "an array of one element, got 2"),
        ("DATE_FORMAT(TIMESTAMP '2020-01-01 00:00:00', 'J')", "the letter 'J'"),
        ("JSON_VALUE('{}', '$.a' ERROR ON ERROR)", "nothing is at the path"),
    ],
)
def test_values_that_cannot_be_computed_say_why(sql: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        values(sql, s=["abc"])


# --- the clock ---------------------------------------------------------------------------------


def test_the_current_time_is_that_of_the_evaluation_or_of_the_query() -> None:
    streaming = [dt.datetime(2020, 9, 13, 12, 26, 40, 123000, tzinfo=dt.UTC)] * 2
    assert values("CURRENT_TIMESTAMP", x=[1, 2]) == streaming
    batch = EvaluationContext(zone="Europe/Berlin", now=CONTEXT.now, query_start=1000)
    assert values("CURRENT_TIMESTAMP", batch)[0] == dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    assert values("CURRENT_ROW_TIMESTAMP()", batch)[0] == streaming[0]
    assert values("LOCALTIMESTAMP")[0] == dt.datetime(2020, 9, 13, 14, 26, 40, 123000)  # noqa: DTZ001
    assert values("CURRENT_DATE")[0] == dt.date(2020, 9, 13)
    assert values("UNIX_TIMESTAMP()") == [1_600_000_000]


def test_wall_clock_times_that_do_not_exist_are_moved_as_in_java() -> None:
    """Java: LocalDateTime.of(2020, 3, 29, 2, 30).atZone(Berlin) is 03:30+02:00."""
    found = values("CAST(t AS TIMESTAMP_LTZ(3))", t=pa.array([1585449000000], pa.timestamp("ms")))
    assert found == [dt.datetime(2020, 3, 29, 1, 30, tzinfo=dt.UTC)]


def test_times_before_1970_have_the_units_of_the_calendar() -> None:
    assert values("EXTRACT(HOUR FROM TIMESTAMP '1960-01-31 10:20:30')") == [10]
    assert values("CAST(TIMESTAMP '1960-01-31 10:20:30' AS DATE)") == [dt.date(1960, 1, 31)]


# --- random numbers ----------------------------------------------------------------------------


def test_random_numbers_are_drawn_for_each_row() -> None:
    drawn = values("RAND()", x=list(range(50)))
    assert len(set(drawn)) > 40
    assert all(0 <= number < 1 for number in drawn)
    assert set(values("RAND_INTEGER(3)", x=list(range(100)))) == {0, 1, 2}
    assert len(set(values("UUID()", x=[1, 2]))) == 2


def test_seeded_random_numbers_are_javas() -> None:
    """new java.util.Random(42).nextInt(10) gives 0, 3, 8; nextDouble of seed 1: 0.73087..."""
    assert values("RAND_INTEGER(42, 10)", x=[1, 2, 3]) == [0, 3, 8]
    assert values("RAND(1)")[0] == pytest.approx(0.7308781907032909)


# --- functions of the user's -------------------------------------------------------------------


class Prefix(ScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        self.prefix = function_context.get_job_parameter("prefix", "?")

    def eval(self, text: str | None) -> str | None:
        return None if text is None else self.prefix + text


def call(function: Any, *operands: Expression) -> UdfCall:
    overload, _ = function.resolve([operand.type for operand in operands])
    return UdfCall(function, operands, overload.result_types[0], function.deterministic)


def column(index: int, kind: Any) -> InputRef:
    return InputRef(index, kind)


def test_functions_are_opened_and_called_for_each_row() -> None:
    batch = pa.RecordBatch.from_pydict({"s": ["a", None]})
    tree = call(udf(Prefix(), result_type="STRING"), column(0, DataTypes.STRING()))
    context = EvaluationContext(functions=FunctionContext(None, {"prefix": "> "}))
    assert compile_expression(tree)(batch, context).to_pylist() == ["> a", None]


def test_vectorised_functions_get_whole_columns() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "b": [3, 4]})
    two = (column(0, DataTypes.BIGINT()), column(1, DataTypes.BIGINT()))
    pandas = udf(lambda a, b: a + b, result_type="BIGINT", func_type="pandas")
    arrow = udf(lambda a, b: pc.multiply(a, b), result_type="BIGINT", func_type="arrow")
    assert compile_expression(call(pandas, *two))(batch, CONTEXT).to_pylist() == [4, 6]
    assert compile_expression(call(arrow, *two))(batch, CONTEXT).to_pylist() == [3, 8]
    short = udf(lambda a, b: a[:1], result_type="BIGINT", func_type="arrow")
    with pytest.raises(EvaluationError, match="returned 1 values for 2 rows"):
        compile_expression(call(short, *two))(batch, CONTEXT)


def awaited(function: Any, settings: AsyncSettings, rows: int = 3) -> list[Any]:
    batch = pa.RecordBatch.from_pydict({"a": list(range(rows))})
    tree = call(udf(function, result_type="BIGINT"), column(0, DataTypes.BIGINT()))
    compiled = compile_expression(tree)
    try:
        return list(compiled(batch, EvaluationContext(asynchronous=settings)).to_pylist())
    finally:
        compiled.close()


def test_as_many_awaited_calls_as_allowed_are_under_way() -> None:
    under_way, most = [0], [0]

    async def later(value: int) -> int:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        await asyncio.sleep(0.001)
        under_way[0] -= 1
        return value + 1

    assert awaited(later, AsyncSettings(capacity=4), 12) == list(range(1, 13))
    assert most[0] == 4


def test_awaited_calls_that_fail_are_made_again() -> None:
    calls = [0]

    async def flaky(value: int) -> int:
        calls[0] += 1
        if calls[0] < 3:
            raise ValueError("the service is away")
        return value

    assert awaited(flaky, AsyncSettings(delay_ms=0), 1) == [0]
    calls[0] = -5
    with pytest.raises(EvaluationError, match="the service is away"):
        awaited(flaky, AsyncSettings(delay_ms=0), 1)


def test_awaited_calls_that_take_too_long_fail() -> None:
    async def never(value: int) -> int:
        await asyncio.sleep(60)
        return value

    with pytest.raises(EvaluationError, match="no result for \\(0,\\) within 5 ms"):
        awaited(never, AsyncSettings(timeout_ms=5))


def test_rows_maps_and_intervals_are_python_values() -> None:
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("n", DataTypes.INT()),
            DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
        ]
    )
    seen: list[Any] = []

    def look(row: Row) -> Row:
        seen.append(row)
        return Row(n=row["n"] + 1, m={"k": 1})

    batch = pa.RecordBatch.from_arrays(
        [pa.array([{"n": 1, "m": [("a", 2)]}], kind.arrow_type())], ["r"]
    )
    tree = call(udf(look, result_type=kind), column(0, kind))
    assert compile_expression(tree)(batch, CONTEXT).to_pylist() == [{"n": 2, "m": [("k", 1)]}]
    assert seen[0]["m"] == {"a": 2}


def test_a_result_of_another_type_is_refused() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1]})
    tree = call(udf(lambda a: "x", result_type="INT"), column(0, DataTypes.BIGINT()))
    with pytest.raises(
        EvaluationError, match=r"returned 'x' \(str\), but it is declared to return INT"
    ):
        compile_expression(tree)(batch, CONTEXT)


@pytest.mark.parametrize("value", ["12345678.1", "9999999.9995", "Infinity"])
def test_a_decimal_without_room_in_its_type_is_refused(value: str) -> None:
    batch = pa.RecordBatch.from_pydict({"a": [value]})
    tree = call(
        udf(lambda a: Decimal(a), result_type="DECIMAL(10, 3)"), column(0, DataTypes.STRING())
    )
    with pytest.raises(EvaluationError, match=r"declared to return DECIMAL\(10, 3\)"):
        compile_expression(tree)(batch, CONTEXT)


# --- what is refused when it is planned --------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("99999999999999999999", r"out of range(?s:.)*Write CAST\('99999999999999999999'"),
        ("DATE '2020-02-31'", "There is no DATE '2020-02-31'"),
        ("INTERVAL '1 2' DAY TO SECOND", "'1 2' is no interval of DAY TO SECOND"),
        ("ARRAY[1][0]", "positions in an array count from 1, got 0"),
        ("EXTRACT(HOUR FROM 5)", "only times and intervals have units"),
    ],
)
def test_expressions_that_mean_nothing_are_refused(sql: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as caught:
        resolve(sql)
    assert isinstance(caught.value, ScurryError)
