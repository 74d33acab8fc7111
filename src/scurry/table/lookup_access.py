"""Tables that rows are looked up in: those of ``jdbc``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.errors import JobError
from scurry.connectors.lookup.cache import UNKNOWN, KeptAnswers
from scurry.connectors.lookup.postgres_rows import CacheSettings, PostgresRows
from scurry.connectors.postgres.connection import driver, server_of
from scurry.functions.lookups import AwaitedLookup
from scurry.table.factories.contract import TableContext
from scurry.table.factories.jdbc import (
    LOOKUP_ACCESS,
    LOOKUP_ASYNC,
    LOOKUP_CACHE,
    LOOKUP_MISSING,
    LOOKUP_RETRIES,
    LOOKUP_ROWS,
    LOOKUP_TTL,
    dsn_of,
    quoted_table,
    table_of,
)

__all__ = ["PostgresRowLookup", "make_lookup"]


def make_lookup(
    context: TableContext, names: Sequence[str], schema: pa.Schema, keys: tuple[str, ...]
) -> PostgresRowLookup | None:
    """What finds rows by key, None if the connector cannot."""
    if context.options.get("connector") != "jdbc":
        return None
    columns = ", ".join(quoted_table(name.replace(".", "\0")).replace("\0", ".") for name in names)
    return PostgresRowLookup(
        dsn_of(context),
        columns,
        quoted_table(table_of(context)),
        tuple(map(quoted_table, keys)),
        schema,
        _cache(context),
        retries=context.read(LOOKUP_RETRIES),
        awaiting=context.read(LOOKUP_ASYNC),
    )


def _cache(context: TableContext) -> CacheSettings:
    if context.read(LOOKUP_CACHE) != "PARTIAL":
        return CacheSettings()
    return CacheSettings(
        context.read(LOOKUP_ROWS),
        context.read(LOOKUP_TTL),
        context.read(LOOKUP_ACCESS),
        context.read(LOOKUP_MISSING),
    )


class PostgresRowLookup(AwaitedLookup):
    """Finds the rows of a table whose key columns have given values: one query for all distinct
    keys of a batch, or one for each key, with a cache in front if there is one."""

    def __init__(
        self,
        dsn: str,
        columns: str,
        table: str,
        keys: tuple[str, ...],
        schema: pa.Schema,
        cache: CacheSettings,
        retries: int = 3,
        awaiting: bool = False,
    ) -> None:
        self._dsn = dsn
        self._columns = columns
        self._table = table
        self._keys = keys
        self._schema = schema
        self._cache = cache
        self._retries = retries
        self.prefers_awaiting = awaiting
        self._kept: KeptAnswers
        self._connection: Any = None

    def open(self, context: Any) -> None:
        """Called in the worker before the first batch."""
        self._kept = self._cache.answers()

    def close(self) -> None:
        """Called in the worker after the last batch."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def awaited(self) -> PostgresRows:
        where = " AND ".join(f"{key} = %s" for key in self._keys)
        query = f"SELECT {self._columns} FROM {self._table} WHERE {where}"
        return PostgresRows(self._dsn, query, self._cache, self._retries)

    def columns_of(self, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        lists = list(zip(*rows, strict=True)) or [()] * len(self._schema)
        arrays = [
            pa.array(values, field.type) for values, field in zip(lists, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def lookup(self, keys: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray[Any, Any]]:
        """The rows found, and for each the number of the key it was found for."""
        wanted = list(zip(*(column.to_pylist() for column in keys.columns), strict=True))
        known = self._known(set(wanted))
        rows: list[Any] = []
        places: list[int] = []
        for place, key in enumerate(wanted):
            rows += known[key]
            places += [place] * len(known[key])
        return self.columns_of(rows), np.array(places, dtype=np.int64)

    def _known(self, keys: set[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[Any]]:
        known = {key: self._kept.get(key) for key in keys}
        missing = [key for key, rows in known.items() if rows is UNKNOWN]
        for key, rows in self._asked(missing).items():
            known[key] = rows
            self._kept.keep(key, rows)
        return known

    def _asked(self, keys: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[Any]]:
        found: dict[tuple[Any, ...], list[Any]] = {key: [] for key in keys}
        if not keys:
            return found
        names, one = ", ".join(self._keys), f"({', '.join(['%s'] * len(self._keys))})"
        query = (
            f"SELECT {self._columns}, {names} FROM {self._table} "
            f"WHERE ({names}) IN ({', '.join([one] * len(keys))})"
        )
        width = len(self._schema)
        for row in self._rows(query, [value for key in keys for value in key]):
            found.setdefault(tuple(row[width:]), []).append(tuple(row[:width]))
        return found

    def _rows(self, query: str, values: list[Any]) -> list[Any]:
        for attempt in range(self._retries + 1):
            try:
                if self._connection is None:
                    self._connection = driver().connect(self._dsn, autocommit=True)
                return list(self._connection.execute(query, values).fetchall())
            except driver().OperationalError as failure:
                self.close()
                if attempt == self._retries:
                    raise JobError(
                        f"Rows could not be looked up in {server_of(self._dsn)}: "
                        f"{str(failure).strip()}. Check that the server can be reached from the "
                        "workers, and restart the job."
                    ) from failure
                time.sleep(min(1.0 * (attempt + 1), 5.0))
        raise AssertionError("unreachable")
