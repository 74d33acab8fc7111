"""Dialects of SQL."""

from __future__ import annotations

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """The dialect that statements are written in."""

    #: Flink's own
    DEFAULT = 0
    #: Hive's, which ``TableConfig.set_sql_dialect`` refuses
    HIVE = 1
