"""Expressions, by precedence climbing: an operand, then all operators that bind tightly enough."""

from __future__ import annotations

from collections.abc import Callable

from scurry.sql import operators
from scurry.sql.ast.expressions import (
    ArrayConstructor,
    BooleanLiteral,
    Case,
    Cast,
    Exists,
    FunctionCall,
    MapConstructor,
    NullLiteral,
    QueryConstructor,
    RowConstructor,
    ScalarQuery,
    Unary,
    When,
)
from scurry.sql.ast.node import Expression, Identifier, Name, QueryNode
from scurry.sql.errors import SqlParserError
from scurry.sql.keywords import FUNCTIONS, NILADIC
from scurry.sql.lexer import Kind
from scurry.sql.parser.calls import SPECIAL_CALLS
from scurry.sql.parser.predicates import PredicateParser

_TEMPORAL = ("DATE", "TIME", "TIMESTAMP")
QUERY_WORDS = ("SELECT", "WITH", "VALUES")


class ExpressionParser(PredicateParser):
    """Parses expressions."""

    def expression(self, least: int = 0) -> Expression:
        """See :class:`scurry.sql.parser.cursor.Cursor`."""
        self.enter()
        start = self.start
        found = self.infix(self._operand(), least, start)
        self.leave()
        return found

    def _operand(self) -> Expression:
        token = self.token
        if token.kind is Kind.WORD:
            handler = _WORDS.get(token.word)
            if handler is not None:
                found = handler(self)
                if found is not None:
                    return found
            return self._named()
        handler = _KINDS.get(token.kind) or _SYMBOLS.get(token.text)
        if handler is None:
            raise self.unexpected("an expression")
        found = handler(self)
        if found is None:
            raise self.unexpected("an expression")
        return found

    def _named(self) -> Expression:
        """A column, or a call of a function."""
        token = self.token
        if token.word in NILADIC and not self.symbol_ahead("("):
            self.take()
            return FunctionCall(self._one_word(token.word), span=self.since(token.start))
        if token.word in FUNCTIONS and self.symbol_ahead("("):
            self.take()
            return self.call(self._one_word(token.text))
        if token.word in NILADIC:
            return self._niladic_with_parentheses()
        name = self.name()
        return self.call(name) if self.at_symbol("(") else name

    def _niladic_with_parentheses(self) -> Expression:
        token = self.take()
        return self.call(self._one_word(token.word))

    def _one_word(self, text: str) -> Name:
        span = self._span(self.peek(-1))
        return Name((Identifier(text, span=span),), span=span)

    # --- parentheses --------------------------------------------------------------------------

    def _parenthesis(self) -> Expression:
        """An expression, a row, or a query in parentheses. After a query in its own parentheses,
        more of a query may follow: ``((SELECT 1) UNION (SELECT 2))``."""
        start = self.start
        self.expect_symbol("(")
        if self.at(*QUERY_WORDS):
            query = self.query()
            self.expect_symbol(")")
            return ScalarQuery(query, span=self.since(start))
        first = self.expression()
        if isinstance(first, ScalarQuery) and self.at_query_tail():
            query = self.query_from(first.query, first.span.start)
            self.expect_symbol(")")
            return ScalarQuery(query, span=self.since(start))
        if self.at_symbol(","):
            items = [first]
            while self.accept_symbol(","):
                items.append(self.expression())
            self.expect_symbol(")")
            return RowConstructor(tuple(items), span=self.since(start))
        self.expect_symbol(")")
        return first

    # --- words --------------------------------------------------------------------------------

    def _not(self) -> Expression:
        start = self.start
        self.take()
        operand = self.expression(operators.NOT)
        return Unary("NOT", operand, span=self.since(start))

    def _parameter(self) -> Expression:
        message = "Parameters of prepared statements do not exist in Flink's SQL"
        advice = "Put the value itself into the text."
        raise SqlParserError(message, self._span(self.token), advice=advice)

    def _sign(self) -> Expression:
        start, sign = self.start, self.take().text
        operand = self.expression(operators.SIGN)
        return Unary(sign, operand, span=self.since(start))

    def _constant(self) -> Expression:
        token = self.take()
        if token.word == "NULL":
            return NullLiteral(span=self._span(token))
        value = {"TRUE": True, "FALSE": False, "UNKNOWN": None}[token.word]
        return BooleanLiteral(value, span=self._span(token))

    def _case(self) -> Expression:
        start = self.start
        self.take()
        operand = None if self.at("WHEN") else self.expression()
        whens = [self._when(operand is not None)]
        while self.at("WHEN"):
            whens.append(self._when(operand is not None))
        default = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return Case(operand, tuple(whens), default, span=self.since(start))

    def _when(self, several: bool) -> When:
        start = self.start
        self.expect("WHEN")
        conditions = self.listed(self.expression) if several else (self.expression(),)
        self.expect("THEN")
        return When(conditions, self.expression(), span=self.since(start))

    def _cast(self) -> Expression:
        start, safe = self.start, self.take().word == "TRY_CAST"
        self.expect_symbol("(")
        operand = self.expression()
        self.expect("AS")
        kind = self.data_type()
        self.expect_symbol(")")
        return Cast(operand, kind, safe, span=self.since(start))

    def _temporal_or_name(self) -> Expression | None:
        zoned = self.at_words("TIMESTAMP", "WITH", "LOCAL")
        return self.temporal() if zoned or self.peek().kind is Kind.STRING else None

    def _exists(self) -> Expression:
        start = self.start
        self.take()
        return Exists(self._query_in_parentheses(), span=self.since(start))

    def _row(self) -> Expression | None:
        start = self.start
        if not self.symbol_ahead("("):
            return None
        self.take()
        self.take()
        items = () if self.at_symbol(")") else self.listed(self.expression)
        self.expect_symbol(")")
        return RowConstructor(items, span=self.since(start))

    def _collection(self) -> Expression | None:
        start, kind, query = self.start, self.token.word, self.symbol_ahead("(")
        if not self.symbol_ahead("[", "("):
            return None
        if query and self.peek(2).word not in QUERY_WORDS:
            return None
        self.take()
        if query:
            return QueryConstructor(kind, self._query_in_parentheses(), span=self.since(start))
        self.take()
        items = () if self.at_symbol("]") else self.listed(self.expression)
        self.expect_symbol("]")
        span = self.since(start)
        return (
            MapConstructor(items, span=span)
            if kind == "MAP"
            else (ArrayConstructor(kind, items, span=span))
        )

    def _special(self) -> Expression | None:
        if not self.symbol_ahead("("):
            return None
        parse = SPECIAL_CALLS[self.token.word]
        return self.special_call(lambda: parse(self))

    def _descriptor_or_name(self) -> Expression | None:
        return self._descriptor() if self.symbol_ahead("(") else None

    def _running(self) -> Expression | None:
        """``RUNNING LAST(A.x)`` and ``FINAL ...`` of MATCH_RECOGNIZE."""
        after = self.peek()
        if after.kind not in (Kind.WORD, Kind.QUOTED) or not self.symbol_ahead("(", ahead=2):
            return None
        start, semantics = self.start, self.take().word
        call = self._named()
        if not isinstance(call, FunctionCall):
            raise self.unexpected("a call")
        return FunctionCall(
            call.name, call.arguments, call.quantifier, semantics=semantics, span=self.since(start)
        )

    def _query_in_parentheses(self) -> QueryNode:
        self.expect_symbol("(")
        query = self.query()
        self.expect_symbol(")")
        return query


_Handler = Callable[[ExpressionParser], Expression | None]

_KINDS: dict[Kind, _Handler] = {
    Kind.NUMBER: ExpressionParser.number,
    Kind.STRING: ExpressionParser.text,
    Kind.UNICODE: ExpressionParser.unicode_text,
    Kind.BINARY: ExpressionParser.binary,
    Kind.QUOTED: ExpressionParser._named,
}
_SYMBOLS: dict[str, _Handler] = {
    "?": ExpressionParser._parameter,
    "(": ExpressionParser._parenthesis,
    "-": ExpressionParser._sign,
    "+": ExpressionParser._sign,
}
_WORDS: dict[str, _Handler] = {
    "NOT": ExpressionParser._not,
    "CASE": ExpressionParser._case,
    "CAST": ExpressionParser._cast,
    "TRY_CAST": ExpressionParser._cast,
    "EXISTS": ExpressionParser._exists,
    "INTERVAL": ExpressionParser.interval,
    "ROW": ExpressionParser._row,
    "DESCRIPTOR": ExpressionParser._descriptor_or_name,
    **dict.fromkeys(("NULL", "TRUE", "FALSE", "UNKNOWN"), ExpressionParser._constant),
    **dict.fromkeys(_TEMPORAL, ExpressionParser._temporal_or_name),
    **dict.fromkeys(("ARRAY", "MAP", "MULTISET"), ExpressionParser._collection),
    **dict.fromkeys(SPECIAL_CALLS, ExpressionParser._special),
    **dict.fromkeys(("RUNNING", "FINAL"), ExpressionParser._running),
    "JSON_EXISTS": ExpressionParser.json_exists,
    "JSON_VALUE": ExpressionParser.json_value,
    "JSON_QUERY": ExpressionParser.json_query,
    "JSON_OBJECT": ExpressionParser.json_object,
    "JSON_ARRAY": ExpressionParser.json_array,
    "JSON_OBJECTAGG": ExpressionParser.json_object_aggregate,
    "JSON_ARRAYAGG": ExpressionParser.json_array_aggregate,
}
