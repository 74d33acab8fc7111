"""Look-ups in Postgres, through a pool of connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scurry.common.errors import JobError, ProgramError
from scurry.common.time import TimeSpan
from scurry.connectors.lookup.lookup import AsyncLookup
from scurry.connectors.postgres.connection import driver, server_of

_CONNECT_SECONDS = 30.0


class AsyncPostgresLookup(AsyncLookup):
    """Asks a query for each key: ``"SELECT name, tier FROM users WHERE id = %s"``.

    The key takes the place of ``%s``; a key that is a tuple has one ``%s`` for each part. What is
    found is a dict by column name, or with ``many`` a list of them. ``pool_size`` is how many
    queries an instance has under way at most, whatever the stream's capacity.
    """

    def __init__(
        self,
        dsn: str,
        query: str,
        key: Callable[[Any], Any],
        join: Callable[[Any, Any], Any] | None = None,
        *,
        many: bool = False,
        pool_size: int = 10,
        cache_size: int = 10_000,
        cache_ttl: TimeSpan = "1 min",
        missing_ttl: TimeSpan | None = None,
    ) -> None:
        super().__init__(key, join, cache_size, cache_ttl, missing_ttl)
        self.server = server_of(dsn)
        if pool_size < 1:
            raise ProgramError(f"The pool_size of a look-up must be 1 at least, got {pool_size!r}.")
        _pool_package()
        self._dsn = dsn
        self._query = query
        self._many = many
        self._pool_size = pool_size

    @staticmethod
    def of_table(
        dsn: str,
        table: str,
        key_columns: str | Sequence[str],
        key: Callable[[Any], Any],
        join: Callable[[Any, Any], Any] | None = None,
        *,
        columns: Sequence[str] = (),
        **options: Any,
    ) -> AsyncPostgresLookup:
        """Look up the row of ``table`` whose ``key_columns`` have the key's value: all its columns,
        or ``columns``. ``options`` are those of the constructor."""
        keys = [key_columns] if isinstance(key_columns, str) else list(key_columns)
        chosen = ", ".join(map(_quoted, columns)) or "*"
        where = " AND ".join(f"{_quoted(column)} = %s" for column in keys)
        source = ".".join(map(_quoted, table.split(".")))
        query = f"SELECT {chosen} FROM {source} WHERE {where}"
        return AsyncPostgresLookup(dsn, query, key, join, **options)

    async def connect(self) -> None:
        rows = driver().rows
        package = _pool_package()
        self._pool = package.AsyncConnectionPool(
            self._dsn,
            min_size=1,
            max_size=self._pool_size,
            open=False,
            kwargs={"autocommit": True, "row_factory": rows.dict_row},
        )
        try:
            await self._pool.open(wait=True, timeout=_CONNECT_SECONDS)
        except package.PoolTimeout:
            await self._pool.close()
            raise JobError(
                f"{self.server} could not be reached within {_CONNECT_SECONDS:.0f} s. Check that "
                "it runs and can be reached from the workers, and the user, password and database."
            ) from None

    async def disconnect(self) -> None:
        await self._pool.close()

    async def look_up(self, key: Any) -> Any:
        parameters = key if isinstance(key, tuple) else (key,)
        async with self._pool.connection() as connection:
            found = await (await connection.execute(self._query, parameters)).fetchall()
        if self._many:
            return found or None
        if len(found) > 1:
            raise JobError(
                f"{self.server}: there are {len(found)} rows for the key {key!r}. Make the query "
                "return one, or set many=True to get a list."
            )
        return found[0] if found else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def _pool_package() -> Any:
    try:
        import psycopg_pool
    except ImportError:
        raise ProgramError(
            "Look-ups in Postgres need the package psycopg_pool. Run: "
            "python -m pip install 'scurry[postgres]'"
        ) from None
    return psycopg_pool
