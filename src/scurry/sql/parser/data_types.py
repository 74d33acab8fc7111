"""Data types: ``DECIMAL(10, 2) NOT NULL``, ``ROW<a INT, b ARRAY<STRING>>``, ``INT ARRAY``."""

from __future__ import annotations

from dataclasses import replace

from scurry.sql.ast.data_types import (
    CollectionType,
    FieldNode,
    IntervalQualifier,
    IntervalType,
    MapTypeNode,
    NamedType,
    RawTypeNode,
    RowTypeNode,
    TypeNode,
    UserType,
)
from scurry.sql.lexer import Kind
from scurry.sql.parser.cursor import Cursor

#: names of types that are one word, with how many numbers they may have
_SIMPLE = {
    **dict.fromkeys(
        ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "FLOAT", "REAL"), 0
    ),
    **dict.fromkeys(("STRING", "BYTES", "DATE", "VARIANT", "BITMAP"), 0),
    **dict.fromkeys(("VARCHAR", "VARBINARY", "TIMESTAMP_LTZ"), 1),
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), 2),
}
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


class TypeParser(Cursor):
    """Parses data types."""

    def data_type(self) -> TypeNode:
        """A type, with collections after it and NULL or NOT NULL."""
        self.enter()
        start = self.start
        found = self._nullable(self._plain_type(), start)
        while self.at("ARRAY", "MULTISET"):
            kind = self.take().word
            found = self._nullable(CollectionType(kind=kind, element=found), start)
        self.leave()
        return found

    def interval_qualifier(self) -> IntervalQualifier:
        """``DAY(3) TO SECOND(6)``."""
        start = self.start
        first = self._interval_unit()
        precision, fraction = None, None
        if self.accept_symbol("("):
            precision = self.integer()
            if first == "SECOND" and self.accept_symbol(","):
                fraction = self.integer()
            self.expect_symbol(")")
        last = self._interval_unit() if self.accept("TO") else None
        if last == "SECOND" and self.accept_symbol("("):
            fraction = self.integer()
            self.expect_symbol(")")
        return IntervalQualifier(first, precision, last, fraction, span=self.since(start))

    def _interval_unit(self) -> str:
        """The unit without its plural: ``HOURS`` is ``HOUR``."""
        return self.expect_any(*_UNITS, *(f"{unit}S" for unit in _UNITS)).removesuffix("S")

    def _nullable(self, found: TypeNode, start: int) -> TypeNode:
        nullable = None
        if self.accept("NOT", "NULL"):
            nullable = False
        elif self.peek().word != "ON" and self.accept("NULL"):
            nullable = True
        return replace(found, nullable=nullable, span=self.since(start))

    def _plain_type(self) -> TypeNode:
        start, word = self.start, self.token.word
        if word in _SIMPLE:
            self.take()
            return self._type_named(word, _SIMPLE[word], start)
        if word in _SPECIAL:
            self.take()
            return _SPECIAL[word](self, start)
        if self.at_name():
            return UserType(name=self.name(), span=self.since(start))
        raise self.unexpected("a data type")

    def _type_named(self, name: str, most: int, start: int) -> NamedType:
        numbers = self._type_numbers(most) if most else ()
        return NamedType(name=name, parameters=numbers, span=self.since(start))

    def _type_numbers(self, most: int) -> tuple[int, ...]:
        if not self.accept_symbol("("):
            return ()
        numbers = [self.integer()]
        while len(numbers) < most and self.accept_symbol(","):
            numbers.append(self.integer())
        self.expect_symbol(")")
        return tuple(numbers)

    def _type_varying(self, start: int) -> TypeNode:
        short = "BINARY" if self.peek(-1).word == "BINARY" else "CHAR"
        return self._type_named(f"VAR{short}" if self.accept("VARYING") else short, 1, start)

    def _type_double(self, start: int) -> TypeNode:
        self.accept("PRECISION")
        return NamedType(name="DOUBLE", span=self.since(start))

    def _type_time(self, start: int) -> TypeNode:
        numbers = self._type_numbers(1)
        if self.accept("WITHOUT"):
            self.expect("TIME", "ZONE")
        return NamedType(name="TIME", parameters=numbers, span=self.since(start))

    def _type_timestamp(self, start: int) -> TypeNode:
        numbers, name = self._type_numbers(1), "TIMESTAMP"
        if self.accept("WITHOUT"):
            self.expect("TIME", "ZONE")
        elif self.accept("WITH", "LOCAL"):
            self.expect("TIME", "ZONE")
            name = "TIMESTAMP_LTZ"
        return NamedType(name=name, parameters=numbers, span=self.since(start))

    def _type_interval(self, start: int) -> TypeNode:
        return IntervalType(qualifier=self.interval_qualifier(), span=self.since(start))

    def _type_array(self, start: int) -> TypeNode:
        kind = self.peek(-1).word
        self.expect_symbol("<")
        element = self.data_type()
        self.expect_symbol(">")
        return CollectionType(kind=kind, element=element, span=self.since(start))

    def _type_map(self, start: int) -> TypeNode:
        self.expect_symbol("<")
        key = self.data_type()
        self.expect_symbol(",")
        value = self.data_type()
        self.expect_symbol(">")
        return MapTypeNode(key=key, value=value, span=self.since(start))

    def _type_row(self, start: int) -> TypeNode:
        if self.accept_symbol("<>"):
            return RowTypeNode(fields=(), span=self.since(start))
        close = ")" if self.accept_symbol("(") else ">"
        if close == ">":
            self.expect_symbol("<")
        fields = () if self.at_symbol(close) else self.listed(self._type_field)
        self.expect_symbol(close)
        return RowTypeNode(fields=fields, span=self.since(start))

    def _type_field(self) -> FieldNode:
        name = self.identifier()
        kind = self.data_type()
        comment = self.string() if self.token.kind is Kind.STRING else None
        return FieldNode(name, kind, comment, span=self.since(name.span.start))

    def _type_raw(self, start: int) -> TypeNode:
        self.expect_symbol("(")
        class_name = self.string()
        self.expect_symbol(",")
        snapshot = self.string()
        self.expect_symbol(")")
        return RawTypeNode(class_name=class_name, snapshot=snapshot, span=self.since(start))


_SPECIAL = {
    "CHAR": TypeParser._type_varying,
    "CHARACTER": TypeParser._type_varying,
    "BINARY": TypeParser._type_varying,
    "DOUBLE": TypeParser._type_double,
    "TIME": TypeParser._type_time,
    "TIMESTAMP": TypeParser._type_timestamp,
    "INTERVAL": TypeParser._type_interval,
    "ARRAY": TypeParser._type_array,
    "MULTISET": TypeParser._type_array,
    "MAP": TypeParser._type_map,
    "ROW": TypeParser._type_row,
    "RAW": TypeParser._type_raw,
}
