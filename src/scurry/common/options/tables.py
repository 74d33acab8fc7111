"""Options of tables and SQL: what a TableEnvironment reads from its configuration."""

from __future__ import annotations

from scurry.common.options.option import Option

BUILTIN_CATALOG: Option[str] = Option(
    "table.builtin-catalog-name",
    "string",
    "default_catalog",
    "The name of the catalog that every table environment begins with.",
    setter="EnvironmentSettings.Builder.with_built_in_catalog_name",
)
BUILTIN_DATABASE: Option[str] = Option(
    "table.builtin-database-name",
    "string",
    "default_database",
    "The name of the database that the first catalog begins with.",
    setter="EnvironmentSettings.Builder.with_built_in_database_name",
)
SQL_DIALECT: Option[str] = Option(
    "table.sql-dialect",
    "enum",
    "default",
    "The dialect that statements are written in; there is Flink's own only.",
    choices=("default",),
    setter="TableConfig.set_sql_dialect",
)
LOCAL_TIME_ZONE: Option[str] = Option(
    "table.local-time-zone",
    "string",
    "default",
    "The time zone of the session, which says how a TIMESTAMP_LTZ is shown and read as text: a "
    "name such as `Europe/Berlin`, an offset such as `GMT+02:00`, or `default`, the machine's own.",
    setter="TableConfig.set_local_timezone",
)
DML_SYNC: Option[bool] = Option(
    "table.dml-sync",
    "boolean",
    False,
    "Whether `execute_sql` waits for the job of an INSERT to end.",
)
STATE_TTL: Option[int] = Option(
    "table.exec.state.ttl",
    "duration",
    0,
    "How long the state of a key is kept after its last change; 0 is for ever. A key that comes "
    "again later begins anew, so results may differ from those without it.",
    least=0,
    setter="TableConfig.set_idle_state_retention",
)
MINI_BATCH: Option[bool] = Option(
    "table.exec.mini-batch.enabled",
    "boolean",
    False,
    "Whether an operator emits the net change of each key per micro-batch instead of every change. "
    "The table that the changes amount to is the same.",
)
MINI_BATCH_SIZE: Option[int] = Option(
    "table.exec.mini-batch.size",
    "integer",
    -1,
    "How many rows at most a GROUP BY without a window puts together into the net changes of its "
    "groups, with `table.exec.mini-batch.enabled`; -1 is all rows of a micro-batch, which is "
    "fastest. What two phases put together before it travels counts as one row.",
    least=-1,
)
MINI_BATCH_LATENCY: Option[int] = Option(
    "table.exec.mini-batch.allow-latency",
    "duration",
    0,
    "How long rows are collected with `table.exec.mini-batch.enabled`: the least time between the "
    "starts of two micro-batches, unless `scurry.batch.min-interval` says another.",
    least=0,
)
AGG_PHASE: Option[str] = Option(
    "table.optimizer.agg-phase-strategy",
    "enum",
    "AUTO",
    "Whether rows with equal keys are put together before they travel: TWO_PHASE and AUTO do so "
    "with `table.exec.mini-batch.enabled`, where the table is not updated and all aggregates can "
    "be computed from parts: counts, sums, averages, variances, extremes, and functions of your "
    "own with `merge`; ONE_PHASE never does.",
    choices=("AUTO", "ONE_PHASE", "TWO_PHASE"),
)
SPLIT_DISTINCT: Option[bool] = Option(
    "table.optimizer.distinct-agg.split.enabled",
    "boolean",
    False,
    "Whether the values of a DISTINCT aggregate are kept spread by value, so that a group with "
    "very many of them is not the work of one slot.",
)
NOT_NULL_ENFORCER: Option[str] = Option(
    "table.exec.sink.not-null-enforcer",
    "enum",
    "ERROR",
    "What becomes of a row that has no value in a NOT NULL column of its sink: ERROR ends the job, "
    "DROP leaves the row out.",
    choices=("ERROR", "DROP"),
)
UPSERT_MATERIALIZE: Option[str] = Option(
    "table.exec.sink.upsert-materialize",
    "enum",
    "AUTO",
    "Whether the rows that a sink upserts by its primary key are kept, so that of several with one "
    "key the one that came last counts: AUTO does so where the rows have another key of their own, "
    "FORCE always, NONE never.",
    choices=("AUTO", "NONE", "FORCE"),
)
CDC_DUPLICATES: Option[bool] = Option(
    "table.exec.source.cdc-events-duplicate",
    "boolean",
    False,
    "Whether tables of changes may be told of a change twice: then the rows of a table are kept by "
    "its primary key, which it needs, and a change that changes nothing is left out.",
)
SOURCE_IDLE_TIMEOUT: Option[int] = Option(
    "table.exec.source.idle-timeout",
    "duration",
    0,
    "After what time without records a partition of a source no longer holds the watermark back; "
    "0 is never.",
    least=0,
)
DEFAULT_PARALLELISM: Option[int] = Option(
    "table.exec.resource.default-parallelism",
    "integer",
    -1,
    "The parallelism of the jobs of a table environment; -1 leaves it to `parallelism.default`.",
    least=-1,
)
CODE_LENGTH: Option[int] = Option(
    "table.generated-code.max-length",
    "integer",
    4000,
    "How long the code may be that Flink generates; here none is.",
    least=1,
    setter="TableConfig.set_max_generated_code_length",
    effective=False,
)
MAX_COLUMN_WIDTH: Option[int] = Option(
    "table.display.max-column-width",
    "integer",
    30,
    "How many characters of a value `TableResult.print` shows, in streaming mode.",
    older=("sql-client.display.max-column-width",),
    least=1,
)
RESULT_MODE: Option[str] = Option(
    "sql-client.execution.result-mode",
    "enum",
    "TABLE",
    "How the SQL client shows results: the table as it changes, or its changes.",
    choices=("TABLE", "CHANGELOG", "TABLEAU"),
)
MAX_TABLE_ROWS: Option[int] = Option(
    "sql-client.execution.max-table-result.rows",
    "integer",
    1_000_000,
    "How many rows of a table the SQL client keeps.",
    least=1,
)
ASYNC_CALLS: Option[int] = Option(
    "table.exec.async-scalar.max-concurrent-operations",
    "integer",
    10,
    "How many calls of a scalar function that is awaited are under way at the same time, for each "
    "call in the query and each task.",
    least=1,
)
ASYNC_TIMEOUT: Option[int] = Option(
    "table.exec.async-scalar.timeout",
    "duration",
    180_000,
    "How long a row may wait for a scalar function that is awaited, all attempts included, before "
    "the query fails.",
    least=1,
)
ASYNC_RETRY: Option[str] = Option(
    "table.exec.async-scalar.retry-strategy",
    "enum",
    "FIXED_DELAY",
    "Whether a call of a scalar function that is awaited is made again after it failed.",
    choices=("FIXED_DELAY", "NO_RETRY"),
)
ASYNC_DELAY: Option[int] = Option(
    "table.exec.async-scalar.retry-delay",
    "duration",
    100,
    "How long to wait before such a call is made again.",
    least=0,
)
ASYNC_ATTEMPTS: Option[int] = Option(
    "table.exec.async-scalar.max-attempts",
    "integer",
    3,
    "How often such a call is made before the query fails.",
    least=1,
)
LOOKUP_MODE: Option[str] = Option(
    "table.exec.async-lookup.output-mode",
    "enum",
    "ORDERED",
    "Whether rows of an asynchronous lookup join keep their order, or may overtake each other "
    "between two watermarks; rows that updates take back are never overtaken.",
    choices=("ORDERED", "ALLOW_UNORDERED"),
)
LOOKUP_CAPACITY: Option[int] = Option(
    "table.exec.async-lookup.buffer-capacity",
    "integer",
    100,
    "How many calls of an asynchronous lookup join are under way at the same time, in each task.",
    least=1,
)
LOOKUP_TIMEOUT: Option[int] = Option(
    "table.exec.async-lookup.timeout",
    "duration",
    180_000,
    "How long an asynchronous lookup may take, all attempts included, before the query fails.",
    least=1,
)
