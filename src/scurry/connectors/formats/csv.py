"""One line of CSV as a row.

A message is one line. Arrays and nested rows lie within a field, their elements separated by
another sign. Quoting and the treatment of odd lines follow Flink's CSV format.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from scurry.common.collection_types import ListTypeInfo
from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.serialization import DeserializationSchema, SerializationSchema
from scurry.common.type_information import TypeInformation, describe
from scurry.connectors.csv_fields import csv_fields
from scurry.connectors.formats.conversions import Convert, converter, is_bytes, naive, temporal

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]

#: Longer fields are quoted without a look at what they hold.
_LOOK_AT_MOST = 24


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads each message as one line of CSV."""

    def __init__(self, type_info: CompositeTypeInfo, settings: dict[str, Any]) -> None:
        self._type = type_info
        self._settings = settings
        self._prepare()

    def _prepare(self) -> None:
        lenient, delimiter = self._settings["ignore"], self._settings["elements"]
        self._fields = [_reader(f, delimiter, lenient) for f in self._type.field_types()]
        self._null = self._settings["null"]

    def __getstate__(self) -> Any:
        return self._type, self._settings

    def __setstate__(self, state: Any) -> None:
        self._type, self._settings = state
        self._prepare()

    def get_produced_type(self) -> TypeInformation | None:
        return self._type

    def deserialize(self, message: bytes) -> Any:
        try:
            return self._row(message)
        except (TypeMismatchError, UnicodeDecodeError):
            if self._settings["ignore"]:
                return None
            raise

    def _row(self, message: bytes) -> Any:
        text = message.decode()
        settings = self._settings
        if settings["comments"] and text.startswith("#"):
            return None
        delimiter, quote, escape = (settings[name] for name in ("delimiter", "quote", "escape"))
        try:
            values = csv_fields(text, delimiter, quote, escape, "message")
        except ValueError as failure:
            raise TypeMismatchError(f"{failure} in {describe(text)}") from None
        missing = len(self._fields) - len(values)
        if missing < 0 or (missing and not settings["ignore"]):
            raise TypeMismatchError(
                f"expected {len(self._fields)} fields, got {len(values)} in {describe(text)}"
            )
        values.extend([None] * missing)
        if self._null is not None:
            values = [None if value == self._null else value for value in values]
        return self._type.build(
            field(value) for field, value in zip(self._fields, values, strict=True)
        )

    class Builder:
        """Makes a :class:`CsvRowDeserializationSchema`."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type = _with_fields(type_info)
            self._settings: dict[str, Any] = {
                "delimiter": ",",
                "quote": '"',
                "escape": None,
                "elements": ";",
                "null": None,
                "comments": False,
                "ignore": False,
            }

        def _set(self, key: str, value: Any) -> CsvRowDeserializationSchema.Builder:
            self._settings[key] = value
            return self

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """The sign between fields, a comma without this."""
            return self._set("delimiter", _one_sign(delimiter))

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Whether lines that begin with ``#`` are passed over."""
            return self._set("comments", allow_comments)

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            """The sign between the elements of an array or a nested row, ``;`` without this."""
            return self._set("elements", delimiter)

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """The sign around fields that hold a delimiter."""
            return self._set("quote", _one_sign(c))

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """The sign that takes its meaning from the next."""
            return self._set("escape", _one_sign(c))

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """The text that stands for None."""
            return self._set("null", null_literal)

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Whether fields that cannot be read are None, and bad lines are passed over."""
            return self._set("ignore", ignore_parse_errors)

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(self._type, dict(self._settings))


class CsvRowSerializationSchema(SerializationSchema):
    """Writes each row as one line of CSV."""

    def __init__(self, type_info: CompositeTypeInfo, settings: dict[str, Any]) -> None:
        self._type = type_info
        self._settings = settings
        quote = settings["quote"] or ""
        self._safe = chr(max(ord(settings["delimiter"]), ord(quote or "\r"), 13) + 1)

    def serialize(self, value: Any) -> bytes:
        values = self._type.field_values(value)
        types = self._type.field_types()
        if len(values) != len(types):
            raise TypeMismatchError(
                f"expected a row of {len(types)} fields for CSV, got {describe(value)}"
            )
        fields = [self._field(item, kind) for item, kind in zip(values, types, strict=True)]
        line: str = self._settings["delimiter"].join(fields) + self._settings["line"]
        return line.encode()

    def _field(self, value: Any, declared: TypeInformation) -> str:
        if value is None:
            return str(self._settings["null"])
        text = _written(value, declared, self._settings["elements"])
        quote = self._settings["quote"]
        if quote is None or not (isinstance(value, str) or isinstance(declared, ListTypeInfo)):
            return text
        if len(text) <= _LOOK_AT_MOST and all(sign >= self._safe for sign in text):
            return text
        escape = self._settings["escape"] or quote
        return f"{quote}{text.replace(quote, escape + quote)}{quote}"

    class Builder:
        """Makes a :class:`CsvRowSerializationSchema`."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type = _with_fields(type_info)
            self._settings: dict[str, Any] = {
                "delimiter": ",",
                "quote": '"',
                "escape": None,
                "elements": ";",
                "null": "",
                "line": "\n",
            }

        def _set(self, key: str, value: Any) -> CsvRowSerializationSchema.Builder:
            self._settings[key] = value
            return self

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The sign between fields, a comma without this."""
            return self._set("delimiter", _one_sign(c))

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """What ends a line, a line feed without this."""
            return self._set("line", delimiter)

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """The sign between the elements of an array or a nested row, ``;`` without this."""
            return self._set("elements", delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Never quote."""
            return self._set("quote", None)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The sign around fields that hold a delimiter."""
            return self._set("quote", _one_sign(c))

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """The sign before a quote within a quoted field."""
            return self._set("escape", _one_sign(c))

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """The text that stands for None, empty without this."""
            return self._set("null", s)

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            return CsvRowSerializationSchema(self._type, dict(self._settings))


def _with_fields(declared: Any) -> CompositeTypeInfo:
    if not isinstance(declared, CompositeTypeInfo):
        raise ProgramError(
            f"CSV needs a type with fields, such as Types.ROW_NAMED(...), got {declared!r}."
        )
    return declared


def _one_sign(text: Any) -> str:
    if not isinstance(text, str) or len(text) != 1:
        raise ProgramError(f"CSV takes single characters as its signs, got {text!r}.")
    return text


def _reader(declared: TypeInformation, delimiter: str, lenient: bool) -> Convert:
    if isinstance(declared, ListTypeInfo) and not is_bytes(declared):
        item = converter(declared.elem_type, lenient)
        return lambda text: (
            None if text is None else [item(part) for part in text.split(delimiter) if text]
        )
    if isinstance(declared, CompositeTypeInfo):
        fields = [converter(field, lenient) for field in declared.field_types()]

        def nested(text: str | None) -> Any:
            if text is None:
                return None
            parts = text.split(delimiter)
            if len(parts) != len(fields):
                raise TypeMismatchError(
                    f"expected {len(fields)} nested fields, got {len(parts)} in {describe(text)}"
                )
            return declared.build(f(part) for f, part in zip(fields, parts, strict=True))

        return nested
    if temporal(declared) is datetime:
        plain = converter(declared, lenient)
        # CSV has a space where JSON has a T
        return lambda text: None if text is None else plain(text.replace(" ", "T", 1))
    return converter(declared, lenient)


def _written(value: Any, declared: TypeInformation, delimiter: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return naive(value).isoformat(" ")
    if isinstance(declared, ListTypeInfo):
        items = [_written(item, declared.elem_type, delimiter) for item in value]
        return delimiter.join(items)
    if isinstance(declared, CompositeTypeInfo):
        parts = zip(declared.field_values(value), declared.field_types(), strict=True)
        return delimiter.join(_written(item, kind, delimiter) for item, kind in parts)
    return str(value)
