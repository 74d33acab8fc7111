"""Formats of tables: between the bytes of messages and Arrow columns, many messages at a time.

Where :mod:`scurry.connectors.formats` makes one Python object of one message, a format of this
package makes columns of a whole list of messages, with the kinds of changes that they mean. Each
tries the fast way for all messages at once, and goes through them one by one only if that fails.
"""

from __future__ import annotations

from scurry.connectors.row_formats.contract import (
    DecodedRows,
    DecodingFormat,
    EncodingFormat,
    RowFormatError,
)

__all__ = ["DecodedRows", "DecodingFormat", "EncodingFormat", "RowFormatError"]
