"""ALTER of tables and of everything else that has a name."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.expressions import StringLiteral
from scurry.sql.ast.node import Identifier, Name, Node, QueryNode, Statement
from scurry.sql.ast.objects import PartitionValue
from scurry.sql.ast.table_definitions import (
    Column,
    Distribution,
    Option,
    PrimaryKey,
    Watermark,
)


@dataclass(frozen=True)
class ColumnPosition(Node):
    """A column with where it goes: ``FIRST``, or ``AFTER`` another one, or nowhere special."""

    column: Column
    first: bool = False
    after: Identifier | None = None


@dataclass(frozen=True)
class Alteration(Node):
    """One change."""


@dataclass(frozen=True)
class RenameTo(Alteration):
    """``RENAME TO name``."""

    name: Name


@dataclass(frozen=True)
class RenameColumn(Alteration):
    """``RENAME a TO b``."""

    old: Name
    new: Identifier


@dataclass(frozen=True)
class SetOptions(Alteration):
    """``SET ('k' = 'v')``."""

    options: tuple[Option, ...]


@dataclass(frozen=True)
class ResetOptions(Alteration):
    """``RESET ('k')``."""

    keys: tuple[StringLiteral, ...]


@dataclass(frozen=True)
class SetComment(Alteration):
    """``COMMENT '...'``."""

    comment: str


@dataclass(frozen=True)
class ChangeSchema(Alteration):
    """``ADD (...)`` or ``MODIFY (...)``: columns, a watermark, a primary key."""

    verb: str
    columns: tuple[ColumnPosition, ...] = ()
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    distribution: Distribution | None = None


@dataclass(frozen=True)
class DropColumns(Alteration):
    """``DROP a`` or ``DROP (a, b)``."""

    columns: tuple[Name, ...]


@dataclass(frozen=True)
class DropFeature(Alteration):
    """``DROP PRIMARY KEY``, ``DROP WATERMARK``, ``DROP CONSTRAINT c``."""

    feature: str
    name: Identifier | None = None


@dataclass(frozen=True)
class AddPartitions(Alteration):
    """``ADD [IF NOT EXISTS] PARTITION (...) WITH (...)``; as many options as partitions."""

    partitions: tuple[PartitionSpec, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class PartitionSpec(Node):
    """A partition with its options."""

    values: tuple[PartitionValue, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class DropPartitions(Alteration):
    """``DROP [IF EXISTS] PARTITION (...), PARTITION (...)``."""

    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RefreshTable(Alteration):
    """``SUSPEND``, ``RESUME [WITH (...)]`` or ``REFRESH [PARTITION (...)]`` of a materialized
    table."""

    verb: str
    partition: tuple[PartitionValue, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class SetQuery(Alteration):
    """``AS query``."""

    query: QueryNode


@dataclass(frozen=True)
class Alter(Statement):
    """``ALTER kind [IF EXISTS] name change``; kind is ``TABLE``, ``VIEW``, ``DATABASE``,
    ``CATALOG`` or ``MODEL``. ``MATERIALIZED TABLE`` is understood, and refused."""

    kind: str
    name: Name
    change: Alteration
    if_exists: bool = False
