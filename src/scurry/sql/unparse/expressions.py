"""Expressions, with parentheses where precedence asks for them."""

from __future__ import annotations

from scurry.sql import operators
from scurry.sql.ast import expressions as ast
from scurry.sql.ast.node import Expression, Name, Node
from scurry.sql.unparse import calls as calls
from scurry.sql.unparse import data_types as data_types
from scurry.sql.unparse.writer import commas, string, unparse, when, words, writes

_ABOVE_BETWEEN = operators.BETWEEN + 1
_PREDICATES = (ast.Between, ast.Like, ast.InList, ast.InQuery)


def binding(node: Node) -> int:
    """How tightly a node's outermost operator binds."""
    if isinstance(node, ast.Logical):
        return operators.AND if node.operator == "AND" else operators.OR
    if isinstance(node, ast.Unary):
        return operators.NOT if node.operator == "NOT" else operators.SIGN
    if isinstance(node, ast.Binary):
        return operators.BINARY[node.operator]
    if isinstance(node, _PREDICATES):
        return operators.BETWEEN
    if isinstance(node, ast.Is):
        return operators.IS
    return operators.COMPARISON if isinstance(node, ast.Quantified) else operators.ACCESS


def operand(node: Node, least: int) -> str:
    """The text of an operand, in parentheses if it binds less tightly than asked for."""
    text = unparse(node)
    return text if binding(node) >= least else f"({text})"


# --- constants ----------------------------------------------------------------------------------


@writes(ast.NullLiteral)
def _null(node: ast.NullLiteral) -> str:
    return "NULL"


@writes(ast.BooleanLiteral)
def _boolean(node: ast.BooleanLiteral) -> str:
    return {True: "TRUE", False: "FALSE", None: "UNKNOWN"}[node.value]


@writes(ast.NumberLiteral)
def _number(node: ast.NumberLiteral) -> str:
    return node.text


@writes(ast.StringLiteral)
def _string(node: ast.StringLiteral) -> str:
    return string(node.value)


@writes(ast.BinaryLiteral)
def _binary_literal(node: ast.BinaryLiteral) -> str:
    return f"X'{node.value.hex().upper()}'"


@writes(ast.TemporalLiteral)
def _temporal(node: ast.TemporalLiteral) -> str:
    return f"{node.kind} {string(node.text)}"


@writes(ast.IntervalLiteral)
def _interval(node: ast.IntervalLiteral) -> str:
    sign = when(node.negative, "-")
    return f"INTERVAL {sign}{string(node.text)} {unparse(node.qualifier)}"


@writes(ast.IntervalOf)
def _interval_of(node: ast.IntervalOf) -> str:
    plain = isinstance(node.count, ast.NumberLiteral | Name)
    count = unparse(node.count) if plain else f"({unparse(node.count)})"
    return f"INTERVAL {count} {unparse(node.qualifier)}"


@writes(ast.Constant)
def _constant(node: ast.Constant) -> str:
    return string(node.value) if isinstance(node.value, str) else repr(node.value)


@writes(ast.Star)
def _star(node: ast.Star) -> str:
    return "*" if node.qualifier is None else f"{unparse(node.qualifier)}.*"


@writes(ast.Word)
def _word(node: ast.Word) -> str:
    return node.name


# --- operators ----------------------------------------------------------------------------------


@writes(ast.Unary)
def _unary(node: ast.Unary) -> str:
    if node.operator == "NOT":
        return f"NOT {operand(node.operand, operators.NOT)}"
    text = operand(node.operand, operators.SIGN)
    return f"{node.operator}{when(text[0] in '+-', ' ')}{text}"


@writes(ast.Binary)
def _binary(node: ast.Binary) -> str:
    tight = operators.BINARY[node.operator]
    return f"{operand(node.left, tight)} {node.operator} {operand(node.right, tight + 1)}"


@writes(ast.Logical)
def _logical(node: ast.Logical) -> str:
    tight = binding(node) + 1
    return f" {node.operator} ".join([operand(one, tight) for one in node.operands])


@writes(ast.Is)
def _is(node: ast.Is) -> str:
    return words(operand(node.operand, operators.IS), "IS", when(node.negated, "NOT"), node.what)


@writes(ast.Between)
def _between(node: ast.Between) -> str:
    return words(
        operand(node.operand, operators.BETWEEN),
        when(node.negated, "NOT"),
        "BETWEEN",
        when(node.symmetric, "SYMMETRIC"),
        operand(node.low, _ABOVE_BETWEEN),
        "AND",
        operand(node.high, _ABOVE_BETWEEN),
    )


@writes(ast.Like)
def _like(node: ast.Like) -> str:
    escape = "" if node.escape is None else f"ESCAPE {operand(node.escape, _ABOVE_BETWEEN)}"
    return words(
        operand(node.operand, operators.BETWEEN),
        when(node.negated, "NOT"),
        node.operator,
        operand(node.pattern, _ABOVE_BETWEEN),
        escape,
    )


@writes(ast.InList)
def _in_list(node: ast.InList) -> str:
    return _in(node.operand, node.negated, commas(node.items))


@writes(ast.InQuery)
def _in_query(node: ast.InQuery) -> str:
    return _in(node.operand, node.negated, unparse(node.query))


def _in(left: Expression, negated: bool, what: str) -> str:
    return words(operand(left, operators.BETWEEN), when(negated, "NOT"), f"IN ({what})")


@writes(ast.Exists)
def _exists(node: ast.Exists) -> str:
    return f"EXISTS ({unparse(node.query)})"


@writes(ast.Quantified)
def _quantified(node: ast.Quantified) -> str:
    left = operand(node.operand, operators.COMPARISON)
    return f"{left} {node.operator} {node.quantifier} ({unparse(node.query)})"


@writes(ast.ScalarQuery)
def _scalar_query(node: ast.ScalarQuery) -> str:
    return f"({unparse(node.query)})"


@writes(ast.When)
def _when(node: ast.When) -> str:
    return f"WHEN {commas(node.conditions)} THEN {unparse(node.result)}"


@writes(ast.Case)
def _case(node: ast.Case) -> str:
    subject = "" if node.operand is None else unparse(node.operand)
    default = "" if node.default is None else f"ELSE {unparse(node.default)}"
    return words("CASE", subject, *map(unparse, node.whens), default, "END")


@writes(ast.Cast)
def _cast(node: ast.Cast) -> str:
    kind = unparse(node.type) if isinstance(node.type, Node) else str(node.type)
    return f"{'TRY_CAST' if node.safe else 'CAST'}({unparse(node.operand)} AS {kind})"


# --- constructors and parts ---------------------------------------------------------------------


@writes(ast.RowConstructor)
def _row(node: ast.RowConstructor) -> str:
    return f"ROW({commas(node.items)})"


@writes(ast.ArrayConstructor)
def _array(node: ast.ArrayConstructor) -> str:
    return f"{node.kind}[{commas(node.items)}]"


@writes(ast.MapConstructor)
def _map(node: ast.MapConstructor) -> str:
    return f"MAP[{commas(node.items)}]"


@writes(ast.QueryConstructor)
def _query_constructor(node: ast.QueryConstructor) -> str:
    return f"{node.kind}({unparse(node.query)})"


@writes(ast.Item)
def _item(node: ast.Item) -> str:
    return f"{operand(node.operand, operators.ACCESS)}[{unparse(node.index)}]"


@writes(ast.FieldAccess)
def _field(node: ast.FieldAccess) -> str:
    if node.position is not None:
        return f"{operand(node.operand, operators.ACCESS)}[{node.position + 1}]"
    text = operand(node.operand, operators.ACCESS)
    if isinstance(node.operand, Name | ast.NumberLiteral):
        text = f"({text})"
    return f"{text}.{unparse(node.field)}"


# --- windows ------------------------------------------------------------------------------------


@writes(ast.OrderItem)
def _order_item(node: ast.OrderItem) -> str:
    nulls = when(node.nulls, f"NULLS {node.nulls}")
    return words(unparse(node.expression), when(node.descending, "DESC"), nulls)


@writes(ast.FrameBound)
def _bound(node: ast.FrameBound) -> str:
    if node.kind == "CURRENT ROW":
        return node.kind
    offset = "UNBOUNDED" if node.offset is None else operand(node.offset, _ABOVE_BETWEEN)
    return f"{offset} {node.kind}"


@writes(ast.Frame)
def _frame(node: ast.Frame) -> str:
    if node.end is None:
        return f"{node.unit} {unparse(node.start)}"
    return f"{node.unit} BETWEEN {unparse(node.start)} AND {unparse(node.end)}"


@writes(ast.WindowSpecification)
def _window(node: ast.WindowSpecification) -> str:
    base = "" if node.base is None else unparse(node.base)
    partition = when(node.partition_by, f"PARTITION BY {commas(node.partition_by)}")
    order = when(node.order_by, f"ORDER BY {commas(node.order_by)}")
    frame = "" if node.frame is None else unparse(node.frame)
    return f"({words(base, partition, order, frame)})"
