"""Statements that show things or steer the session: SHOW, DESCRIBE, EXPLAIN, SET, USE, ..."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from scurry.sql.ast.node import Identifier, Name, Statement
from scurry.sql.ast.statements import (
    Describe,
    Explain,
    Jar,
    LikeFilter,
    ResetOption,
    SetOption,
    Show,
    StopJob,
    UseCatalog,
    UseDatabase,
    UseModules,
)
from scurry.sql.lexer import Kind
from scurry.sql.parser.alterations import AlterationParser

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
#: what SHOW lists, longest names first; with a scope, a pattern, or neither
_LISTS = ("TABLES", "VIEWS", "FUNCTIONS", "PROCEDURES", "DATABASES", "CATALOGS", "MODELS")
_PLAIN = ("MODULES", "JARS", "JOBS", "CONNECTIONS")
_CREATABLE = ("TABLE", "VIEW", "CATALOG", "MODEL", "MATERIALIZED TABLE", "DATABASE")


class SessionParser(AlterationParser):
    """Parses them."""

    @abstractmethod
    def explainable(self) -> Statement:
        """The statement after EXPLAIN."""

    # --- SHOW -----------------------------------------------------------------------------------

    def show(self) -> Statement:
        """Any SHOW."""
        start = self.start
        self.expect("SHOW")
        if self.accept("CURRENT"):
            found = Show(f"CURRENT {self.expect_any('CATALOG', 'DATABASE')}")
        elif self.accept("CREATE"):
            found = self._show_create()
        elif self.at("COLUMNS", "PARTITIONS"):
            found = self._show_parts()
        else:
            found = self._show_list()
        return replace(found, span=self.since(start))

    def _show_create(self) -> Show:
        if self.accept("MATERIALIZED"):
            self.expect("TABLE")
            return Show("CREATE MATERIALIZED TABLE", self.name())
        return Show(f"CREATE {self.expect_any(*_CREATABLE)}", self.name())

    def _show_parts(self) -> Show:
        subject = self.take().word
        if subject == "PARTITIONS":
            name = self.name()
            partition = self.partition() if self.accept("PARTITION") else ()
            return Show(subject, name, partition=partition)
        self.expect_any("FROM", "IN")
        return Show(subject, self.name(), like=self._like_filter())

    def _show_list(self) -> Show:
        if self.accept("MATERIALIZED"):
            self.expect("TABLES")
            return self._scoped("MATERIALIZED TABLES")
        if self.accept("USER"):
            self.expect("FUNCTIONS")
            return self._scoped("USER FUNCTIONS")
        if self.accept("FULL"):
            self.expect("MODULES")
            return Show("FULL MODULES")
        subject = self.expect_any(*_LISTS, *_PLAIN)
        return Show(subject) if subject in _PLAIN else self._scoped(subject)

    def _scoped(self, subject: str) -> Show:
        scope = self.name() if self.accept_any("FROM", "IN") else None
        return Show(subject, scope=scope, like=self._like_filter())

    def _like_filter(self) -> LikeFilter | None:
        start, negated = self.start, self.accept("NOT")
        if not negated and not self.at("LIKE", "ILIKE"):
            return None
        operator = self.expect_any("LIKE", "ILIKE")
        return LikeFilter(operator, self.string(), negated, span=self.since(start))

    # --- DESCRIBE, EXPLAIN ------------------------------------------------------------------------

    def describe(self) -> Statement:
        """``DESCRIBE`` or ``DESC``."""
        start = self.start
        self.expect_any("DESCRIBE", "DESC")
        kind = "TABLE"
        if self._kind_follows():
            kind = self.take().word
        if kind == "JOB":
            job = self.literal()
            name = Name((Identifier(job.value, span=job.span),), span=job.span)
            return Describe(kind, name, span=self.since(start))
        extended = self.accept("EXTENDED")
        return Describe(kind, self.name(), extended, span=self.since(start))

    def _kind_follows(self) -> bool:
        """Whether the next word says what is described, and is not itself the name of a table."""
        if not self.at("CATALOG", "DATABASE", "FUNCTION", "MODEL", "JOB", "TABLE"):
            return False
        return self.peek().kind in (Kind.WORD, Kind.QUOTED, Kind.STRING)

    def explain(self) -> Statement:
        """``EXPLAIN``, with details or PLAN FOR."""
        start = self.start
        self.expect("EXPLAIN")
        details: tuple[str, ...] = ()
        if self.at(*_DETAILS):
            details = self.listed(lambda: self.expect_any(*_DETAILS))
        elif self.accept("PLAN"):
            self.expect("FOR")
        return Explain(self.explainable(), details, span=self.since(start))

    # --- settings ---------------------------------------------------------------------------------

    def set_option(self) -> Statement:
        """``SET 'key' = 'value'``, or SET alone."""
        start = self.start
        self.expect("SET")
        if self.at_end() or self.at_symbol(";"):
            return SetOption(span=self.since(start))
        key = self._setting("=")
        self.expect_symbol("=")
        return SetOption(key, self._setting(";"), span=self.since(start))

    def _setting(self, end: str) -> str:
        """A key or a value: a string, or all words up to ``end`` as they were written."""
        if self.token.kind is Kind.STRING:
            return self.string()
        start = self.start
        while not self.at_end() and not self.at_symbol(end):
            self.take()
        text = self.since(start).text
        if start == self.start:
            raise self.unexpected("a string in '...'")
        return text

    def reset_option(self) -> Statement:
        """``RESET 'key'``, or RESET alone."""
        start = self.start
        self.expect("RESET")
        key = self.string() if self.token.kind is Kind.STRING else None
        return ResetOption(key, span=self.since(start))

    def use(self) -> Statement:
        """``USE [catalog.]database``, ``USE CATALOG c``, ``USE MODULES a, b``."""
        start = self.start
        self.expect("USE")
        if self.accept("MODULES"):
            return UseModules(self.listed(self.identifier), span=self.since(start))
        if self.at("CATALOG") and self.peek().kind in (Kind.WORD, Kind.QUOTED):
            self.take()
            return UseCatalog(self.identifier(), span=self.since(start))
        return UseDatabase(self.name(), span=self.since(start))

    def jar(self) -> Statement:
        """``ADD JAR`` or ``REMOVE JAR``."""
        start, verb = self.start, self.expect_any("ADD", "REMOVE")
        self.expect("JAR")
        return Jar(verb, self.string(), span=self.since(start))

    def stop_job(self) -> Statement:
        """``STOP JOB 'id' WITH SAVEPOINT WITH DRAIN``."""
        start = self.start
        self.expect("STOP", "JOB")
        job = self.literal()
        savepoint = self.accept("WITH", "SAVEPOINT")
        drain = savepoint and self.accept("WITH", "DRAIN")
        return StopJob(job, savepoint, drain, span=self.since(start))
