from __future__ import annotations

import pytest

from scurry.sql.ast import expressions as ast
from scurry.sql.ast.node import Expression, Name
from scurry.sql.errors import SqlParserError
from scurry.sql.parser import parse_expression, parse_name, parse_type
from scurry.sql.unparse import unparse


def shape(node: Expression) -> str:
    """The tree with all its parentheses."""
    if isinstance(node, ast.Binary):
        return f"({shape(node.left)} {node.operator} {shape(node.right)})"
    if isinstance(node, ast.Logical):
        return f"({f' {node.operator} '.join(map(shape, node.operands))})"
    if isinstance(node, ast.Unary):
        return f"({node.operator} {shape(node.operand)})"
    if isinstance(node, ast.Is):
        return f"({shape(node.operand)} IS {node.what})"
    if isinstance(node, ast.Between):
        return f"({shape(node.operand)} BETWEEN {shape(node.low)} AND {shape(node.high)})"
    if isinstance(node, ast.InList):
        return f"({shape(node.operand)} IN)"
    if isinstance(node, ast.Like):
        return f"({shape(node.operand)} LIKE {shape(node.pattern)})"
    if isinstance(node, ast.Item):
        return f"{shape(node.operand)}[{shape(node.index)}]"
    return unparse(node)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a || b * c", "((a || b) * c)"),
        ("a + b || c", "(a + (b || c))"),
        ("-a * b", "((- a) * b)"),
        ("-a[1]", "(- a[1])"),
        ("- -1", "(- (- 1))"),
        ("a = b + 1 AND c OR d", "(((a = (b + 1)) AND c) OR d)"),
        ("a AND b AND c", "(a AND b AND c)"),
        ("a AND (b AND c)", "(a AND (b AND c))"),
        ("NOT a = b AND c", "((NOT (a = b)) AND c)"),
        ("NOT NOT a", "(NOT (NOT a))"),
        ("a = b IS NULL", "((a = b) IS NULL)"),
        ("a IS NULL = b", "((a IS NULL) = b)"),
        ("a BETWEEN 1 AND 2 AND b", "((a BETWEEN 1 AND 2) AND b)"),
        ("a BETWEEN 1 + 1 AND b * 2 OR c", "((a BETWEEN (1 + 1) AND (b * 2)) OR c)"),
        ("a = b IN (c)", "(a = (b IN))"),
        ("a LIKE b || c", "(a LIKE (b || c))"),
        ("a < b = c", "((a < b) = c)"),
        ("a = NOT b", "(a = (NOT b))"),
    ],
)
def test_operators_bind_as_in_flink(text: str, expected: str) -> None:
    assert shape(parse_expression(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a + b) * c", "(a + b) * c"),
        ("a + (b + c)", "a + (b + c)"),
        ("(a AND b) AND c", "(a AND b) AND c"),
        ("((a))", "a"),
        ("(r).f", "(r).f"),
        ("trim(x)", "TRIM(BOTH FROM x)"),
        ("substring(a from 2 for 3)", "SUBSTRING(a, 2, 3)"),
        ("position('x' in y)", "POSITION(('x') IN y)"),
        ("timestampadd(sql_tsi_day, 1, d)", "TIMESTAMPADD(DAY, 1, d)"),
        ("interval '5' minutes", "INTERVAL '5' MINUTE"),
        ("current_date", "CURRENT_DATE"),
        ("count(distinct a)", "count(DISTINCT a)"),
        ("`Order`.`select`", "`Order`.`select`"),
        ("'it''s'", "'it''s'"),
        ("u&'caf\\00e9'", "'café'"),
        ("x'0aff'", "X'0AFF'"),
        ("(1, 2)", "ROW(1, 2)"),
    ],
)
def test_expressions_are_written_with_the_parentheses_they_need(text: str, expected: str) -> None:
    assert unparse(parse_expression(text)) == expected


def test_names_keep_their_case_and_lose_their_backticks() -> None:
    assert parse_name("`my catalog`.Db.t").names == ("my catalog", "Db", "t")
    assert parse_expression("aBc") != parse_expression("abc")


def test_a_path_may_have_reserved_words() -> None:
    assert parse_name("order.`select`.One").names == ("order", "select", "One")
    with pytest.raises(SqlParserError, match="found the reserved word order"):
        parse_expression("order")
    with pytest.raises(SqlParserError, match="b cannot stand here"):
        parse_name("a b")


def test_a_path_of_names_is_one_node_and_a_field_of_a_call_is_another() -> None:
    assert isinstance(parse_expression("a.b.c"), Name)
    assert isinstance(parse_expression("f(x).b"), ast.FieldAccess)


def test_a_span_is_the_text_of_its_node() -> None:
    node = parse_expression("f(a + 1, (b) * 2) > 3")
    assert isinstance(node, ast.Binary)
    call = node.left
    assert isinstance(call, ast.FunctionCall)
    assert call.span.text == "f(a + 1, (b) * 2)"
    assert [argument.span.text for argument in call.arguments] == ["a + 1", "(b) * 2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", "INT"),
        ("character varying(3) not null", "VARCHAR(3) NOT NULL"),
        ("double precision", "DOUBLE"),
        ("timestamp(3) with local time zone", "TIMESTAMP_LTZ(3)"),
        ("timestamp without time zone", "TIMESTAMP"),
        ("int not null array", "ARRAY<INT NOT NULL>"),
        ("row(a int, b array<array<string>>)", "ROW<a INT, b ARRAY<ARRAY<STRING>>>"),
        ("row<>", "ROW<>"),
        ("map<string, row<x int null>>", "MAP<STRING, ROW<x INT NULL>>"),
        ("interval day(3) to second(6)", "INTERVAL DAY(3) TO SECOND(6)"),
        ("raw('a.B', 'xyz')", "RAW('a.B', 'xyz')"),
        ("my.type", "my.type"),
        ("row<`select` int 'a comment'>", "ROW<`select` INT 'a comment'>"),
    ],
)
def test_data_types(text: str, expected: str) -> None:
    assert unparse(parse_type(text)) == expected
    assert parse_type(expected) == parse_type(text)
