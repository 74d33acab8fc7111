"""What a CREATE TABLE consists of; ALTER TABLE adds, changes and drops the same things."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.data_types import TypeNode
from scurry.sql.ast.expressions import StringLiteral
from scurry.sql.ast.node import Expression, Identifier, Name, Node, QueryNode, Statement


@dataclass(frozen=True)
class Option(Node):
    """``'key' = 'value'`` of a WITH clause."""

    key: StringLiteral
    value: StringLiteral


@dataclass(frozen=True)
class Column(Node):
    """Something in the list of columns."""

    name: Identifier


@dataclass(frozen=True)
class PhysicalColumn(Column):
    """``name type [PRIMARY KEY NOT ENFORCED] [COMMENT '...']``."""

    type: TypeNode
    primary_key: PrimaryKey | None = None
    comment: str | None = None


@dataclass(frozen=True)
class MetadataColumn(Column):
    """``name type METADATA [FROM 'key'] [VIRTUAL]``."""

    type: TypeNode
    key: str | None = None
    virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class ComputedColumn(Column):
    """``name AS expression``."""

    expression: Expression
    comment: str | None = None


@dataclass(frozen=True)
class NamedColumn(Column):
    """A name alone, as CREATE TABLE AS allows to put columns into another order."""


@dataclass(frozen=True)
class Watermark(Node):
    """``WATERMARK FOR column AS expression``; the column may be a field in a column."""

    column: Name
    expression: Expression


@dataclass(frozen=True)
class PrimaryKey(Node):
    """``[CONSTRAINT name] PRIMARY KEY (a, b) NOT ENFORCED``. In the clause of a single column the
    columns are left out."""

    columns: tuple[Identifier, ...] = ()
    name: Identifier | None = None
    enforced: bool | None = None
    unique: bool = False


@dataclass(frozen=True)
class Distribution(Node):
    """``DISTRIBUTED BY HASH(a, b) INTO 4 BUCKETS``."""

    kind: str = ""
    columns: tuple[Identifier, ...] = ()
    buckets: int | None = None


@dataclass(frozen=True)
class LikeOption(Node):
    """``INCLUDING``, ``EXCLUDING`` or ``OVERWRITING`` with ``OPTIONS``, ``WATERMARKS``, ..."""

    merging: str
    feature: str


@dataclass(frozen=True)
class TableLike(Node):
    """``LIKE table (INCLUDING OPTIONS ...)``."""

    table: Name
    options: tuple[LikeOption, ...] = ()


@dataclass(frozen=True)
class CreateTable(Statement):
    """``CREATE [TEMPORARY] TABLE [IF NOT EXISTS] name (...) COMMENT '...' PARTITIONED BY (...) WITH
    (...)``, with ``LIKE t (...)`` or, for a table of a query, ``AS query``; also ``CREATE OR
    REPLACE TABLE ... AS`` and ``REPLACE TABLE ... AS``."""

    name: Name
    columns: tuple[Column, ...] = ()
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    comment: str | None = None
    distribution: Distribution | None = None
    partitioned_by: tuple[Identifier, ...] = ()
    options: tuple[Option, ...] = ()
    like: TableLike | None = None
    query: QueryNode | None = None
    temporary: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True)
class CreateMaterializedTable(Statement):
    """``CREATE MATERIALIZED TABLE name ... FRESHNESS = INTERVAL ... REFRESH_MODE = ... AS``."""

    name: Name
    query: QueryNode
    columns: tuple[Column, ...] = ()
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    comment: str | None = None
    distribution: Distribution | None = None
    partitioned_by: tuple[Identifier, ...] = ()
    options: tuple[Option, ...] = ()
    freshness: Expression | None = None
    refresh_mode: str = ""
    or_alter: bool = False
