"""CREATE TABLE: columns, watermark, primary key, distribution, partitions, options, LIKE, AS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from scurry.common.spans import Span
from scurry.sql.ast.expressions import StringLiteral
from scurry.sql.ast.node import Identifier, QueryNode
from scurry.sql.ast.table_definitions import (
    Column,
    ComputedColumn,
    CreateMaterializedTable,
    CreateTable,
    Distribution,
    LikeOption,
    MetadataColumn,
    NamedColumn,
    Option,
    PhysicalColumn,
    PrimaryKey,
    TableLike,
    Watermark,
)
from scurry.sql.errors import SqlParserError
from scurry.sql.lexer import Kind
from scurry.sql.parser.queries import QueryParser

_MERGING = ("INCLUDING", "EXCLUDING", "OVERWRITING")
_FEATURES = (
    "ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS",
    "WATERMARKS",
)  # fmt: skip

T = TypeVar("T")


@dataclass
class TableParts:
    """What was found between the parentheses of CREATE TABLE."""

    columns: tuple[Column, ...] = ()
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None


class TableParser(QueryParser):
    """Parses definitions of tables."""

    def create_table(self, start: int, temporary: bool, or_replace: bool) -> CreateTable:
        """From the word TABLE on."""
        self.expect("TABLE")
        if_not_exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name()
        parts = self.table_parts() if self.at_symbol("(") else TableParts()
        comment = self.comment()
        distribution = self.distribution() if self.at("DISTRIBUTED") else None
        partitioned_by = self._partitioned_by()
        options = self.with_options()
        like = self._table_like() if self.at("LIKE") else None
        query = self._as_query() if like is None else None
        self._check_types(parts.columns, query)
        return CreateTable(
            name, parts.columns, parts.watermark, parts.primary_key, comment, distribution,
            partitioned_by, options, like, query, temporary, if_not_exists, or_replace,
            span=self.since(start),
        )  # fmt: skip

    def _check_types(self, columns: tuple[Column, ...], query: QueryNode | None) -> None:
        untyped = [column for column in columns if isinstance(column, NamedColumn)]
        if untyped and query is None:
            raise SqlParserError(
                f"The column {untyped[0].name} has no data type",
                untyped[0].span,
                advice="Only with AS and a query can types be left out.",
            )

    def create_materialized_table(self, start: int, or_alter: bool) -> CreateMaterializedTable:
        """From the word MATERIALIZED on."""
        self.expect("MATERIALIZED", "TABLE")
        name = self.name()
        parts = self.table_parts() if self.at_symbol("(") else TableParts()
        comment = self.comment()
        distribution = self.distribution() if self.at("DISTRIBUTED") else None
        partitioned_by = self._partitioned_by()
        options = self.with_options()
        freshness, refresh_mode = None, ""
        if self.accept("FRESHNESS"):
            self.expect_symbol("=")
            freshness = self.interval()
        if self.accept("REFRESH_MODE"):
            self.expect_symbol("=")
            refresh_mode = self.expect_any("FULL", "CONTINUOUS")
        query = self._as_query()
        if query is None:
            raise self.unexpected("AS")
        return CreateMaterializedTable(
            name, query, parts.columns, parts.watermark, parts.primary_key, comment, distribution,
            partitioned_by, options, freshness, refresh_mode, or_alter, span=self.since(start),
        )  # fmt: skip

    # --- columns ------------------------------------------------------------------------------

    def table_parts(self) -> TableParts:
        """Columns, watermark and primary key in parentheses, in any order."""
        parts = TableParts()
        self.in_parentheses(lambda: self._table_part(parts))
        return parts

    def _table_part(self, parts: TableParts) -> None:
        start = self.start
        if self.at("WATERMARK"):
            parts.watermark = self._only(parts.watermark, self.watermark, start, "watermark")
        elif self.at("CONSTRAINT", "PRIMARY", "UNIQUE"):
            parts.primary_key = self._only(
                parts.primary_key, self.primary_key, start, "primary key"
            )
        else:
            parts.columns = (*parts.columns, self.column())

    def _only(self, before: T | None, parse: Callable[[], T], start: int, what: str) -> T:
        if before is not None:
            message = f"The table has a second {what}"
            raise SqlParserError(message, Span(self.source, start, self.token.end))
        return parse()

    def column(self) -> Column:
        """One column of any kind."""
        name = self.identifier()
        if self.at_symbol(",", ")"):
            return NamedColumn(name, span=name.span)
        if self.accept("AS"):
            expression = self.expression()
            return ComputedColumn(
                name, expression, self.comment(), span=self.since(name.span.start)
            )
        kind = self.data_type()
        if self.accept("METADATA"):
            key = self.string() if self.accept("FROM") else None
            virtual = self.accept("VIRTUAL")
            comment = self.comment()
            span = self.since(name.span.start)
            return MetadataColumn(name, kind, key, virtual, comment, span=span)
        key_clause = self.primary_key() if self.at("CONSTRAINT", "PRIMARY", "UNIQUE") else None
        comment = self.comment()
        return PhysicalColumn(name, kind, key_clause, comment, span=self.since(name.span.start))

    def watermark(self) -> Watermark:
        """``WATERMARK FOR column AS expression``."""
        start = self.start
        self.expect("WATERMARK", "FOR")
        column = self.name()
        self.expect("AS")
        return Watermark(column, self.expression(), span=self.since(start))

    def primary_key(self) -> PrimaryKey:
        """``[CONSTRAINT c] PRIMARY KEY [(a, b)] [NOT ENFORCED]``."""
        start = self.start
        name = self.identifier() if self.accept("CONSTRAINT") else None
        unique = self.expect_any("PRIMARY", "UNIQUE") == "UNIQUE"
        if not unique:
            self.expect("KEY")
        columns = self.identifiers() if self.at_symbol("(") else ()
        enforced = None
        if self.accept("NOT", "ENFORCED"):
            enforced = False
        elif self.accept("ENFORCED"):
            enforced = True
        return PrimaryKey(columns, name, enforced, unique, span=self.since(start))

    # --- clauses after the columns --------------------------------------------------------------

    def comment(self) -> str | None:
        """``COMMENT '...'``, if it comes next."""
        return self.string() if self.accept("COMMENT") else None

    def distribution(self) -> Distribution:
        """``DISTRIBUTED BY [HASH | RANGE] (a) INTO n BUCKETS``, the keyword included."""
        start = self.start
        self.expect_any("DISTRIBUTED", "DISTRIBUTION")
        kind, buckets = "", None
        columns: tuple[Identifier, ...] = ()
        if self.accept("BY"):
            kind = self.accept_any("HASH", "RANGE")
            columns = self.identifiers()
        if self.accept("INTO"):
            buckets = self.integer()
            self.expect("BUCKETS")
        if not columns and buckets is None:
            raise self.unexpected()
        return Distribution(kind, columns, buckets, span=self.since(start))

    def _partitioned_by(self) -> tuple[Identifier, ...]:
        return self.identifiers() if self.accept("PARTITIONED", "BY") else ()

    def with_options(self) -> tuple[Option, ...]:
        """``WITH ('k' = 'v', ...)``, if it comes next."""
        return self.options() if self.accept("WITH") else ()

    def options(self) -> tuple[Option, ...]:
        """``('k' = 'v', ...)``, which may be empty."""
        self.expect_symbol("(")
        found = () if self.at_symbol(")") else self.listed(self._option)
        self.expect_symbol(")")
        return found

    def _option(self) -> Option:
        start, key = self.start, self.literal()
        self.expect_symbol("=")
        return Option(key, self.literal(), span=self.since(start))

    def literal(self) -> StringLiteral:
        """A string that must come next, as a node."""
        if self.token.kind is not Kind.STRING:
            raise self.unexpected("a string in '...'")
        return self.text()

    def _table_like(self) -> TableLike:
        start = self.start
        self.expect("LIKE")
        table = self.name()
        found: list[LikeOption] = []
        if self.accept_symbol("("):
            while not self.at_symbol(")"):
                begin, merging = self.start, self.expect_any(*_MERGING)
                feature = self.expect_any(*_FEATURES)
                found.append(LikeOption(merging, feature, span=self.since(begin)))
            self.take()
        return replace(TableLike(table, tuple(found)), span=self.since(start))

    def _as_query(self) -> QueryNode | None:
        return self.query() if self.accept("AS") else None
