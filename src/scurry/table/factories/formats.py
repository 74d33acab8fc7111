"""Formats of records by name. Those of change events are in :mod:`.change_formats`."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from typing import Any

from scurry.common.configuration import Configuration
from scurry.common.data_types import RowType
from scurry.common.errors import ConfigurationError
from scurry.common.options.option import Option
from scurry.connectors.row_formats import DecodingFormat, EncodingFormat
from scurry.connectors.row_formats.avro import AvroDecoding, AvroEncoding
from scurry.connectors.row_formats.csv import CsvDecoding, CsvEncoding, CsvSigns
from scurry.connectors.row_formats.json import JsonDecoding, JsonEncoding
from scurry.connectors.row_formats.raw import RawDecoding, RawEncoding
from scurry.table.catalog.errors import nearest
from scurry.table.factories.change_formats import CHANGE_FORMATS
from scurry.table.factories.contract import TableContext, check_options, optional, prefixed
from scurry.table.factories.format_factory import (
    IGNORE,
    JSON_WRITING,
    NULLS,
    TIMESTAMPS,
    FormatFactory,
)

__all__ = ["FORMATS", "FormatFactory", "format_of"]


class JsonFactory(FormatFactory):
    """JSON objects."""

    identifier = "json"
    doc = "JSON objects, a field for each column."
    MISSING: Option[bool] = Option(
        "fail-on-missing-field", "boolean", False, "Whether an object must have every field."
    )
    PARSER: Option[bool] = Option(
        "decode.json-parser.enabled",
        "boolean",
        True,
        "Which of Flink's two parsers reads; the result is the same.",
        effective=False,
    )
    options = optional(IGNORE, MISSING, TIMESTAMPS, *JSON_WRITING, PARSER)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        ignore, missing = IGNORE.read(settings), self.MISSING.read(settings)
        if ignore and missing:
            raise ConfigurationError(
                "json.fail-on-missing-field and json.ignore-parse-errors contradict each other: "
                "set one of them."
            )
        return JsonDecoding(row_type, ignore, missing, TIMESTAMPS.read(settings))

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        timestamps, nulls = TIMESTAMPS.read(settings), NULLS.read(settings)
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
        DELIMITER, NO_QUOTE, QUOTE, COMMENTS, IGNORE, ELEMENTS, ESCAPE, NULL, SCIENTIFIC
    )

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        ignore, comments = IGNORE.read(settings), self.COMMENTS.read(settings)
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
    for factory in (JsonFactory(), CsvFactory(), AvroFactory(), *CHANGE_FORMATS, RawFactory())
}


def format_of(
    context: TableContext, option: str, more: Iterable[str] = ()
) -> tuple[FormatFactory, Configuration]:
    """The format that ``option`` names (``format``, ``key.format``, ...) and its settings, checked:
    those below ``<prefix><format>.`` where the prefix is that of the option. ``more`` are formats
    of other kinds that there are for such a table, for messages."""
    name = context.options.get(option)
    if name is None:
        raise ConfigurationError(
            f"The table {context.name} lacks the option {option!r}: the format of its records. "
            + nearest("", [*FORMATS, *more])
        )
    factory = FORMATS.get(name)
    if factory is None:
        raise ConfigurationError(
            f"The table {context.name} has the {option} {name!r}, which there is not. "
            + nearest(name, [*FORMATS, *more])
        )
    prefix = f"{option.removesuffix('format')}{name}."
    given = prefixed(context.options, prefix)
    settings: dict[str, Any] = dict(given)
    scoped = TableContext(context.identifier, context.schema, settings, context.partition_keys)
    check_options(scoped, factory.options, f"the format {name!r}", settings)
    return factory, Configuration.from_dict(settings)
