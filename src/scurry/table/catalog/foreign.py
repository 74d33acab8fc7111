"""Catalogs of Flink's that are Java classes: programs can import them, and not make one."""

from __future__ import annotations

from scurry.common.unavailable import unavailable
from scurry.table.catalog.stored import StoredCatalog

__all__ = ["HiveCatalog", "JdbcCatalog"]

_INSTEAD = (
    "it is a Java class; keep tables in memory (GenericInMemoryCatalog), in a database file "
    "(DatabaseFileCatalog), or in a catalog of your own that extends Catalog"
)


class HiveCatalog(StoredCatalog):
    """Tables of a Hive metastore."""

    __init__ = unavailable("HiveCatalog", _INSTEAD)


class JdbcCatalog(StoredCatalog):
    """Tables of a database."""

    __init__ = unavailable("JdbcCatalog", _INSTEAD)
