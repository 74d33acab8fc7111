"""What a format is to the tables that use it, and the options that several formats have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from scurry.common.configuration import Configuration
from scurry.common.data_types import RowType
from scurry.common.options.option import Option
from scurry.connectors.row_formats import DecodingFormat, EncodingFormat
from scurry.table.factories.contract import TableOption

__all__ = ["IGNORE", "JSON_WRITING", "NULLS", "TIMESTAMPS", "FormatFactory"]

TIMESTAMPS: Option[str] = Option(
    "timestamp-format.standard",
    "enum",
    "SQL",
    "How timestamps are written: SQL is `2024-01-31 12:00:00.5`, ISO-8601 has a `T` in between.",
    choices=("SQL", "ISO-8601"),
)
IGNORE: Option[bool] = Option(
    "ignore-parse-errors",
    "boolean",
    False,
    "Whether malformed messages are passed over, and fields that cannot be read are NULL.",
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
#: how formats in JSON write
JSON_WRITING = (PLAIN, NULLS, KEY_MODE, KEY_LITERAL)


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
