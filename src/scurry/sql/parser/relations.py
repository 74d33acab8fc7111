"""What stands after FROM: tables, derived tables, table functions, UNNEST, joins, hints."""

from __future__ import annotations

from scurry.sql.ast.expressions import FunctionCall, NumberLiteral
from scurry.sql.ast.node import Expression, Identifier, Name
from scurry.sql.ast.queries import (
    Aliased,
    DerivedTable,
    Hint,
    Join,
    Relation,
    Sampled,
    TableFunctionRef,
    TableRef,
    Unnest,
)
from scurry.sql.lexer import Kind
from scurry.sql.parser.expressions import QUERY_WORDS
from scurry.sql.parser.matching import MatchParser

_JOIN_WORDS = ("NATURAL", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "JOIN")


class RelationParser(MatchParser):
    """Parses relations."""

    def relation(self) -> Relation:
        """One or more relations with joins or commas between them; joins bind tighter."""
        self.enter()
        found = self._separated(self._factor())
        self.leave()
        return found

    def alias(self) -> Identifier | None:
        """``AS name`` or a name alone, if one comes next."""
        return self.identifier() if self.accept("AS") or self.at_name() else None

    # --- joins --------------------------------------------------------------------------------

    def _separated(self, first: Relation) -> Relation:
        left = self._joined(first)
        while self.accept_symbol(","):
            right = self._joined(self._factor())
            left = Join("COMMA", left, right, span=self.since(first.span.start))
        return left

    def _joined(self, first: Relation) -> Relation:
        left = first
        while self.at(*_JOIN_WORDS):
            left = self._join(left, first.span.start)
        return left

    def _join(self, left: Relation, start: int) -> Relation:
        natural = self.accept("NATURAL")
        kind = self.accept_any("INNER", "LEFT", "RIGHT", "FULL", "CROSS") or "INNER"
        if kind in ("LEFT", "RIGHT", "FULL"):
            self.accept("OUTER")
        self.expect("JOIN")
        right = self._factor()
        condition: Expression | None = None
        using: tuple[Identifier, ...] = ()
        if not natural and kind != "CROSS":
            if self.accept("ON"):
                condition = self.expression()
            elif self.accept("USING"):
                using = self.identifiers()
        return Join(kind, left, right, condition, using, natural, span=self.since(start))

    # --- single relations ---------------------------------------------------------------------

    def _factor(self) -> Relation:
        return self._decorated(self._primary())

    def _decorated(self, found: Relation) -> Relation:
        """With MATCH_RECOGNIZE, an alias, a sample."""
        start = found.span.start
        if self.at("MATCH_RECOGNIZE"):
            found = self.match_recognize(found)
        alias = self.alias()
        if alias is not None:
            columns = self.identifiers() if self.at_symbol("(") else ()
            found = Aliased(found, alias, columns, span=self.since(start))
        return self._sampled(found) if self.at("TABLESAMPLE") else found

    def _primary(self) -> Relation:
        start = self.start
        if self.at_symbol("("):
            return self._in_own_parentheses()
        if self.accept("LATERAL"):
            return self._lateral(start)
        if self.at("TABLE"):
            return self._table_function(start, lateral=False)
        if self.accept("UNNEST"):
            return self._unnest(start)
        name = self.name()
        if self.at_symbol("("):
            return TableFunctionRef(self.call(name), span=self.since(start))
        return self._table(name)

    def _table(self, name: Name) -> Relation:
        hints = self.hints()
        system_time = None
        if self.accept("FOR"):
            self.expect("SYSTEM_TIME", "AS", "OF")
            system_time = self.expression()
        return TableRef(name, hints, system_time, span=self.since(name.span.start))

    def _lateral(self, start: int) -> Relation:
        if self.at("TABLE"):
            return self._table_function(start, lateral=True)
        if self.at_symbol("("):
            self.expect_symbol("(")
            query = self.query()
            self.expect_symbol(")")
            return DerivedTable(query, lateral=True, span=self.since(start))
        self.expect("UNNEST")
        return self._unnest(start)

    def _table_function(self, start: int, lateral: bool) -> Relation:
        self.expect("TABLE")
        self.expect_symbol("(")
        call = self.expression()
        if not isinstance(call, FunctionCall):
            raise self.unexpected("a call of a table function")
        self.expect_symbol(")")
        return TableFunctionRef(call, lateral, span=self.since(start))

    def _unnest(self, start: int) -> Relation:
        operands = self.in_parentheses(self.expression)
        ordinality = self.accept("WITH", "ORDINALITY")
        return Unnest(operands, ordinality, span=self.since(start))

    def _in_own_parentheses(self) -> Relation:
        """A query, or relations with joins, in parentheses. After a query in parentheses of its
        own, more of a query may follow, or it is the first of relations."""
        self.enter()
        start = self.start
        self.expect_symbol("(")
        if self.at(*QUERY_WORDS) or self._at_table_query():
            found: Relation = DerivedTable(self.query())
        else:
            first = self._primary()
            if isinstance(first, DerivedTable) and not first.lateral and self.at_query_tail():
                found = DerivedTable(self.query_from(first.query, first.span.start))
            elif isinstance(first, DerivedTable) and self.at_symbol(")"):
                found = first
            else:
                found = self._separated(self._decorated(first))
        self.expect_symbol(")")
        self.leave()
        if isinstance(found, DerivedTable) and not found.lateral:
            return DerivedTable(found.query, span=self.since(start))
        return found

    def _at_table_query(self) -> bool:
        """Whether ``TABLE t`` comes next, and not ``TABLE(f(x))``."""
        return self.at("TABLE") and not self.symbol_ahead("(")

    def _sampled(self, found: Relation) -> Relation:
        self.expect("TABLESAMPLE")
        method = self.expect_any("BERNOULLI", "SYSTEM")
        self.expect_symbol("(")
        percentage = self.expression()
        self.expect_symbol(")")
        seed = None
        if self.accept("REPEATABLE"):
            self.expect_symbol("(")
            seed = self.expression()
            self.expect_symbol(")")
        return Sampled(found, method, percentage, seed, span=self.since(found.span.start))

    # --- hints --------------------------------------------------------------------------------

    def hints(self) -> tuple[Hint, ...]:
        """``/*+ NAME(...), NAME(...) */``, if it comes next."""
        if not self.at_symbol("/*+"):
            return ()
        self.take()
        found = [self._hint()]
        while self.accept_symbol(","):
            found.append(self._hint())
        self.expect_symbol("*/")
        return tuple(found)

    def _hint(self) -> Hint:
        start, name = self.start, self.identifier()
        keys: list[Expression] = []
        values: list[Expression] = []
        if self.accept_symbol("("):
            if not self.at_symbol(")"):
                self.listed(lambda: self._hint_value(keys, values))
            self.expect_symbol(")")
        return Hint(name, tuple(values), tuple(keys), span=self.since(start))

    def _hint_value(self, keys: list[Expression], values: list[Expression]) -> None:
        value = self._hint_word()
        if self.at_symbol("=") and len(keys) == len(values):
            self.take()
            keys.append(value)
            value = self._hint_word()
        elif keys:
            raise self.unexpected("=")
        values.append(value)

    def _hint_word(self) -> Expression:
        if self.token.kind is Kind.STRING:
            return self.text()
        if self.token.kind is Kind.NUMBER:
            token = self.take()
            return NumberLiteral(token.text, span=self._span(token))
        return self.name()
