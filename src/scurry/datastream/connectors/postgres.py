"""Postgres."""

from __future__ import annotations

from scurry.connectors.postgres.sink import PostgresSink
from scurry.connectors.postgres.source import PostgresSource

__all__ = ["PostgresSink", "PostgresSource"]
