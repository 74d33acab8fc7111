"""Calls of functions: arguments, clauses of aggregates, OVER, functions with words of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scurry.sql.ast.expressions import (
    Default,
    Descriptor,
    Frame,
    FrameBound,
    FunctionCall,
    ModelArgument,
    NamedArgument,
    OrderItem,
    Star,
    TableArgument,
    WindowSpecification,
    Word,
)
from scurry.sql.ast.node import Expression, Identifier, Name
from scurry.sql.ast.queries import ExplicitTable
from scurry.sql.lexer import Kind
from scurry.sql.parser.literals import LiteralParser

#: units of time in EXTRACT, FLOOR, TIMESTAMPADD and the like
UNITS = (
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "DOW", "DOY", "ISODOW",
    "ISOYEAR", "EPOCH", "DECADE", "CENTURY", "MILLENNIUM", "MILLISECOND", "MICROSECOND",
    "NANOSECOND",
)  # fmt: skip
_QUERY_WORDS = ("SELECT", "WITH", "VALUES")


class CallParser(LiteralParser):
    """Parses calls."""

    def call(self, name: Name) -> FunctionCall:
        """The rest of an ordinary call, from the parenthesis after its name on."""
        self.expect_symbol("(")
        quantifier = self.accept_any("DISTINCT", "ALL")
        if quantifier and self.at_symbol("*"):
            raise self.unexpected("an expression")
        arguments = () if self.at_symbol(")") else self.listed(self.argument)
        order_by = self.order_by() if self.at("ORDER") else ()
        self.expect_symbol(")")
        call = FunctionCall(name, arguments, quantifier, order_by)
        return self.call_clauses(call, name.span.start)

    def call_clauses(self, call: FunctionCall, start: int) -> FunctionCall:
        """What may stand after the parentheses of a call."""
        if self.accept("WITHIN", "GROUP"):
            self.expect_symbol("(")
            call = replace(call, within_group=self.order_by())
            self.expect_symbol(")")
        if self.token.word in ("IGNORE", "RESPECT") and self.peek().word == "NULLS":
            call = replace(call, nulls=self.take().word)
            self.take()
        if self.at("FILTER") and self.symbol_ahead("("):
            call = replace(call, filter=self.filter())
        if self.accept("OVER"):
            over = self.window() if self.at_symbol("(") else self.identifier()
            call = replace(call, over=over)
        return replace(call, span=self.since(start))

    def filter(self) -> Expression:
        """``FILTER (WHERE condition)``."""
        self.expect("FILTER")
        self.expect_symbol("(")
        self.expect("WHERE")
        condition = self.expression()
        self.expect_symbol(")")
        return condition

    # --- arguments ----------------------------------------------------------------------------

    def argument(self) -> Expression:
        """One argument, which may have a name, or be a table, a star, DEFAULT."""
        start = self.start
        if self.symbol_ahead("=>") and self.at_name():
            name = self.identifier()
            self.take()
            return NamedArgument(name, self._argument_value(), span=self.since(start))
        return self._argument_value()

    def _argument_value(self) -> Expression:
        start, after = self.start, self.peek()
        if self.at_symbol("*"):
            self.take()
            return Star(span=self.since(start))
        if self.accept("DEFAULT"):
            return Default(span=self.since(start))
        if self.at("TABLE"):
            return self.table_argument()
        if self.at("MODEL") and after.kind in (Kind.WORD, Kind.QUOTED):
            self.take()
            return ModelArgument(self.name(), span=self.since(start))
        if self.at(*_QUERY_WORDS):
            return self._partitioned(TableArgument(self.query()), start)
        return self.expression()

    def table_argument(self) -> Expression:
        """``TABLE t``, ``TABLE (query)``, with PARTITION BY and ORDER BY."""
        start = self.start
        self.expect("TABLE")
        if self.accept_symbol("("):
            query = self.query()
            self.expect_symbol(")")
        else:
            name = self.name()
            query = ExplicitTable(name, span=name.span)
        return self._partitioned(TableArgument(query), start)

    def _partitioned(self, argument: TableArgument, start: int) -> Expression:
        """Several columns are in parentheses: after a comma comes the next argument."""
        partition_by: tuple[Expression, ...] = ()
        if self.accept("PARTITION", "BY"):
            several = self.at_symbol("(")
            partition_by = self.in_parentheses(self.expression) if several else (self.expression(),)
        order_by: tuple[OrderItem, ...] = ()
        if self.accept("ORDER", "BY"):
            several = self.at_symbol("(")
            order_by = self.in_parentheses(self.order_item) if several else (self.order_item(),)
        return TableArgument(argument.query, partition_by, order_by, span=self.since(start))

    # --- windows ------------------------------------------------------------------------------

    def order_by(self) -> tuple[OrderItem, ...]:
        """``ORDER BY a DESC, b``."""
        self.expect("ORDER", "BY")
        return self.listed(self.order_item)

    def order_item(self) -> OrderItem:
        """One expression to order by."""
        start = self.start
        expression = self.expression()
        descending = self.accept_any("ASC", "DESC") == "DESC"
        nulls = self.expect_any("FIRST", "LAST") if self.accept("NULLS") else None
        return OrderItem(expression, descending, nulls, span=self.since(start))

    def window(self) -> WindowSpecification:
        """What stands in parentheses after OVER."""
        start = self.start
        self.expect_symbol("(")
        base = None
        if self.at_name() and self.token.word not in ("ROWS", "RANGE"):
            base = self.identifier()
        partition_by: tuple[Expression, ...] = ()
        if self.accept("PARTITION", "BY"):
            partition_by = self.listed(self.expression)
        order_by = self.order_by() if self.at("ORDER") else ()
        frame = self._frame() if self.at("ROWS", "RANGE") else None
        self.expect_symbol(")")
        return WindowSpecification(base, partition_by, order_by, frame, span=self.since(start))

    def _frame(self) -> Frame:
        start, unit = self.start, self.take().word
        if not self.accept("BETWEEN"):
            return Frame(unit, self._bound(), span=self.since(start))
        first = self._bound()
        self.expect("AND")
        return Frame(unit, first, self._bound(), span=self.since(start))

    def _bound(self) -> FrameBound:
        start = self.start
        if self.accept("CURRENT", "ROW"):
            return FrameBound("CURRENT ROW", span=self.since(start))
        offset = None if self.accept("UNBOUNDED") else self.expression(_ABOVE_BETWEEN)
        return FrameBound(self.expect_any("PRECEDING", "FOLLOWING"), offset, span=self.since(start))

    # --- functions with words of their own ------------------------------------------------------

    def special_call(self, parse: Callable[[], tuple[Expression, ...]]) -> FunctionCall:
        """A call whose arguments ``parse`` takes from within the parentheses."""
        start = self.start
        token = self.take()
        name = Name((Identifier(token.word, span=self._span(token)),), span=self._span(token))
        self.expect_symbol("(")
        arguments = parse()
        self.expect_symbol(")")
        return self.call_clauses(FunctionCall(name, arguments), start)

    def unit(self) -> Expression:
        """A unit of time."""
        start, word = self.start, self.token.word.removeprefix("SQL_TSI_").removesuffix("S")
        if word not in UNITS:
            raise self.unexpected("a unit of time such as DAY")
        self.take()
        return Word(word, span=self.since(start))

    def _extract(self) -> tuple[Expression, ...]:
        unit = self.unit()
        self.expect("FROM")
        return unit, self.expression()

    def _position(self) -> tuple[Expression, ...]:
        part = self.expression(_ABOVE_BETWEEN)
        self.expect("IN")
        whole = self.expression()
        return (part, whole, self.expression()) if self.accept("FROM") else (part, whole)

    def _overlay(self) -> tuple[Expression, ...]:
        whole = self.expression()
        self.expect("PLACING")
        part = self.expression()
        self.expect("FROM")
        start = self.expression()
        return (whole, part, start, *([self.expression()] if self.accept("FOR") else []))

    def _substring(self) -> tuple[Expression, ...]:
        whole = self.expression()
        if not self.accept("FROM"):
            self.expect_symbol(",")
        start = self.expression()
        more = self.accept("FOR") or self.accept_symbol(",")
        return (whole, start, *([self.expression()] if more else []))

    def _trim(self) -> tuple[Expression, ...]:
        start = self.start
        side = self.accept_any("BOTH", "LEADING", "TRAILING")
        where = Word(side or "BOTH", span=self.since(start))
        if side and self.accept("FROM"):
            return where, self.expression()
        first = self.expression()
        return (where, self.expression(), first) if self.accept("FROM") else (where, first)

    def _floor(self) -> tuple[Expression, ...]:
        value = self.expression()
        if self.accept("TO"):
            return value, self.unit()
        return (value, self.expression()) if self.accept_symbol(",") else (value,)

    def _timestamp_add(self) -> tuple[Expression, ...]:
        unit = self.unit()
        self.expect_symbol(",")
        count = self.expression()
        self.expect_symbol(",")
        return unit, count, self.expression()

    def _descriptor(self) -> Expression:
        start = self.start
        self.take()
        self.expect_symbol("(")
        columns, types = [self.identifier()], []
        if not self.at_symbol(",", ")"):
            types.append(self.data_type())
        while self.accept_symbol(","):
            columns.append(self.identifier())
            if types:
                types.append(self.data_type())
        self.expect_symbol(")")
        return Descriptor(tuple(columns), tuple(types), span=self.since(start))


_ABOVE_BETWEEN = 33

SPECIAL_CALLS: dict[str, Callable[[CallParser], tuple[Expression, ...]]] = {
    "EXTRACT": CallParser._extract,
    "POSITION": CallParser._position,
    "OVERLAY": CallParser._overlay,
    "SUBSTRING": CallParser._substring,
    "TRIM": CallParser._trim,
    "FLOOR": CallParser._floor,
    "CEIL": CallParser._floor,
    "CEILING": CallParser._floor,
    "TIMESTAMPADD": CallParser._timestamp_add,
    "TIMESTAMPDIFF": CallParser._timestamp_add,
}
