"""Formats of change events by name: ``debezium-json``, ``canal-json``, ``maxwell-json``,
``ogg-json``."""

from __future__ import annotations

import re

from scurry.common.configuration import Configuration
from scurry.common.data_types import RowType
from scurry.common.errors import ConfigurationError
from scurry.common.options.option import Option
from scurry.connectors.row_formats import DecodingFormat, EncodingFormat
from scurry.connectors.row_formats.canal import CanalDecoding, CanalEncoding
from scurry.connectors.row_formats.debezium import DebeziumDecoding, DebeziumEncoding
from scurry.connectors.row_formats.maxwell import MaxwellDecoding, MaxwellEncoding
from scurry.connectors.row_formats.ogg import OggDecoding, OggEncoding
from scurry.runtime.expressions.java_regex import java_regex
from scurry.table.factories.contract import optional
from scurry.table.factories.format_factory import (
    IGNORE,
    JSON_WRITING,
    NULLS,
    TIMESTAMPS,
    FormatFactory,
)

__all__ = ["CHANGE_FORMATS"]


class DebeziumFactory(FormatFactory):
    """Debezium's change events."""

    identifier = "debezium-json"
    doc = "Debezium's change events in JSON: a changelog with the old and the new rows."
    SCHEMA: Option[bool] = Option(
        "schema-include", "boolean", False, "Whether messages carry their schema."
    )
    options = optional(SCHEMA, IGNORE, TIMESTAMPS, *JSON_WRITING)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        ignore, include = IGNORE.read(settings), self.SCHEMA.read(settings)
        return DebeziumDecoding(row_type, ignore, include, TIMESTAMPS.read(settings))

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        if self.SCHEMA.read(settings):
            raise ConfigurationError(
                "debezium-json.schema-include is for reading: events are written without schema."
            )
        return DebeziumEncoding(row_type, TIMESTAMPS.read(settings), NULLS.read(settings))


class CanalFactory(FormatFactory):
    """Canal's change events."""

    identifier = "canal-json"
    doc = "Canal's change events in JSON: a changelog with the old and the new rows."
    DATABASE: Option[str | None] = Option(
        "database.include",
        "string",
        None,
        "A regular expression for the databases whose events are read.",
    )
    TABLE: Option[str | None] = Option(
        "table.include",
        "string",
        None,
        "A regular expression for the tables whose events are read.",
    )
    options = optional(IGNORE, TIMESTAMPS, DATABASE, TABLE, *JSON_WRITING)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        ignore, timestamps = IGNORE.read(settings), TIMESTAMPS.read(settings)
        database, table = _pattern(self.DATABASE, settings), _pattern(self.TABLE, settings)
        return CanalDecoding(row_type, ignore, timestamps, database, table)

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        return CanalEncoding(row_type, TIMESTAMPS.read(settings), NULLS.read(settings))


def _pattern(option: Option[str | None], settings: Configuration) -> re.Pattern[str] | None:
    text = option.read(settings)
    try:
        return None if text is None else java_regex(text)
    except re.error as failure:
        raise ConfigurationError(
            f"canal-json.{option.key} is {text!r}, which is no regular expression: {failure}."
        ) from None


class MaxwellFactory(FormatFactory):
    """Maxwell's change events."""

    identifier = "maxwell-json"
    doc = "Maxwell's change events in JSON: a changelog with the old and the new rows."
    options = optional(IGNORE, TIMESTAMPS, *JSON_WRITING)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        return MaxwellDecoding(row_type, IGNORE.read(settings), TIMESTAMPS.read(settings))

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        return MaxwellEncoding(row_type, TIMESTAMPS.read(settings), NULLS.read(settings))


class OggFactory(FormatFactory):
    """Change events of Oracle GoldenGate."""

    identifier = "ogg-json"
    doc = "Oracle GoldenGate's change events in JSON: a changelog with the old and the new rows."
    options = optional(IGNORE, TIMESTAMPS, *JSON_WRITING)

    def decoding(self, row_type: RowType, settings: Configuration) -> DecodingFormat:
        return OggDecoding(row_type, IGNORE.read(settings), TIMESTAMPS.read(settings))

    def encoding(self, row_type: RowType, settings: Configuration) -> EncodingFormat:
        return OggEncoding(row_type, TIMESTAMPS.read(settings), NULLS.read(settings))


CHANGE_FORMATS = (DebeziumFactory(), CanalFactory(), MaxwellFactory(), OggFactory())
