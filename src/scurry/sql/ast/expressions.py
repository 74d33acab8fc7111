"""Expressions as they are written, before names are looked up and types are known.

A function with a syntax of its own is an ordinary :class:`FunctionCall` where its arguments can be
put into an order: ``EXTRACT(DAY FROM x)`` is ``EXTRACT`` of the word DAY and ``x``. Only the JSON
functions, whose clauses are optional in several ways, have nodes of their own
(:mod:`scurry.sql.ast.json_functions`).
"""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.data_types import IntervalQualifier, TypeNode
from scurry.sql.ast.node import Expression, Identifier, Name, Node, QueryNode


@dataclass(frozen=True)
class NullLiteral(Expression):
    """``NULL``."""


@dataclass(frozen=True)
class BooleanLiteral(Expression):
    """``TRUE``, ``FALSE``, or ``UNKNOWN``, which is None."""

    value: bool | None


@dataclass(frozen=True)
class NumberLiteral(Expression):
    """A number without sign, as it was written: its type depends on how it was written."""

    text: str


@dataclass(frozen=True)
class StringLiteral(Expression):
    """``'it''s'``, with its value."""

    value: str


@dataclass(frozen=True)
class BinaryLiteral(Expression):
    """``X'CAFE'``."""

    value: bytes


@dataclass(frozen=True)
class TemporalLiteral(Expression):
    """``DATE '2024-01-31'``, ``TIME '...'``, ``TIMESTAMP '...'``; kind is the word before it."""

    kind: str
    text: str


@dataclass(frozen=True)
class IntervalLiteral(Expression):
    """``INTERVAL '1 12' DAY TO HOUR``; negative with a minus sign before the text."""

    text: str
    qualifier: IntervalQualifier
    negative: bool = False


@dataclass(frozen=True)
class IntervalOf(Expression):
    """``INTERVAL 10 DAY``, ``INTERVAL (a + 1) DAY``: an interval of so many units."""

    count: Expression
    qualifier: IntervalQualifier


@dataclass(frozen=True)
class Constant(Expression):
    """A value that a Python program put into an expression, with its data type or None."""

    value: object
    type: object = None


@dataclass(frozen=True)
class Star(Expression):
    """``*`` or ``t.*``."""

    qualifier: Name | None = None


@dataclass(frozen=True)
class Unary(Expression):
    """``-``, ``+`` or ``NOT`` before an operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """Two operands with an operator between them, which may be words: ``IS DISTINCT FROM``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logical(Expression):
    """Operands with ``AND`` or ``OR`` between them: two or more of them, so that a condition of a
    thousand parts is no deep tree."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Is(Expression):
    """``x IS [NOT] NULL``, ``TRUE``, ``FALSE``, ``UNKNOWN``, ``JSON OBJECT``, ..."""

    operand: Expression
    what: str
    negated: bool = False


@dataclass(frozen=True)
class Between(Expression):
    """``x [NOT] BETWEEN [SYMMETRIC] low AND high``."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False
    symmetric: bool = False


@dataclass(frozen=True)
class Like(Expression):
    """``x [NOT] LIKE pattern [ESCAPE c]``; operator is ``LIKE``, ``SIMILAR TO``,
    ``ILIKE`` or ``RLIKE``."""

    operator: str
    operand: Expression
    pattern: Expression
    escape: Expression | None = None
    negated: bool = False


@dataclass(frozen=True)
class InList(Expression):
    """``x [NOT] IN (a, b)``."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class InQuery(Expression):
    """``x [NOT] IN (SELECT ...)``; x may be a row."""

    operand: Expression
    query: QueryNode
    negated: bool = False


@dataclass(frozen=True)
class Exists(Expression):
    """``EXISTS (SELECT ...)``."""

    query: QueryNode


@dataclass(frozen=True)
class Quantified(Expression):
    """``x > ALL (SELECT ...)``; the quantifier is ``ALL``, ``ANY`` or ``SOME``."""

    operand: Expression
    operator: str
    quantifier: str
    query: QueryNode


@dataclass(frozen=True)
class ScalarQuery(Expression):
    """A query in parentheses whose one value is meant."""

    query: QueryNode


@dataclass(frozen=True)
class When(Node):
    """``WHEN condition THEN result``; several conditions where CASE has an operand."""

    conditions: tuple[Expression, ...]
    result: Expression


@dataclass(frozen=True)
class Case(Expression):
    """``CASE [operand] WHEN ... [ELSE default] END``."""

    operand: Expression | None
    whens: tuple[When, ...]
    default: Expression | None


@dataclass(frozen=True)
class Cast(Expression):
    """``CAST(x AS type)``; ``TRY_CAST`` is safe, it gives NULL for what cannot be cast. The Table
    API may put a data type object in place of a written type."""

    operand: Expression
    type: TypeNode | object
    safe: bool = False


@dataclass(frozen=True)
class RowConstructor(Expression):
    """``ROW(a, b)`` or ``(a, b)``; the Table API gives the fields names."""

    items: tuple[Expression, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArrayConstructor(Expression):
    """``ARRAY[a, b]`` or ``MULTISET[a, b]``; kind is the word before the brackets."""

    kind: str
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class MapConstructor(Expression):
    """``MAP[k, v, k, v]``."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class QueryConstructor(Expression):
    """``ARRAY(SELECT ...)``, ``MULTISET(SELECT ...)`` or ``MAP(SELECT ...)``."""

    kind: str
    query: QueryNode


@dataclass(frozen=True)
class Item(Expression):
    """``a[1]``, ``m['key']``."""

    operand: Expression
    index: Expression


@dataclass(frozen=True)
class FieldAccess(Expression):
    """A field of a value that is no plain name: ``f(x).a``, ``rows[1].a``, ``(r).a``.

    The Table API may give the position of the field, from 0 on; its name is then that of the column
    that becomes of it.
    """

    operand: Expression
    field: Identifier
    position: int | None = None


@dataclass(frozen=True)
class Word(Expression):
    """A word of a function's own syntax: a unit of time such as ``DAY``, ``BOTH`` of TRIM."""

    name: str


@dataclass(frozen=True)
class NamedArgument(Expression):
    """``name => value``."""

    name: Identifier
    value: Expression


@dataclass(frozen=True)
class Default(Expression):
    """``DEFAULT`` in place of a value."""


@dataclass(frozen=True)
class Descriptor(Expression):
    """``DESCRIPTOR(a, b)``: columns as such, not their values. A type may follow each name."""

    columns: tuple[Identifier, ...]
    types: tuple[TypeNode, ...] = ()


@dataclass(frozen=True)
class TableArgument(Expression):
    """``TABLE t PARTITION BY a ORDER BY b``, a table as argument of a table function."""

    query: QueryNode
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()


@dataclass(frozen=True)
class ModelArgument(Expression):
    """``MODEL m``, a model as argument of a table function."""

    name: Name


@dataclass(frozen=True)
class OrderItem(Node):
    """``x DESC NULLS LAST``; ``nulls`` is ``FIRST``, ``LAST`` or None for the default."""

    expression: Expression
    descending: bool = False
    nulls: str | None = None


@dataclass(frozen=True)
class FrameBound(Node):
    """One end of a frame: kind is ``PRECEDING``, ``FOLLOWING`` or ``CURRENT ROW``; without an
    offset it is unbounded."""

    kind: str
    offset: Expression | None = None


@dataclass(frozen=True)
class Frame(Node):
    """``ROWS`` or ``RANGE`` between two bounds; ``end`` is None where only the start is written."""

    unit: str
    start: FrameBound
    end: FrameBound | None = None


@dataclass(frozen=True)
class WindowSpecification(Node):
    """What stands in the parentheses of OVER or after WINDOW name AS."""

    base: Identifier | None = None
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    frame: Frame | None = None


@dataclass(frozen=True)
class FunctionCall(Expression):
    """A call of a function or an aggregate.

    ``quantifier`` is ``DISTINCT``, ``ALL`` or nothing; ``order_by`` stands among the arguments,
    ``within_group`` after them; ``nulls`` is ``IGNORE``, ``RESPECT`` or nothing; ``semantics``
    (``RUNNING`` or ``FINAL``) only occurs in MATCH_RECOGNIZE. The Table API may call a function
    object, ``function``; the name is then for messages only.
    """

    name: Name
    arguments: tuple[Expression, ...] = ()
    quantifier: str = ""
    order_by: tuple[OrderItem, ...] = ()
    within_group: tuple[OrderItem, ...] = ()
    nulls: str = ""
    filter: Expression | None = None
    over: Identifier | WindowSpecification | None = None
    semantics: str = ""
    function: object = None
