"""Debezium's change events; PyFlink has them in its Table API only."""

from __future__ import annotations

from scurry.connectors.formats.debezium import DebeziumJsonDeserializationSchema

__all__ = ["DebeziumJsonDeserializationSchema"]
