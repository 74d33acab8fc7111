"""Formats by name: ``json``, ``csv``, ``avro``, ``debezium-json``, ``raw``."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from scurry.common.configuration import Configuration
from scurry.common.data_types import RowType
from scurry.common.errors import ConfigurationError
from scurry.common.options.option import Option
from scurry.connectors.row_formats import DecodingFormat, EncodingFormat
from scurry.connectors.row_formats.avro import AvroDecoding, AvroEncoding
from scurry.connectors.row_formats.csv import CsvDecoding, CsvEncoding, CsvSigns
from scurry.connectors.row_formats.debezium import DebeziumDecoding, DebeziumEncoding
from scurry.connectors.row_formats.json import JsonDecoding, JsonEncoding
from scurry.connectors.row_formats.raw import RawDecoding, RawEncoding
from scurry.table.catalog.errors import nearest
from scurry.table.factories.contract import (
    TableContext,
    TableOption,
    check_options,
    optional,
    prefixed,
)

__all__ = ["FORMATS", "FormatFactory", "format_of"]

_TIMESTAMPS: Option[str] = Option(
    "timestamp-format.standard",
    "enum",
    "SQL",
    "How timestamps are written: SQL is `2024-01-31 12:00:00.5`, ISO-8601 has a `T` in between.",
    choices=("SQL", "ISO-8601"),
)
_IGNORE: Option[bool] = Option(
    "ignore-parse-errors",
    "boolean",
    False,
    "Whether malformed messages are passed over, and fields that cannot be read are NULL.",
)


class FormatFactory(ABC):
    """Makes the two halves of a format. Options are named without the format's prefix."""

    identifier: str
    doc: str
    options: Sequence[TableOption] = ()

    @abstractmethod
    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        """What reads messages."""

    @abstractmethod
    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        """What writes messages."""


class JsonFactory(FormatFactory):
    """JSON objects."""

    identifier = "json"
    doc = "JSON objects, a field for each column."
    MISSING: Option[bool] = Option(
        "fail-on-missing-field", "boolean", False, "Whether an object must have every field."
    )
    PLAIN: Option[bool] = Option(
        "encode.decimal-as-plain-number",
        "boolean",
        False,
        "Whether decimals are written without an exponent; they always are.",
        effective=False,
    )
    NULLS: Option[bool] = Option(
        "encode.ignore-null-fields", "boolean", False, "Whether fields that are NULL are left out."
    )
    KEY_MODE: Option[str] = Option(
        "map-null-key.mode",
        "enum",
        "FAIL",
        "What becomes of a map's key that is NULL, which Arrow's maps do not have.",
        choices=("FAIL", "DROP", "LITERAL"),
        effective=False,
    )
    KEY_LITERAL: Option[str] = Option(
        "map-null-key.literal",
        "string",
        "null",
        "The text in place of a map's key that is NULL.",
        effective=False,
    )
    PARSER: Option[bool] = Option(
        "decode.json-parser.enabled",
        "boolean",
        True,
        "Which of Flink's two parsers reads; the result is the same.",
        effective=False,
    )
    options = optional(_IGNORE, MISSING, _TIMESTAMPS, PLAIN, NULLS, KEY_MODE, KEY_LITERAL, PARSER)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        ignore, missing = _IGNORE.read(settings), self.MISSING.read(settings)
        if ignore and missing:
            raise ConfigurationError(
                "json.fail-on-missing-field and json.ignore-parse-errors contradict each other: "
                "set one of them."
            )
        return JsonDecoding(row_type, ignore, missing, _TIMESTAMPS.read(settings))

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        timestamps, nulls = _TIMESTAMPS.read(settings), self.NULLS.read(settings)
        return JsonEncoding(row_type, timestamps, True, nulls)


class CsvFactory(FormatFactory):
    """Lines of CSV."""

    identifier = "csv"
    doc = "Lines of comma-separated values, in the order of the columns."
    DELIMITER: Option[str] = Option("field-delimiter", "string", ",", "The sign between fields.")
    NO_QUOTE: Option[bool] = Option(
        "disable-quote-character", "boolean", False, "Whether fields are never quoted."
    )
    QUOTE: Option[str] = Option(
        "quote-character", "string", '"', "The sign around fields that hold a delimiter."
    )
    COMMENTS: Option[bool] = Option(
        "allow-comments", "boolean", False, "Whether lines that begin with `#` are passed over."
    )
    ELEMENTS: Option[str] = Option(
        "array-element-delimiter", "string", ";", "The sign between the elements of an array."
    )
    ESCAPE: Option[str | None] = Option(
        "escape-character", "string", None, "The sign that takes its meaning from the next."
    )
    NULL: Option[str | None] = Option(
        "null-literal", "string", None, "The text that stands for NULL."
    )
    SCIENTIFIC: Option[bool] = Option(
        "write-bigdecimal-in-scientific-notation",
        "boolean",
        True,
        "Whether Flink writes large decimals with an exponent; here they never have one.",
        effective=False,
    )
    options = optional(
        DELIMITER, NO_QUOTE, QUOTE, COMMENTS, _IGNORE, ELEMENTS, ESCAPE, NULL, SCIENTIFIC
    )

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        ignore, comments = _IGNORE.read(settings), self.COMMENTS.read(settings)
        return CsvDecoding(row_type, self._signs(settings), ignore, comments)

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        return CsvEncoding(row_type, self._signs(settings))

    def _signs(self, settings: Configuration) -> CsvSigns:
        quote = None if self.NO_QUOTE.read(settings) else self.QUOTE.read(settings)
        delimiter = codecs.decode(self.DELIMITER.read(settings), "unicode_escape")
        escape = self.ESCAPE.read(settings)
        for key, sign in (
            (self.DELIMITER.key, delimiter),
            (self.QUOTE.key, quote),
            (self.ESCAPE.key, escape),
        ):
            if sign is not None and len(sign) != 1:
                raise ConfigurationError(f"csv.{key} is {sign!r}; it must be one character.")
        elements = self.ELEMENTS.read(settings)
        return CsvSigns(delimiter, quote, escape, elements, self.NULL.read(settings))


class AvroFactory(FormatFactory):
    """Avro records."""

    identifier = "avro"
    doc = "Avro records of the schema that the table's columns make."
    ENCODING: Option[str] = Option(
        "encoding", "enum", "binary", "How records are written.", choices=("binary",)
    )
    CODEC: Option[str] = Option(
        "codec",
        "string",
        "deflate",
        "How blocks of files are compressed; here always by deflate.",
        effective=False,
    )
    LEGACY: Option[bool] = Option(
        "timestamp_mapping.legacy",
        "boolean",
        True,
        "How Flink maps timestamps; here TIMESTAMP is local-timestamp and TIMESTAMP_LTZ timestamp.",
        effective=False,
    )
    options = optional(ENCODING, CODEC, LEGACY)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        return AvroDecoding(row_type)

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        return AvroEncoding(row_type)


class DebeziumFactory(FormatFactory):
    """Debezium's change events."""

    identifier = "debezium-json"
    doc = "Debezium's change events in JSON: a changelog with the old and the new rows."
    SCHEMA: Option[bool] = Option(
        "schema-include", "boolean", False, "Whether messages carry their schema."
    )
    options = optional(SCHEMA, _IGNORE, _TIMESTAMPS)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        ignore, include = _IGNORE.read(settings), self.SCHEMA.read(settings)
        return DebeziumDecoding(row_type, ignore, include, _TIMESTAMPS.read(settings))

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        if self.SCHEMA.read(settings):
            raise ConfigurationError(
                "debezium-json.schema-include is for reading: events are written without schema."
            )
        return DebeziumEncoding(row_type, _TIMESTAMPS.read(settings))


class RawFactory(FormatFactory):
    """Messages as they are."""

    identifier = "raw"
    doc = "Messages as they are: one column."
    CHARSET: Option[str] = Option("charset", "string", "UTF-8", "The encoding of texts.")
    ENDIAN: Option[str] = Option(
        "endianness",
        "enum",
        "big-endian",
        "The order of the bytes of numbers.",
        choices=("big-endian", "little-endian"),
    )
    options = optional(CHARSET, ENDIAN)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        return RawDecoding(row_type, *self._read(settings))

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        return RawEncoding(row_type, *self._read(settings))

    def _read(self, settings: Configuration) -> tuple[str, bool]:
        charset = self.CHARSET.read(settings)
        try:
            codecs.lookup(charset)
        except LookupError:
            raise ConfigurationError(f"raw.charset is {charset!r}, which is no encoding.") from None
        return charset, self.ENDIAN.read(settings) == "big-endian"


FORMATS: Mapping[str, FormatFactory] = {
    factory.identifier: factory
    for factory in (JsonFactory(), CsvFactory(), AvroFactory(), DebeziumFactory(), RawFactory())
}


def format_of(context: TableContext, option: str) -> tuple[FormatFactory, Configuration]:
    """The format that ``option`` names (``format``, ``key.format``, ...) and its settings, checked:
    those below ``<prefix><format>.`` where the prefix is that of the option."""
    name = context.options.get(option)
    if name is None:
        raise ConfigurationError(
            f"The table {context.name} lacks the option {option!r}: the format of its records. "
            + nearest("", FORMATS)
        )
    factory = FORMATS.get(name)
    if factory is None:
        raise ConfigurationError(
            f"The table {context.name} has the {option} {name!r}, which there is not. "
            + nearest(name, FORMATS)
        )
    prefix = f"{option.removesuffix('format')}{name}."
    given = prefixed(context.options, prefix)
    settings: dict[str, Any] = dict(given)
    scoped = TableContext(context.identifier, context.schema, settings, context.partition_keys)
    check_options(scoped, factory.options, f"the format {name!r}", settings)
    return factory, Configuration.from_dict(settings)
