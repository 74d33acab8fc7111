"""Statements that change data, show things, or steer the session."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.expressions import FunctionCall, StringLiteral
from scurry.sql.ast.node import Expression, Identifier, Name, Node, QueryNode, Statement
from scurry.sql.ast.objects import PartitionValue
from scurry.sql.ast.queries import Hint


@dataclass(frozen=True)
class QueryStatement(Statement):
    """A query that is executed as it stands."""

    query: QueryNode


@dataclass(frozen=True)
class Insert(Statement):
    """``INSERT INTO t /*+ hints */ PARTITION (p = 'x') (columns) query``. ``INSERT OVERWRITE`` is
    understood, and refused."""

    table: Name
    query: QueryNode
    columns: tuple[Name, ...] = ()
    partition: tuple[PartitionValue, ...] = ()
    hints: tuple[Hint, ...] = ()
    overwrite: bool = False


@dataclass(frozen=True)
class StatementSet(Statement):
    """``EXECUTE STATEMENT SET BEGIN insert; insert; END``, also ``BEGIN STATEMENT SET; ... END``:
    one job for all of them."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class BeginStatementSet(Statement):
    """``BEGIN STATEMENT SET`` alone: in a session, inserts up to END belong to it."""


@dataclass(frozen=True)
class EndStatementSet(Statement):
    """``END`` alone."""


@dataclass(frozen=True)
class Execute(Statement):
    """``EXECUTE statement``."""

    statement: Statement


@dataclass(frozen=True)
class CompilePlan(Statement):
    """``COMPILE PLAN 'path' [IF NOT EXISTS] FOR statement``, or ``COMPILE AND EXECUTE PLAN``, which
    also starts it."""

    path: str
    statement: Statement
    if_not_exists: bool = False
    execute: bool = False


@dataclass(frozen=True)
class ExecutePlan(Statement):
    """``EXECUTE PLAN 'path'``."""

    path: str


@dataclass(frozen=True)
class Delete(Statement):
    """``DELETE FROM t WHERE ...``."""

    table: Name
    where: Expression | None = None
    alias: Identifier | None = None


@dataclass(frozen=True)
class Assignment(Node):
    """``column = value`` of UPDATE."""

    column: Name
    value: Expression


@dataclass(frozen=True)
class Update(Statement):
    """``UPDATE t SET a = 1 WHERE ...``."""

    table: Name
    assignments: tuple[Assignment, ...]
    where: Expression | None = None
    alias: Identifier | None = None


@dataclass(frozen=True)
class Truncate(Statement):
    """``TRUNCATE TABLE t``."""

    table: Name


@dataclass(frozen=True)
class AnalyzeTable(Statement):
    """``ANALYZE TABLE t PARTITION (...) COMPUTE STATISTICS FOR COLUMNS a, b``."""

    table: Name
    partition: tuple[PartitionValue, ...] = ()
    columns: tuple[Identifier, ...] = ()
    all_columns: bool = False


@dataclass(frozen=True)
class Call(Statement):
    """``CALL procedure(arguments)``."""

    call: FunctionCall


@dataclass(frozen=True)
class LikeFilter(Node):
    """``[NOT] LIKE 'pattern'`` of SHOW; operator is ``LIKE`` or ``ILIKE``."""

    operator: str
    pattern: str
    negated: bool = False


@dataclass(frozen=True)
class Show(Statement):
    """``SHOW subject [name] [FROM | IN scope] [LIKE ...]``; the subject is the words as Flink has
    them, such as ``TABLES``, ``CREATE TABLE`` or ``USER FUNCTIONS``."""

    subject: str
    name: Name | None = None
    scope: Name | None = None
    like: LikeFilter | None = None
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True)
class Describe(Statement):
    """``DESCRIBE [kind] [EXTENDED] name``; kind is ``TABLE`` unless ``CATALOG``, ``DATABASE``,
    ``FUNCTION``, ``MODEL`` or ``JOB`` is written; the name of a job is a string."""

    kind: str
    name: Name
    extended: bool = False


@dataclass(frozen=True)
class Explain(Statement):
    """``EXPLAIN [details | PLAN FOR] statement``; details such as ``CHANGELOG_MODE``."""

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetOption(Statement):
    """``SET 'key' = 'value'``; without key it shows all settings."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class ResetOption(Statement):
    """``RESET 'key'``; without key it resets all."""

    key: str | None = None


@dataclass(frozen=True)
class UseDatabase(Statement):
    """``USE [catalog.]database``."""

    name: Name


@dataclass(frozen=True)
class UseCatalog(Statement):
    """``USE CATALOG name``."""

    name: Identifier


@dataclass(frozen=True)
class UseModules(Statement):
    """``USE MODULES a, b``."""

    names: tuple[Identifier, ...]


@dataclass(frozen=True)
class Jar(Statement):
    """``ADD JAR 'path'`` or ``REMOVE JAR 'path'``."""

    verb: str
    path: str


@dataclass(frozen=True)
class StopJob(Statement):
    """``STOP JOB 'id' [WITH SAVEPOINT [WITH DRAIN]]``; the path of the savepoint is the result."""

    job: StringLiteral
    savepoint: bool = False
    drain: bool = False
