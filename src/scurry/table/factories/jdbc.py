"""The connector ``jdbc``, for Postgres."""

from __future__ import annotations

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import NotSupportedError
from scurry.common.options.option import Option
from scurry.connectors.patience import DEFAULT_SECONDS
from scurry.connectors.postgres.commits import COMMITS_TABLE
from scurry.connectors.postgres.jdbc import JdbcConnectionOptions
from scurry.connectors.postgres.sink import PostgresSink
from scurry.connectors.postgres.source import PostgresSource
from scurry.connectors.tables.postgres_rows import PostgresRows, PostgresRowSink
from scurry.table.factories.contract import (
    ConnectorFactory,
    ScanSource,
    TableContext,
    TableOption,
    TableSink,
    optional,
    taken,
)
from scurry.table.factories.simple import SINK_PARALLELISM, parallelism_of

__all__ = ["JdbcFactory"]

_URL: Option[str] = Option(
    "url", "string", "", "Where the database is, `jdbc:postgresql://host:5432/database`."
)
_TABLE: Option[str] = Option("table-name", "string", "", "The table in the database.")
_USER: Option[str] = Option("username", "string", "", "Who connects.")
_PASSWORD: Option[str] = Option("password", "string", "", "The password.")
_COLUMN: Option[str | None] = Option(
    "scan.partition.column",
    "string",
    None,
    "A column that orders the rows, so that they are read in several micro-batches.",
)
_TAKEN = taken(
    "driver",
    "connection.max-retry-timeout",
    "scan.partition.num",
    "scan.partition.lower-bound",
    "scan.partition.upper-bound",
    "scan.fetch-size",
    "scan.auto-commit",
    "sink.buffer-flush.max-rows",
    "sink.buffer-flush.interval",
    "sink.max-retries",
)
LOOKUP_CACHE: Option[str] = Option(
    "lookup.cache",
    "enum",
    "NONE",
    "Whether rows that a lookup join found are kept.",
    choices=("NONE", "PARTIAL"),
)
LOOKUP_ROWS: Option[int] = Option(
    "lookup.partial-cache.max-rows",
    "integer",
    10_000,
    "How many rows are kept.",
    older=("lookup.cache.max-rows",),
    least=1,
)
LOOKUP_TTL: Option[int | None] = Option(
    "lookup.partial-cache.expire-after-write",
    "duration",
    None,
    "How long a row is kept.",
    older=("lookup.cache.ttl",),
)
LOOKUP_ACCESS: Option[int | None] = Option(
    "lookup.partial-cache.expire-after-access",
    "duration",
    None,
    "How long a row is kept after it was used last.",
)
LOOKUP_MISSING: Option[bool] = Option(
    "lookup.partial-cache.cache-missing-key", "boolean", True, "Whether it is kept that none is."
)
LOOKUP_ASYNC: Option[bool] = Option(
    "lookup.async",
    "boolean",
    False,
    "Whether each key is asked for by a query of its own, many at a time; otherwise all keys of a "
    "micro-batch are asked for by one.",
)
LOOKUP_RETRIES: Option[int] = Option(
    "lookup.max-retries", "integer", 3, "How often a lookup that failed is tried again.", least=0
)


class JdbcFactory(ConnectorFactory):
    """Tables of a database."""

    identifier = "jdbc"
    doc = "Tables of Postgres: read once, looked up, or written by insert, upsert and delete."
    options = (
        TableOption(_URL, required=True),
        TableOption(_TABLE, required=True),
        *optional(
            _USER,
            _PASSWORD,
            _COLUMN,
            SINK_PARALLELISM,
            LOOKUP_ASYNC,
            LOOKUP_CACHE,
            LOOKUP_ROWS,
            LOOKUP_TTL,
            LOOKUP_ACCESS,
            LOOKUP_MISSING,
            LOOKUP_RETRIES,
            *_TAKEN,
        ),
    )

    def projects(self, context: TableContext) -> bool:
        return True

    def source(self, context: TableContext) -> ScanSource:
        row_type = context.physical
        names = ", ".join(f'"{name}"' for name in row_type.field_names())
        query = f"SELECT {names} FROM {quoted_table(context.read(_TABLE))}"
        source = PostgresSource.snapshot(dsn_of(context), query, context.read(_COLUMN))
        return ScanSource(PostgresRows(source, row_type), row_type, ChangelogMode.INSERT_ONLY)

    def sink(self, context: TableContext) -> TableSink:
        row_type = context.schema.to_sink_row_data_type()
        names, table, key = row_type.field_names(), context.read(_TABLE), context.primary_key
        dsn, parallelism = dsn_of(context), parallelism_of(context)
        if not key:
            sink = PostgresSink.append(dsn, table, names)
            return TableSink(sink, row_type, ChangelogMode.INSERT_ONLY, parallelism=parallelism)
        upserting = PostgresRowSink(dsn, table, key, names, DEFAULT_SECONDS, COMMITS_TABLE)
        return TableSink(upserting, row_type, ChangelogMode.UPSERT, key, parallelism)


def dsn_of(context: TableContext) -> str:
    """The database's address as Postgres's own tools want it."""
    user, password = context.read(_USER), context.read(_PASSWORD)
    options = JdbcConnectionOptions(context.read(_URL), user_name=user, password=password)
    try:
        return options.dsn()
    except NotSupportedError:
        raise context.refuse(
            f"its url {context.read(_URL)!r} is not of a database that Scurry can reach: only "
            "'jdbc:postgresql:' is."
        ) from None


def quoted_table(name: str) -> str:
    """The name of a table, perhaps with its schema, in Postgres's quotes."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def table_of(context: TableContext) -> str:
    """The table in the database."""
    name: str = context.read(_TABLE)
    return name
