"""The JSON functions of the standard, whose clauses say what an empty or a wrong result becomes."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.data_types import TypeNode
from scurry.sql.ast.node import Expression, Node


@dataclass(frozen=True)
class JsonBehavior(Node):
    """``NULL``, ``ERROR``, ``EMPTY ARRAY``, ``EMPTY OBJECT``, ``TRUE``, ..., or ``DEFAULT``
    with a value."""

    kind: str
    default: Expression | None = None


@dataclass(frozen=True)
class JsonExists(Expression):
    """``JSON_EXISTS(json, path [TRUE ON ERROR])``."""

    json: Expression
    path: Expression
    on_error: JsonBehavior | None = None


@dataclass(frozen=True)
class JsonValue(Expression):
    """``JSON_VALUE(json, path [RETURNING type] [... ON EMPTY] [... ON ERROR])``."""

    json: Expression
    path: Expression
    returning: TypeNode | None = None
    on_empty: JsonBehavior | None = None
    on_error: JsonBehavior | None = None


@dataclass(frozen=True)
class JsonQuery(Expression):
    """``JSON_QUERY(json, path [RETURNING type] [wrapper] [... ON EMPTY] [... ON ERROR])``;
    the wrapper is ``WITHOUT``, ``CONDITIONAL``, ``UNCONDITIONAL`` or nothing."""

    json: Expression
    path: Expression
    returning: TypeNode | None = None
    wrapper: str = ""
    on_empty: JsonBehavior | None = None
    on_error: JsonBehavior | None = None


@dataclass(frozen=True)
class JsonEntry(Node):
    """``KEY name VALUE value`` of an object."""

    key: Expression
    value: Expression


@dataclass(frozen=True)
class JsonObject(Expression):
    """``JSON_OBJECT(KEY k VALUE v, ... [NULL ON NULL])``; ``on_null`` is NULL, ABSENT or
    nothing."""

    entries: tuple[JsonEntry, ...] = ()
    on_null: str = ""


@dataclass(frozen=True)
class JsonArray(Expression):
    """``JSON_ARRAY(a, b [ABSENT ON NULL])``."""

    items: tuple[Expression, ...] = ()
    on_null: str = ""


@dataclass(frozen=True)
class JsonObjectAggregate(Expression):
    """``JSON_OBJECTAGG(KEY k VALUE v [NULL ON NULL])``."""

    entry: JsonEntry
    on_null: str = ""
    filter: Expression | None = None


@dataclass(frozen=True)
class JsonArrayAggregate(Expression):
    """``JSON_ARRAYAGG(x [ABSENT ON NULL])``."""

    item: Expression
    on_null: str = ""
    filter: Expression | None = None
