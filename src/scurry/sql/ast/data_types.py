"""Data types as they are written. What they mean is bound later: a name may be a user's type."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.node import Identifier, Name, Node


@dataclass(frozen=True)
class TypeNode(Node):
    """A data type. ``nullable`` is None where neither NULL nor NOT NULL was written."""

    nullable: bool | None = None


@dataclass(frozen=True, kw_only=True)
class NamedType(TypeNode):
    """A type that is one name with numbers: ``INT``, ``DECIMAL(10, 2)``, ``TIMESTAMP_LTZ(3)``.

    A name of several words is written with single spaces: ``DOUBLE PRECISION``. For times the zone
    is part of it: ``TIMESTAMP WITH LOCAL TIME ZONE`` with the precision as parameter.
    """

    name: str
    parameters: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class IntervalType(TypeNode):
    """``INTERVAL DAY(3) TO SECOND(6)``."""

    qualifier: IntervalQualifier


@dataclass(frozen=True, kw_only=True)
class CollectionType(TypeNode):
    """``ARRAY<INT>`` (also written ``INT ARRAY``) or ``MULTISET<INT>``."""

    kind: str
    element: TypeNode


@dataclass(frozen=True, kw_only=True)
class MapTypeNode(TypeNode):
    """``MAP<STRING, INT>``."""

    key: TypeNode
    value: TypeNode


@dataclass(frozen=True, kw_only=True)
class RowTypeNode(TypeNode):
    """``ROW<a INT, b STRING 'a comment'>``, also written with parentheses."""

    fields: tuple[FieldNode, ...]


@dataclass(frozen=True, kw_only=True)
class RawTypeNode(TypeNode):
    """``RAW('class', 'snapshot')``."""

    class_name: str
    snapshot: str


@dataclass(frozen=True, kw_only=True)
class UserType(TypeNode):
    """A type known to a catalog by its name."""

    name: Name


@dataclass(frozen=True)
class FieldNode(Node):
    """A field of a row type."""

    name: Identifier
    type: TypeNode
    comment: str | None = None


@dataclass(frozen=True)
class IntervalQualifier(Node):
    """The units of an interval: ``DAY(3) TO SECOND(6)``; ``end`` is None for a single unit."""

    start: str
    precision: int | None = None
    end: str | None = None
    fraction: int | None = None
