"""CREATE and DROP of everything but tables."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.node import Expression, Identifier, Name, Node, QueryNode, Statement
from scurry.sql.ast.table_definitions import Column, Option


@dataclass(frozen=True)
class PartitionValue(Node):
    """``column = value``, or a column alone."""

    column: Identifier
    value: Expression | None = None


@dataclass(frozen=True)
class CreateView(Statement):
    """``CREATE [TEMPORARY] VIEW [IF NOT EXISTS] name (columns) COMMENT '...' AS query``."""

    name: Name
    query: QueryNode
    columns: tuple[Identifier, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class Resource(Node):
    """``JAR '...'``, ``FILE '...'`` or ``ARCHIVE '...'`` of USING."""

    kind: str
    path: str


@dataclass(frozen=True)
class CreateFunction(Statement):
    """``CREATE [TEMPORARY [SYSTEM]] FUNCTION [IF NOT EXISTS] name AS 'module.f' LANGUAGE PYTHON``;
    also ``ALTER [TEMPORARY [SYSTEM]] FUNCTION [IF EXISTS]``."""

    name: Name
    identifier: str
    language: str = ""
    resources: tuple[Resource, ...] = ()
    options: tuple[Option, ...] = ()
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False
    if_exists: bool = False
    alter: bool = False


@dataclass(frozen=True)
class CreateDatabase(Statement):
    """``CREATE DATABASE [IF NOT EXISTS] name COMMENT '...' WITH (...)``."""

    name: Name
    comment: str | None = None
    options: tuple[Option, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateCatalog(Statement):
    """``CREATE CATALOG [IF NOT EXISTS] name COMMENT '...' WITH (...)``."""

    name: Name
    comment: str | None = None
    options: tuple[Option, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateModel(Statement):
    """``CREATE [TEMPORARY] MODEL name INPUT (...) OUTPUT (...) WITH (...)``."""

    name: Name
    inputs: tuple[Column, ...] = ()
    outputs: tuple[Column, ...] = ()
    comment: str | None = None
    options: tuple[Option, ...] = ()
    query: QueryNode | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """``DROP [TEMPORARY [SYSTEM]] kind [IF EXISTS] name [RESTRICT | CASCADE]``; kind is ``TABLE``,
    ``VIEW``, ``FUNCTION``, ``DATABASE``, ``CATALOG`` or ``MODEL``. ``MATERIALIZED TABLE`` is
    understood, and refused."""

    kind: str
    name: Name
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    behavior: str = ""


@dataclass(frozen=True)
class LoadModule(Statement):
    """``LOAD MODULE name WITH (...)``."""

    name: Identifier
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class UnloadModule(Statement):
    """``UNLOAD MODULE name``."""

    name: Identifier
