"""Databases, by JDBC URLs: Postgres."""

from __future__ import annotations

from scurry.connectors.postgres.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]
