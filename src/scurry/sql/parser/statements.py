"""Statements: which one it is, by its first word."""

from __future__ import annotations

from collections.abc import Callable

from scurry.sql.ast.expressions import FunctionCall
from scurry.sql.ast.node import Identifier, Statement
from scurry.sql.ast.statements import (
    AnalyzeTable,
    Assignment,
    BeginStatementSet,
    Call,
    CompilePlan,
    Delete,
    EndStatementSet,
    Execute,
    ExecutePlan,
    Insert,
    QueryStatement,
    StatementSet,
    Truncate,
    Update,
)
from scurry.sql.parser.session import SessionParser


class StatementParser(SessionParser):
    """Parses statements."""

    def statement(self) -> Statement:
        """The statement at the next token."""
        handler = _STATEMENTS.get(self.token.word)
        if handler is not None:
            return handler(self)
        if self.at_symbol("("):
            return self._query()
        raise self.unexpected("a statement such as SELECT, INSERT, CREATE TABLE or SHOW TABLES")

    def script(self) -> tuple[Statement, ...]:
        """Statements with semicolons between them, up to the end of the text."""
        found = []
        while self.accept_symbol(";"):
            pass
        while not self.at_end():
            found.append(self.statement())
            if not self.at_end():
                self.expect_symbol(";")
            while self.accept_symbol(";"):
                pass
        return tuple(found)

    def _query(self) -> Statement:
        start = self.start
        return QueryStatement(self.query(), span=self.since(start))

    # --- data -----------------------------------------------------------------------------------

    def insert(self) -> Statement:
        """``INSERT INTO`` or ``INSERT OVERWRITE``."""
        start = self.start
        self.expect("INSERT")
        overwrite = self.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
        name, hints = self.name(), self.hints()
        partition = self.partition() if self.accept("PARTITION") else ()
        columns = self.in_parentheses(self.name) if self._at_columns() else ()
        if not hints:
            hints = self.hints()
        query = self.query()
        span = self.since(start)
        return Insert(name, query, columns, partition, hints, overwrite, span=span)

    def _at_columns(self) -> bool:
        """Whether a list of columns comes next, and not a query in parentheses."""
        if not self.at_symbol("("):
            return False
        ahead = 1
        while self.symbol_ahead("(", ahead=ahead):
            ahead += 1
        return self.peek(ahead).word not in ("SELECT", "WITH", "VALUES", "TABLE")

    def _delete(self) -> Statement:
        start = self.start
        self.expect("DELETE", "FROM")
        name = self.name()
        alias = self.alias()
        where = self.expression() if self.accept("WHERE") else None
        return Delete(name, where, alias, span=self.since(start))

    def _update(self) -> Statement:
        start = self.start
        self.expect("UPDATE")
        name = self.name()
        alias = self.alias()
        self.expect("SET")
        assignments = self.listed(self._assignment)
        where = self.expression() if self.accept("WHERE") else None
        return Update(name, assignments, where, alias, span=self.since(start))

    def _assignment(self) -> Assignment:
        column = self.name()
        self.expect_symbol("=")
        return Assignment(column, self.expression(), span=self.since(column.span.start))

    def _truncate(self) -> Statement:
        start = self.start
        self.expect("TRUNCATE", "TABLE")
        return Truncate(self.name(), span=self.since(start))

    def _analyze(self) -> Statement:
        start = self.start
        self.expect("ANALYZE", "TABLE")
        name = self.name()
        partition = self.partition_columns() if self.accept("PARTITION") else ()
        self.expect("COMPUTE", "STATISTICS")
        columns: tuple[Identifier, ...] = ()
        every = False
        if self.accept("FOR"):
            every = self.accept("ALL")
            self.expect("COLUMNS")
            columns = () if every else self.listed(self.identifier)
        return AnalyzeTable(name, partition, columns, every, span=self.since(start))

    def _call(self) -> Statement:
        start = self.start
        self.expect("CALL")
        call: FunctionCall = self.call(self.name())
        return Call(call, span=self.since(start))

    # --- statement sets, plans --------------------------------------------------------------------

    def _execute(self) -> Statement:
        start = self.start
        self.expect("EXECUTE")
        if self.accept("PLAN"):
            return ExecutePlan(self.string(), span=self.since(start))
        if self.accept("STATEMENT", "SET"):
            self.expect("BEGIN")
            return self._statement_set(start)
        return Execute(self._runnable(), span=self.since(start))

    def _begin(self) -> Statement:
        start = self.start
        self.expect("BEGIN", "STATEMENT", "SET")
        if self.at_symbol(";") and self.peek().word == "INSERT":
            self.take()
            return self._statement_set(start)
        return BeginStatementSet(span=self.since(start))

    def _end(self) -> Statement:
        start = self.start
        self.expect("END")
        return EndStatementSet(span=self.since(start))

    def _statement_set(self, start: int) -> Statement:
        """Inserts with semicolons after them, and END."""
        found = []
        while not self.accept("END"):
            found.append(self.insert())
            self.expect_symbol(";")
        if not found:
            raise self.unexpected("INSERT")
        return StatementSet(tuple(found), span=self.since(start))

    def _compile(self) -> Statement:
        start = self.start
        self.expect("COMPILE")
        execute = self.accept("AND", "EXECUTE")
        self.expect("PLAN")
        path, if_not_exists = self.string(), self.accept("IF", "NOT", "EXISTS")
        self.expect("FOR")
        statement = self._runnable()
        return CompilePlan(path, statement, if_not_exists, execute, span=self.since(start))

    def _runnable(self) -> Statement:
        """A statement that runs as a job."""
        self.enter()
        if self.at("INSERT"):
            found = self.insert()
        elif self.at("STATEMENT"):
            start = self.start
            self.expect("STATEMENT", "SET", "BEGIN")
            found = self._statement_set(start)
        elif self.at("EXECUTE"):
            found = self._execute()
        elif self.at("CREATE", "REPLACE"):
            found = self.create()
        elif self.at("UPDATE"):
            found = self._update()
        elif self.at("DELETE"):
            found = self._delete()
        else:
            found = self._query()
        self.leave()
        return found

    def explainable(self) -> Statement:
        """What may stand after EXPLAIN."""
        return self._runnable()


def _named(
    parse: Callable[[StatementParser], Statement], *words: str
) -> dict[str, Callable[[StatementParser], Statement]]:
    return dict.fromkeys(words, parse)


_STATEMENTS: dict[str, Callable[[StatementParser], Statement]] = {
    **_named(StatementParser._query, "SELECT", "WITH", "VALUES", "TABLE"),
    **_named(StatementParser.insert, "INSERT"),
    **_named(StatementParser.create, "CREATE", "REPLACE"),
    **_named(StatementParser.drop, "DROP"),
    **_named(StatementParser.alter, "ALTER"),
    **_named(StatementParser.load_module, "LOAD"),
    **_named(StatementParser.unload_module, "UNLOAD"),
    **_named(StatementParser._delete, "DELETE"),
    **_named(StatementParser._update, "UPDATE"),
    **_named(StatementParser._truncate, "TRUNCATE"),
    **_named(StatementParser._analyze, "ANALYZE"),
    **_named(StatementParser._call, "CALL"),
    **_named(StatementParser._execute, "EXECUTE"),
    **_named(StatementParser._begin, "BEGIN"),
    **_named(StatementParser._end, "END"),
    **_named(StatementParser._compile, "COMPILE"),
    **_named(StatementParser.show, "SHOW"),
    **_named(StatementParser.describe, "DESCRIBE", "DESC"),
    **_named(StatementParser.explain, "EXPLAIN"),
    **_named(StatementParser.set_option, "SET"),
    **_named(StatementParser.reset_option, "RESET"),
    **_named(StatementParser.use, "USE"),
    **_named(StatementParser.jar, "ADD", "REMOVE"),
    **_named(StatementParser.stop_job, "STOP"),
}
