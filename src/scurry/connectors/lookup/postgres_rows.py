"""Rows of a table in Postgres by key, for lookup joins that await them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from scurry.common.errors import JobError
from scurry.connectors.lookup.cache import KeptAnswers, LookupCache
from scurry.connectors.lookup.postgres import AsyncPostgresLookup
from scurry.connectors.postgres.connection import driver

__all__ = ["CacheSettings", "PostgresRows"]


@dataclass(frozen=True)
class CacheSettings:
    """How many answers are kept (0 for none), how long after they were written and used, and
    whether it is kept that there are no rows."""

    size: int = 0
    ttl_ms: int | None = None
    idle_ms: int | None = None
    missing: bool = True

    def answers(self) -> KeptAnswers:
        """An empty store of answers."""
        return KeptAnswers(self.size, self.ttl_ms, self._missing_ttl, self.idle_ms)

    def cache(self) -> LookupCache:
        """An empty cache for calls that are awaited."""
        return LookupCache(self.size, self.ttl_ms, self._missing_ttl, idle_ms=self.idle_ms)

    @property
    def _missing_ttl(self) -> int | None:
        return self.ttl_ms if self.missing else 0


class PostgresRows(AsyncPostgresLookup):
    """For a key, a tuple, the list of the rows that a query finds, each a tuple. A connection that
    breaks is made again, and the question repeated, up to ``retries`` times."""

    def __init__(self, dsn: str, query: str, cache: CacheSettings, retries: int) -> None:
        super().__init__(dsn, query, _itself, _found, many=True)
        self._settings = cache
        self._retries = retries

    def new_cache(self) -> LookupCache:
        return self._settings.cache()

    async def look_up(self, key: Any) -> Any:
        for attempt in range(self._retries + 1):
            try:
                rows = await super().look_up(key)
            except driver().OperationalError as failure:
                if attempt == self._retries:
                    raise JobError(
                        f"Rows could not be looked up in {self.server}: {str(failure).strip()}. "
                        "Check that the server can be reached from the workers, and restart the "
                        "job."
                    ) from failure
                await asyncio.sleep(min(1.0 * (attempt + 1), 5.0))
            else:
                return [tuple(row.values()) for row in rows or ()]
        raise AssertionError("unreachable")


def _itself(key: Any) -> Any:
    return key


def _found(key: Any, rows: Any) -> Any:
    return rows
