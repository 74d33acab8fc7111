"""Expressions of the Table API: the SQL that they mean."""

from __future__ import annotations

import pytest

from scurry.common.data_types import DataTypes
from scurry.common.errors import ProgramError
from scurry.table.expression import (
    Expression,
    JsonOnNull,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from scurry.table.expressions import (
    and_,
    array,
    call,
    call_sql,
    coalesce,
    col,
    concat,
    current_timestamp,
    date_format,
    if_then_else,
    json_array,
    json_object,
    lag,
    lit,
    log,
    map_,
    not_,
    null_of,
    or_,
    rand_integer,
    row,
    timestamp_diff,
    to_date,
    with_all_columns,
)

A, B = col("a"), col("b")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (A + 1, "a + 1"),
        (1 - A, "1 - a"),
        (2 * A / B % 3, "2 * a / b % 3"),
        (A**2, "POWER(a, 2)"),
        (2**A, "POWER(2, a)"),
        (-A, "-a"),
        (abs(A), "ABS(a)"),
        ((A > 1) & (B == "x") & (A <= 3), "a > 1 AND b = 'x' AND a <= 3"),
        ((A != 1) | (B < 2), "a <> 1 OR b < 2"),
        (~(A == 1), "a = 1 IS NOT TRUE"),
        (not_(A == 1), "NOT a = 1"),
        (and_(A, B, A), "a AND b AND a"),
        (or_(A, B), "a OR b"),
        (A.between(1, 2), "a BETWEEN 1 AND 2"),
        (A.not_between(1, B), "a NOT BETWEEN 1 AND b"),
        (A.in_(1, 2, B), "a IN (1, 2, b)"),
        (A.is_null, "a IS NULL"),
        (A.is_not_false, "a IS NOT FALSE"),
        (A.like("x%", "!"), "a LIKE 'x%' ESCAPE '!'"),
        (A.similar("x"), "a SIMILAR TO 'x'"),
        (A.then(1, 2), "CASE WHEN a THEN 1 ELSE 2 END"),
        (if_then_else(A > 1, B, None), "CASE WHEN a > 1 THEN b ELSE NULL END"),
        (coalesce(A, B, 1), "COALESCE(a, b, 1)"),
        (A.cast(DataTypes.STRING()), "CAST(a AS STRING)"),
        (A.try_cast(DataTypes.INT()), "TRY_CAST(a AS INT)"),
        (null_of(DataTypes.INT()), "CAST(NULL AS INT)"),
        (A.get("x").at(1), "(a).x[1]"),
        (A["k"], "a['k']"),
        (array(1, A), "ARRAY[1, a]"),
        (map_("k", A), "MAP['k', a]"),
        (row(1, A), "ROW(1, a)"),
        (A.sum, "SUM(a)"),
        (A.count.distinct, "COUNT(DISTINCT a)"),
        (A.list_agg("|"), "LISTAGG(a, '|')"),
        (A.sum.over(col("w")), "SUM(a) OVER w"),
        (lag(A, 2), "LAG(a, 2)"),
        (A.upper_case, "UPPER(a)"),
        (A.substring(1, 2), "SUBSTRING(a, 1, 2)"),
        (A.substring(1), "SUBSTRING(a, 1)"),
        (A.trim_leading("x"), "TRIM(LEADING 'x' FROM a)"),
        (A.trim(), "TRIM(BOTH ' ' FROM a)"),
        (A.position(B), "POSITION((a) IN b)"),
        (concat(A, "x"), "CONCAT(a, 'x')"),
        (A.log(2), "LOG(2, a)"),
        (log(A), "LN(a)"),
        (rand_integer(10), "RAND_INTEGER(10)"),
        (lit(5).days, "INTERVAL '5' DAY(2)"),
        (lit(2).weeks, "INTERVAL '14' DAY(2)"),
        (lit(1500).millis, "INTERVAL '1.500' SECOND(4, 3)"),
        (A.hours, "a * INTERVAL '1' HOUR(2)"),
        (A.extract(TimeIntervalUnit.DAY), "EXTRACT(DAY FROM a)"),
        (A.floor(TimeIntervalUnit.HOUR), "FLOOR(a TO HOUR)"),
        (A.ceil(), "CEIL(a)"),
        (timestamp_diff(TimePointUnit.DAY, A, B), "TIMESTAMPDIFF(DAY, a, b)"),
        (date_format(A, "yyyy"), "DATE_FORMAT(a, 'yyyy')"),
        (to_date("2024-01-01"), "TO_DATE('2024-01-01')"),
        (current_timestamp(), "CURRENT_TIMESTAMP"),
        (A.is_json(JsonType.ARRAY), "a IS JSON ARRAY"),
        (
            A.json_value("$.x", DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 1),
            "CAST(JSON_VALUE(a, '$.x' DEFAULT 1 ON EMPTY NULL ON ERROR) AS INT)",
        ),
        (
            A.json_query("$.x", JsonQueryWrapper.UNCONDITIONAL_ARRAY),
            "JSON_QUERY(a, '$.x' WITH UNCONDITIONAL ARRAY WRAPPER NULL ON EMPTY NULL ON ERROR)",
        ),
        (
            json_object(JsonOnNull.ABSENT, "k", A),
            "JSON_OBJECT(KEY 'k' VALUE a ABSENT ON NULL)",
        ),
        (json_array(JsonOnNull.NULL, A, 1), "JSON_ARRAY(a, 1 NULL ON NULL)"),
        (call("db.f", A, 1), "db.f(a, 1)"),
        (call_sql("a + b * 2"), "a + b * 2"),
        (A.alias("x"), "a AS x"),
        (A.desc, "a DESC"),
        (with_all_columns(), "*"),
    ],
)
def test_an_expression_is_what_sql_has_for_it(expression: Expression, text: str) -> None:
    assert repr(expression) == text


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: bool(A == 1), "write & for and"),
        (lambda: list(A), "no elements to go through"),
        (lambda: A.alias("x") + 1, "alias, which belongs at the outside"),
        (lambda: A.cast("INT"), r"cast takes a type such as DataTypes.INT\(\)"),
        (lambda: (A + 1).over(col("w")), "over belongs behind an aggregate"),
        (lambda: (A + 1).distinct, "distinct belongs behind an aggregate"),
        (lambda: A.extract("DAY"), "takes a TimeIntervalUnit"),
        (lambda: col(1), "takes the name of a column"),
        (lambda: map_("k", 1, "l"), "the last key has none"),
        (lambda: A.alias(""), "is a text"),
        (lambda: call(len, A), "made with udf"),
    ],
)
def test_mistakes_are_named(build: object, complaint: str) -> None:
    assert callable(build)
    with pytest.raises((ProgramError, TypeError), match=complaint):
        build()


def test_a_node_knows_the_line_that_made_it() -> None:
    made = A + 1
    assert "test_expressions.py:" in made.node.span.where()
