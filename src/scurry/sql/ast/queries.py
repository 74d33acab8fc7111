"""Queries as they are written."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.expressions import FunctionCall, OrderItem, WindowSpecification
from scurry.sql.ast.node import Expression, Identifier, Name, Node, QueryNode


@dataclass(frozen=True)
class Query(QueryNode):
    """A whole query: common tables, a body, and what orders and limits its rows.

    The body is a :class:`Select`, :class:`Values`, :class:`SetOperation`, :class:`ExplicitTable`,
    or a query in parentheses.
    """

    body: QueryNode
    common_tables: tuple[CommonTable, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    offset: Expression | None = None
    limit: Expression | None = None
    recursive: bool = False


@dataclass(frozen=True)
class CommonTable(Node):
    """``name (columns) AS (query)`` of WITH."""

    name: Identifier
    query: Query
    columns: tuple[Identifier, ...] = ()


@dataclass(frozen=True)
class Select(QueryNode):
    """One SELECT; ``quantifier`` is ``DISTINCT``, ``ALL`` or nothing."""

    items: tuple[SelectItem, ...]
    source: Relation | None = None
    where: Expression | None = None
    group_by: GroupBy | None = None
    having: Expression | None = None
    windows: tuple[NamedWindow, ...] = ()
    qualify: Expression | None = None
    quantifier: str = ""
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class SelectItem(Node):
    """An expression of the select list, which may be a star, with its name."""

    expression: Expression
    alias: Identifier | None = None


@dataclass(frozen=True)
class Values(QueryNode):
    """``VALUES (1, 'a'), (2, 'b')``: each row is a row constructor or a single value."""

    rows: tuple[Expression, ...]


@dataclass(frozen=True)
class ExplicitTable(QueryNode):
    """``TABLE t``."""

    name: Name


@dataclass(frozen=True)
class SetOperation(QueryNode):
    """Two or more bodies with the same ``UNION``, ``INTERSECT`` or ``EXCEPT`` between them."""

    operator: str
    all: bool
    inputs: tuple[QueryNode, ...]


@dataclass(frozen=True)
class Hint(Node):
    """``OPTIONS('k' = 'v')``, ``BROADCAST(t1, t2)``, ``NAME``; keys are given for pairs only."""

    name: Identifier
    values: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class NamedWindow(Node):
    """``name AS (PARTITION BY ...)`` of the WINDOW clause."""

    name: Identifier
    specification: WindowSpecification


@dataclass(frozen=True)
class GroupBy(Node):
    """The GROUP BY clause: expressions and grouping elements."""

    items: tuple[Expression | GroupingElement, ...]
    quantifier: str = ""


@dataclass(frozen=True)
class GroupingElement(Node):
    """``ROLLUP(...)``, ``CUBE(...)``, ``GROUPING SETS (...)``; with the kind ``SET`` several
    expressions in parentheses, none of them for the grand total."""

    kind: str
    items: tuple[Expression | GroupingElement, ...]


@dataclass(frozen=True)
class Relation(Node):
    """Something that can stand after FROM."""


@dataclass(frozen=True)
class TableRef(Relation):
    """A table or view by name, with hints; ``system_time`` for ``FOR SYSTEM_TIME AS OF``."""

    name: Name
    hints: tuple[Hint, ...] = ()
    system_time: Expression | None = None


@dataclass(frozen=True)
class DerivedTable(Relation):
    """A query in parentheses. A lateral one may refer to what stands before it."""

    query: QueryNode
    lateral: bool = False


@dataclass(frozen=True)
class TableFunctionRef(Relation):
    """``LATERAL TABLE(f(x))``, ``TABLE(TUMBLE(...))`` or plain ``TUMBLE(...)``."""

    call: FunctionCall
    lateral: bool = False


@dataclass(frozen=True)
class Unnest(Relation):
    """``UNNEST(array) [WITH ORDINALITY]``."""

    operands: tuple[Expression, ...]
    ordinality: bool = False


@dataclass(frozen=True)
class Aliased(Relation):
    """A relation with another name, and other names for its columns, if given."""

    relation: Relation
    alias: Identifier
    columns: tuple[Identifier, ...] = ()


@dataclass(frozen=True)
class Sampled(Relation):
    """``TABLESAMPLE BERNOULLI(10) REPEATABLE(1)``."""

    relation: Relation
    method: str
    percentage: Expression
    seed: Expression | None = None


@dataclass(frozen=True)
class Join(Relation):
    """Two relations; kind is ``INNER``, ``LEFT``, ``RIGHT``, ``FULL``, ``CROSS`` or ``COMMA``."""

    kind: str
    left: Relation
    right: Relation
    condition: Expression | None = None
    using: tuple[Identifier, ...] = ()
    natural: bool = False
