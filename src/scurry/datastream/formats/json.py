"""JSON, under the module name PyFlink has for it."""

from __future__ import annotations

from scurry.connectors.files.json_lines import JsonLinesFormat
from scurry.connectors.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

__all__ = [
    "JsonLinesFormat",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
]
