"""Queries: WITH, SELECT, VALUES, set operations, ORDER BY, LIMIT, OFFSET, FETCH."""

from __future__ import annotations

from scurry.sql.ast.expressions import RowConstructor, Star
from scurry.sql.ast.node import Expression, QueryNode
from scurry.sql.ast.queries import (
    CommonTable,
    ExplicitTable,
    GroupBy,
    GroupingElement,
    NamedWindow,
    Query,
    Relation,
    Select,
    SelectItem,
    SetOperation,
    Values,
)
from scurry.sql.parser.expressions import QUERY_WORDS
from scurry.sql.parser.relations import RelationParser

_SET_WORDS = ("UNION", "INTERSECT", "EXCEPT")
_TAIL_WORDS = (*_SET_WORDS, "ORDER", "LIMIT", "OFFSET", "FETCH")


class QueryParser(RelationParser):
    """Parses queries."""

    def query(self) -> Query:
        """See :class:`scurry.sql.parser.cursor.Cursor`."""
        self.enter()
        start = self.start
        recursive, tables = False, tuple[CommonTable, ...]()
        if self.accept("WITH"):
            recursive = self.accept("RECURSIVE")
            tables = self.listed(self._common_table)
        found = self._ordered(self._set_operations(self._body()), tables, recursive, start)
        self.leave()
        return found

    def at_query_tail(self) -> bool:
        return self.at(*_TAIL_WORDS)

    def query_from(self, first: QueryNode, start: int) -> Query:
        return self._ordered(self._set_operations(_plain(first)), (), False, start)

    def _ordered(
        self, body: QueryNode, tables: tuple[CommonTable, ...], recursive: bool, start: int
    ) -> Query:
        order_by = self.order_by() if self.at("ORDER") else ()
        offset, limit = self._limits()
        if isinstance(body, Query) and not (tables or order_by or offset or limit):
            return body
        return Query(body, tables, order_by, offset, limit, recursive, span=self.since(start))

    def _limits(self) -> tuple[Expression | None, Expression | None]:
        offset, limit = None, None
        if self.accept("LIMIT") and not self.accept("ALL"):
            limit = self.expression()
        if self.accept("OFFSET"):
            offset = self.expression()
            self.accept_any("ROW", "ROWS")
        if limit is None and self.accept("FETCH"):
            self.expect_any("FIRST", "NEXT")
            limit = self.expression()
            self.expect_any("ROW", "ROWS")
            self.expect("ONLY")
        return offset, limit

    def _common_table(self) -> CommonTable:
        name = self.identifier()
        columns = self.identifiers() if self.at_symbol("(") else ()
        self.expect("AS")
        self.expect_symbol("(")
        query = self.query()
        self.expect_symbol(")")
        return CommonTable(name, query, columns, span=self.since(name.span.start))

    # --- bodies -------------------------------------------------------------------------------

    def _set_operations(self, first: QueryNode) -> QueryNode:
        """Bodies with UNION and EXCEPT between them, from the left; INTERSECT binds tighter."""
        left = self._intersections(first)
        while self.at("UNION", "EXCEPT"):
            left = self._chain(left, self._next_operation(), intersections=True)
        return left

    def _intersections(self, first: QueryNode) -> QueryNode:
        left = first
        while self.at("INTERSECT"):
            left = self._chain(left, self._next_operation(), intersections=False)
        return left

    def _next_operation(self) -> tuple[str, bool]:
        """Which operation comes next, without taking it."""
        return self.token.word, self.peek().word == "ALL"

    def _chain(
        self, first: QueryNode, operation: tuple[str, bool], intersections: bool
    ) -> QueryNode:
        inputs = [first]
        while self.at(*_SET_WORDS) and self._next_operation() == operation:
            self.take()
            self.accept_any("ALL", "DISTINCT")
            body = self._body()
            inputs.append(self._intersections(body) if intersections else body)
        operator, every = operation
        span = self.since(first.span.start)
        return SetOperation(operator, every, tuple(inputs), span=span)

    def _body(self) -> QueryNode:
        start = self.start
        if self.at("SELECT"):
            return self._select()
        if self.accept("VALUES"):
            return Values(self.listed(self._values_row), span=self.since(start))
        if self.accept("TABLE"):
            return ExplicitTable(self.name(), span=self.since(start))
        if self.accept_symbol("("):
            query = self.query()
            self.expect_symbol(")")
            return _plain(query)
        raise self.unexpected(*QUERY_WORDS, "a query in parentheses")

    def _values_row(self) -> Expression:
        """``(1, 'a')``, ``ROW(1, 'a')`` or a single value; one in parentheses is a row, too."""
        start = self.start
        found = self.expression()
        if found.span.start > start:
            return RowConstructor((found,), span=self.since(start))
        return found

    # --- SELECT -------------------------------------------------------------------------------

    def _select(self) -> Select:
        start = self.start
        self.expect("SELECT")
        hints = self.hints()
        self.accept("STREAM")
        quantifier = self.accept_any("DISTINCT", "ALL")
        items = self.listed(self._select_item)
        source: Relation | None = self.relation() if self.accept("FROM") else None
        where = self.expression() if self.accept("WHERE") else None
        group_by = self._group_by() if self.accept("GROUP", "BY") else None
        having = self.expression() if self.accept("HAVING") else None
        windows = self.listed(self._named_window) if self.accept("WINDOW") else ()
        qualify = self.expression() if self.accept("QUALIFY") else None
        return Select(
            items, source, where, group_by, having, windows, qualify, quantifier, hints,
            span=self.since(start),
        )  # fmt: skip

    def _select_item(self) -> SelectItem:
        start = self.start
        if self.accept_symbol("*"):
            return SelectItem(Star(span=self.since(start)), span=self.since(start))
        expression = self.expression()
        alias = self.alias() if not isinstance(expression, Star) else None
        return SelectItem(expression, alias, span=self.since(start))

    def _named_window(self) -> NamedWindow:
        name = self.identifier()
        self.expect("AS")
        return NamedWindow(name, self.window(), span=self.since(name.span.start))

    # --- GROUP BY -----------------------------------------------------------------------------

    def _group_by(self) -> GroupBy:
        start = self.start
        quantifier = self.accept_any("DISTINCT", "ALL")
        items = self.listed(self._grouping)
        return GroupBy(items, quantifier, span=self.since(start))

    def _grouping(self) -> Expression | GroupingElement:
        start = self.start
        if self.at_words("GROUPING", "SETS"):
            return self._grouping_sets()
        if self.at("ROLLUP", "CUBE"):
            kind = self.take().word
            items = self.in_parentheses(self._grouping_member)
            return GroupingElement(kind, items, span=self.since(start))
        return self._grouping_member()

    def _grouping_sets(self) -> GroupingElement:
        self.enter()
        start = self.start
        self.expect("GROUPING", "SETS")
        items = self.in_parentheses(self._grouping)
        self.leave()
        return GroupingElement("GROUPING SETS", items, span=self.since(start))

    def _grouping_member(self) -> Expression | GroupingElement:
        """An expression, or several of them in parentheses."""
        start = self.start
        in_parentheses = self.at_symbol("(")
        if in_parentheses and self.symbol_ahead(")"):
            self.take()
            self.take()
            return GroupingElement("SET", (), span=self.since(start))
        found = self.expression()
        if in_parentheses and isinstance(found, RowConstructor):
            return GroupingElement("SET", found.items, span=self.since(start))
        return found


def _plain(query: QueryNode) -> QueryNode:
    """The body of a query that has nothing else."""
    if isinstance(query, Query) and not (
        query.common_tables or query.order_by or query.offset or query.limit
    ):
        return query.body
    return query
