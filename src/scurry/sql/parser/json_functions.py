"""The JSON functions and their clauses."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from scurry.sql.ast.data_types import TypeNode
from scurry.sql.ast.json_functions import (
    JsonArray,
    JsonArrayAggregate,
    JsonBehavior,
    JsonEntry,
    JsonExists,
    JsonObject,
    JsonObjectAggregate,
    JsonQuery,
    JsonValue,
)
from scurry.sql.ast.node import Expression
from scurry.sql.parser.calls import CallParser

_OUTCOMES = ("NULL", "ERROR", "TRUE", "FALSE", "UNKNOWN", "DEFAULT", "EMPTY")
_Result = TypeVar("_Result", JsonValue, JsonQuery, JsonExists)


class JsonParser(CallParser):
    """Parses the JSON functions."""

    def json_exists(self) -> Expression:
        """``JSON_EXISTS(...)``."""
        start = self.start
        found = JsonExists(*self._json_and_path())
        return self._ended(self._behaviors(found), start)

    def json_value(self) -> Expression:
        """``JSON_VALUE(...)``."""
        start = self.start
        found = JsonValue(*self._json_and_path(), self._returning())
        return self._ended(self._behaviors(found), start)

    def json_query(self) -> Expression:
        """``JSON_QUERY(...)``."""
        start = self.start
        found = JsonQuery(*self._json_and_path(), self._returning(), self._wrapper())
        return self._ended(self._behaviors(found), start)

    def json_object(self) -> Expression:
        """``JSON_OBJECT(...)``."""
        start = self.start
        self._open()
        empty = self.at_symbol(")") or self._at_on_null()
        entries = () if empty else self.listed(self._entry)
        found = JsonObject(entries, self._on_null())
        self.expect_symbol(")")
        return replace(found, span=self.since(start))

    def json_array(self) -> Expression:
        """``JSON_ARRAY(...)``."""
        start = self.start
        self._open()
        empty = self.at_symbol(")") or self._at_on_null()
        items = () if empty else self.listed(self.expression)
        found = JsonArray(items, self._on_null())
        self.expect_symbol(")")
        return replace(found, span=self.since(start))

    def json_object_aggregate(self) -> Expression:
        """``JSON_OBJECTAGG(...)``."""
        start = self.start
        self._open()
        found = JsonObjectAggregate(self._entry(), self._on_null())
        self.expect_symbol(")")
        filtered = self.filter() if self.at("FILTER") else None
        return replace(found, filter=filtered, span=self.since(start))

    def json_array_aggregate(self) -> Expression:
        """``JSON_ARRAYAGG(...)``."""
        start = self.start
        self._open()
        found = JsonArrayAggregate(self.expression(), self._on_null())
        self.expect_symbol(")")
        filtered = self.filter() if self.at("FILTER") else None
        return replace(found, filter=filtered, span=self.since(start))

    def _open(self) -> None:
        self.take()
        self.expect_symbol("(")

    def _json_and_path(self) -> tuple[Expression, Expression]:
        self._open()
        json = self.expression()
        self.expect_symbol(",")
        return json, self.expression()

    def _returning(self) -> TypeNode | None:
        return self.data_type() if self.accept("RETURNING") else None

    def _wrapper(self) -> str:
        if self.accept("WITHOUT"):
            wrapper = "WITHOUT"
        elif self.accept("WITH"):
            wrapper = self.accept_any("CONDITIONAL", "UNCONDITIONAL") or "UNCONDITIONAL"
        else:
            return ""
        self.accept("ARRAY")
        self.expect("WRAPPER")
        return wrapper

    def _behaviors(self, found: _Result) -> _Result:
        while self.at(*_OUTCOMES):
            behavior = self._behavior()
            self.expect("ON")
            if not isinstance(found, JsonExists) and self.accept("EMPTY"):
                found = replace(found, on_empty=behavior)
            else:
                self.expect("ERROR")
                found = replace(found, on_error=behavior)
        return found

    def _behavior(self) -> JsonBehavior:
        start, kind = self.start, self.take().word
        if kind == "EMPTY":
            kind = f"EMPTY {self.expect_any('ARRAY', 'OBJECT')}"
        default = self.expression() if kind == "DEFAULT" else None
        return JsonBehavior(kind, default, span=self.since(start))

    def _entry(self) -> JsonEntry:
        start = self.start
        keyed = self.at("KEY") and not self.symbol_ahead(".", ",", "(", ":")
        if keyed:
            self.take()
        key = self.expression()
        if not self.accept_symbol(":"):
            self.expect("VALUE")
        return JsonEntry(key, self.expression(), span=self.since(start))

    def _at_on_null(self) -> bool:
        return self.at_words("NULL", "ON", "NULL") or self.at_words("ABSENT", "ON", "NULL")

    def _on_null(self) -> str:
        if not self._at_on_null():
            return ""
        word = self.take().word
        self.expect("ON", "NULL")
        return word

    def _ended(self, found: _Result, start: int) -> _Result:
        self.expect_symbol(")")
        return replace(found, span=self.since(start))
