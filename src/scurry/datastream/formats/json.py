"""JSON, under the module name PyFlink has for it."""

from __future__ import annotations

from scurry.connectors.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

__all__ = [
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
]
