"""What may stand after an operand: operators, predicates of several words, fields and elements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from scurry.sql import operators
from scurry.sql.ast.expressions import (
    Between,
    Binary,
    FieldAccess,
    InList,
    InQuery,
    Is,
    Item,
    Like,
    Logical,
    Quantified,
    ScalarQuery,
    Star,
)
from scurry.sql.ast.node import Expression, Name, QueryNode
from scurry.sql.errors import SqlParserError
from scurry.sql.lexer import Kind
from scurry.sql.parser.json_functions import JsonParser

_ABOVE_BETWEEN = operators.BETWEEN + 1
_QUERY_WORDS = ("SELECT", "WITH", "VALUES")
_NEGATABLE = ("BETWEEN", "IN", "LIKE", "SIMILAR", "ILIKE", "RLIKE")


class PredicateParser(JsonParser):
    """Parses what follows an operand."""

    @abstractmethod
    def at_query_tail(self) -> bool:
        """Whether what comes next goes on with a query whose first part was in parentheses."""

    @abstractmethod
    def query_from(self, first: QueryNode, start: int) -> QueryNode:
        """The rest of a query whose first part, in parentheses, was already taken."""

    def infix(self, left: Expression, least: int, start: int) -> Expression:
        """``left``, whose text begins at ``start``, with all that follows it and binds at least
        so tightly."""
        while True:
            found = self._follow(left, least, start)
            if found is None:
                return left
            left = found

    def _follow(self, left: Expression, least: int, start: int) -> Expression | None:
        token = self.token
        if token.kind is Kind.SYMBOL:
            return self._after_symbol(left, least, start)
        if token.kind is not Kind.WORD:
            return None
        word = self.peek().word if token.word == "NOT" else token.word
        binding, parse = _FOLLOWERS.get(word, (-1, None))
        if parse is None or binding < least or (token.word == "NOT" and word not in _NEGATABLE):
            return None
        negated = token.word == "NOT"
        if negated:
            self.take()
        return parse(self, left, start, negated)

    # --- symbols ------------------------------------------------------------------------------

    def _after_symbol(self, left: Expression, least: int, start: int) -> Expression | None:
        symbol = self.token.text
        if symbol == "[":
            return self._item(left, start)
        if symbol == ".":
            return self._field(left, start)
        binding = operators.BINARY.get(symbol, -1)
        if symbol == "!=":
            raise SqlParserError(
                "Flink's SQL has no !=", self._span(self.token), advice="Write <> for it."
            )
        if binding < least or binding < 0:
            return None
        self.take()
        if binding == operators.COMPARISON and self.at("ALL", "ANY", "SOME"):
            return self._quantified(left, symbol, start)
        right = self.expression(binding + 1)
        return Binary(symbol, left, right, span=self.since(start))

    def _item(self, left: Expression, start: int) -> Expression:
        self.take()
        index = self.expression()
        self.expect_symbol("]")
        return Item(left, index, span=self.since(start))

    def _field(self, left: Expression, start: int) -> Expression:
        self.take()
        if isinstance(left, Name) and self.accept_symbol("*"):
            return Star(left, span=self.since(start))
        return FieldAccess(left, self.identifier(), span=self.since(start))

    def _quantified(self, left: Expression, symbol: str, start: int) -> Expression:
        quantifier = self.take().word
        self.expect_symbol("(")
        query = self.query()
        self.expect_symbol(")")
        return Quantified(left, symbol, quantifier, query, span=self.since(start))

    # --- words --------------------------------------------------------------------------------

    def _logical(self, left: Expression, start: int, _: bool) -> Expression:
        word = self.token.word
        binding, operands = _FOLLOWERS[word][0], [left]
        while self.accept(word):
            operands.append(self.expression(binding + 1))
        return Logical(word, tuple(operands), span=self.since(start))

    def _is(self, left: Expression, start: int, _: bool) -> Expression:
        self.take()
        negated = self.accept("NOT")
        if self.accept("DISTINCT", "FROM"):
            right = self.expression(operators.COMPARISON + 1)
            operator = f"IS {'NOT ' if negated else ''}DISTINCT FROM"
            return Binary(operator, left, right, span=self.since(start))
        if self.accept("JSON"):
            what = f"JSON {self.accept_any('VALUE', 'OBJECT', 'ARRAY', 'SCALAR') or 'VALUE'}"
        elif self.accept("A"):
            self.expect("SET")
            what = "A SET"
        else:
            what = self.expect_any("NULL", "TRUE", "FALSE", "UNKNOWN", "EMPTY")
        return Is(left, what, negated, span=self.since(start))

    def _between(self, left: Expression, start: int, negated: bool) -> Expression:
        self.take()
        symmetric = self.accept_any("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC"
        low = self.expression(_ABOVE_BETWEEN)
        self.expect("AND")
        high = self.expression(_ABOVE_BETWEEN)
        return Between(left, low, high, negated, symmetric, span=self.since(start))

    def _in(self, left: Expression, start: int, negated: bool) -> Expression:
        self.take()
        self.expect_symbol("(")
        if self.at(*_QUERY_WORDS):
            return self._in_query(left, self.query(), start, negated)
        first = self.expression()
        if isinstance(first, ScalarQuery) and self.at_query_tail():
            query = self.query_from(first.query, first.span.start)
            return self._in_query(left, query, start, negated)
        items = [first]
        while self.accept_symbol(","):
            items.append(self.expression())
        self.expect_symbol(")")
        return InList(left, tuple(items), negated, span=self.since(start))

    def _in_query(
        self, left: Expression, query: QueryNode, start: int, negated: bool
    ) -> Expression:
        self.expect_symbol(")")
        return InQuery(left, query, negated, span=self.since(start))

    def _like(self, left: Expression, start: int, negated: bool) -> Expression:
        operator = self.take().word
        if operator == "SIMILAR":
            self.expect("TO")
            operator = "SIMILAR TO"
        pattern = self.expression(_ABOVE_BETWEEN)
        escape = self.expression(_ABOVE_BETWEEN) if self.accept("ESCAPE") else None
        return Like(operator, left, pattern, escape, negated, span=self.since(start))

    def _worded(self, left: Expression, start: int, _: bool) -> Expression:
        """``OVERLAPS``, ``MEMBER OF``, ``SUBMULTISET OF``."""
        operator = self.take().word
        if operator != "OVERLAPS":
            self.expect("OF")
            operator = f"{operator} OF"
        right = self.expression(operators.BINARY[operator] + 1)
        return Binary(operator, left, right, span=self.since(start))

    def _multiset(self, left: Expression, start: int, _: bool) -> Expression:
        self.take()
        how = self.expect_any("UNION", "INTERSECT", "EXCEPT")
        operator = f"MULTISET {how} {self.accept_any('ALL', 'DISTINCT') or 'ALL'}"
        right = self.expression(operators.BINARY[operator] + 1)
        return Binary(operator, left, right, span=self.since(start))


_Follower = Callable[[PredicateParser, Expression, int, bool], Expression]

_FOLLOWERS: dict[str, tuple[int, _Follower]] = {
    "OR": (operators.OR, PredicateParser._logical),
    "AND": (operators.AND, PredicateParser._logical),
    "IS": (operators.IS, PredicateParser._is),
    "BETWEEN": (operators.BETWEEN, PredicateParser._between),
    "IN": (operators.BETWEEN, PredicateParser._in),
    "LIKE": (operators.BETWEEN, PredicateParser._like),
    "SIMILAR": (operators.BETWEEN, PredicateParser._like),
    "ILIKE": (operators.BETWEEN, PredicateParser._like),
    "RLIKE": (operators.BETWEEN, PredicateParser._like),
    "OVERLAPS": (operators.COMPARISON, PredicateParser._worded),
    "MEMBER": (operators.COMPARISON, PredicateParser._worded),
    "SUBMULTISET": (operators.COMPARISON, PredicateParser._worded),
    "MULTISET": (operators.PLUS, PredicateParser._multiset),
}
