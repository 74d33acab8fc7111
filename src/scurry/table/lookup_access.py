"""Tables that rows are looked up in: those of ``jdbc``."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.errors import JobError
from scurry.connectors.postgres.connection import driver, server_of
from scurry.table.factories.contract import TableContext
from scurry.table.factories.jdbc import (
    LOOKUP_ACCESS,
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
    query = f"SELECT {columns} FROM {quoted_table(table_of(context))}"
    cached = context.read(LOOKUP_CACHE) == "PARTIAL"
    ttl = context.read(LOOKUP_TTL) or context.read(LOOKUP_ACCESS)
    return PostgresRowLookup(
        dsn_of(context),
        query,
        keys,
        schema,
        cache_rows=context.read(LOOKUP_ROWS) if cached else 0,
        cache_ms=ttl,
        cache_missing=context.read(LOOKUP_MISSING),
        retries=context.read(LOOKUP_RETRIES),
    )


class PostgresRowLookup:
    """Finds the rows of a table whose key columns have given values: one query for all distinct
    keys of a batch, with a cache in front if there is one."""

    def __init__(
        self,
        dsn: str,
        query: str,
        keys: tuple[str, ...],
        schema: pa.Schema,
        *,
        cache_rows: int = 0,
        cache_ms: int | None = None,
        cache_missing: bool = True,
        retries: int = 3,
    ) -> None:
        self._dsn = dsn
        self._query = query
        self._keys = keys
        self._schema = schema
        self._most = cache_rows
        self._ttl = None if cache_ms is None else cache_ms / 1000
        self._missing = cache_missing
        self._retries = retries
        self._cache: OrderedDict[tuple[Any, ...], tuple[float, list[Any]]] = OrderedDict()
        self._connection: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": OrderedDict(), "_connection": None}

    def open(self, context: Any) -> None:
        """Called in the worker before the first batch."""

    def close(self) -> None:
        """Called in the worker after the last batch."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def lookup(self, keys: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray[Any, Any]]:
        """The rows found, and for each the number of the key it was found for; a key that holds a
        NULL finds nothing."""
        wanted = list(zip(*(column.to_pylist() for column in keys.columns), strict=True))
        known = self._known({key for key in wanted if None not in key})
        rows: list[Any] = []
        places: list[int] = []
        for place, key in enumerate(wanted):
            for row in known.get(key, ()):
                rows.append(row)
                places.append(place)
        lists = list(zip(*rows, strict=True)) or [()] * len(self._schema)
        arrays = [
            pa.array(values, field.type) for values, field in zip(lists, self._schema, strict=True)
        ]
        found = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        return found, np.array(places, dtype=np.int64)

    def _known(self, keys: set[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[Any]]:
        now = time.monotonic()
        known: dict[tuple[Any, ...], list[Any]] = {}
        for key in keys:
            kept = self._cache.get(key)
            if kept is not None and (self._ttl is None or now - kept[0] < self._ttl):
                self._cache.move_to_end(key)
                known[key] = kept[1]
        missing = [key for key in keys if key not in known]
        for key, rows in self._asked(missing).items():
            known[key] = rows
            if self._most and (rows or self._missing):
                self._cache[key] = (now, rows)
        while len(self._cache) > self._most:
            self._cache.popitem(last=False)
        return known

    def _asked(self, keys: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[Any]]:
        found: dict[tuple[Any, ...], list[Any]] = {key: [] for key in keys}
        if not keys:
            return found
        names = [quoted_table(name) for name in self._keys]
        one = f"({', '.join(['%s'] * len(names))})"
        query = f"{self._query} WHERE ({', '.join(names)}) IN ({', '.join([one] * len(keys))})"
        head, _, tail = query.partition(" FROM ")
        rows = self._rows(f"{head}, {', '.join(names)} FROM {tail}", [v for k in keys for v in k])
        width = len(self._schema)
        for row in rows:
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
