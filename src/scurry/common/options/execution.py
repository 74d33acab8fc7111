"""Options of a program and of its execution."""

from __future__ import annotations

from scurry.common.options.option import Option

#: Key groups of a job that does not say otherwise.
KEY_GROUPS = 128
#: The most key groups and instances there can be.
GREATEST_PARALLELISM = 1 << 15

#: The engines, as ``execution.engine`` names them.
MICRO_BATCH, LIVE = "micro-batch", "live"

ENGINE: Option[str] = Option(
    "execution.engine",
    "enum",
    MICRO_BATCH,
    "What executes the job: micro-batches in Spark's Structured Streaming, each of them a "
    "checkpoint, or long-running tasks that pass records on within milliseconds (`live`). A job "
    "can be stopped in one and go on in the other.",
    choices=(MICRO_BATCH, LIVE),
)
LIVE_LINGER: Option[int] = Option(
    "execution.live.linger",
    "duration",
    4,
    "In the live engine, the least time between the starts of two rounds: records that come "
    "meanwhile are handled together. 0 handles each as soon as it comes, which costs more.",
    least=0,
)
LIVE_ROUND_RECORDS: Option[int] = Option(
    "execution.live.max-round-records",
    "integer",
    50_000,
    "In the live engine, the most records that a round reads from one source.",
    least=1,
)
LIVE_ROUNDS: Option[int] = Option(
    "execution.live.rounds-in-flight",
    "integer",
    3,
    "In the live engine, how many rounds may be under way at the same time. With more of them, "
    "tasks wait less for each other, and hold more records in memory.",
    least=1,
)
LIVE_SNAPSHOT: Option[int] = Option(
    "execution.live.snapshot-above",
    "integer",
    5_000,
    "In the live engine, how many records of a slot have to have changed since the last checkpoint "
    "for a copy of the process to write them, so that the slot can go on meanwhile. -1: the slot "
    "writes all by itself, and stands still.",
    least=-1,
)
LIVE_SLOTS_WAIT: Option[int] = Option(
    "execution.live.wait-for-slots",
    "duration",
    30_000,
    "How long a job in the live engine, all of whose tasks run at the same time, waits until the "
    "cluster has a free slot for each of them, before it is refused.",
    least=0,
)
LIVE_TLS: Option[bool] = Option(
    "execution.live.tls",
    "boolean",
    False,
    "Whether connections of the live engine between machines are encrypted. The job makes a "
    "certificate for each attempt, for which the driver needs the extra `scurry[tls]`; Spark "
    "brings it to the tasks, so Spark's own connections should be encrypted, too.",
)

PARALLELISM: Option[int] = Option(
    "parallelism.default",
    "integer",
    -1,
    "How many slots operators get that do not say otherwise; -1 is the number of cores.",
    setter="env.set_parallelism",
)
MAX_PARALLELISM: Option[int] = Option(
    "pipeline.max-parallelism",
    "integer",
    -1,
    f"The number of key groups, which bounds rescaling and is fixed for the life of the state; "
    f"-1 is {KEY_GROUPS}.",
    setter="env.set_max_parallelism",
)
RUNTIME_MODE: Option[str] = Option(
    "execution.runtime-mode",
    "enum",
    "STREAMING",
    "How bounded input is run; AUTOMATIC is BATCH if all sources are bounded.",
    choices=("STREAMING", "BATCH", "AUTOMATIC"),
    setter="env.set_runtime_mode",
)
JOB_NAME: Option[str] = Option(
    "pipeline.name",
    "string",
    "Scurry job",
    "The name of jobs that are started without one.",
    setter="env.execute(name)",
)
CHAINING: Option[bool] = Option(
    "pipeline.operator-chaining.enabled",
    "boolean",
    True,
    "Whether operators share a stage with what feeds them.",
    older=("pipeline.operator-chaining",),
    setter="env.disable_operator_chaining",
)
OBJECT_REUSE: Option[bool] = Option(
    "pipeline.object-reuse",
    "boolean",
    False,
    "Whether objects are handed from function to function without copies; then no function may "
    "change, or keep, an object that it was given or has emitted.",
    setter="ExecutionConfig.enable_object_reuse",
)
JOB_PARAMETERS: Option[str] = Option(
    "pipeline.global-job-parameters",
    "map",
    "",
    "Parameters of the program's own, which every function can read; also as one key each, "
    "`pipeline.global-job-parameters.<name>`.",
    setter="ExecutionConfig.set_global_job_parameters",
)
BATCH_RECORDS: Option[int] = Option(
    "scurry.batch.max-records",
    "integer",
    500_000,
    "The most records that a micro-batch reads from one source. Unless it is set, micro-batches in "
    "Structured Streaming that are over in less than 0.7 s are followed by larger ones, of up to "
    "four times as many.",
    least=1,
)
BATCH_INTERVAL: Option[int | None] = Option(
    "scurry.batch.min-interval",
    "duration",
    None,
    "The least time between the starts of two micro-batches; without it they follow one another "
    "at once.",
    least=1,
)
VECTORISED: Option[bool] = Option(
    "scurry.windows.vectorised",
    "boolean",
    True,
    "Whether windows with built-in aggregates run on whole columns. Results are the same either "
    "way, what is stored is not: a job that has such windows in its checkpoint must keep it.",
)
COMBINING: Option[bool] = Option(
    "scurry.windows.combine-before-hop",
    "boolean",
    True,
    "Whether records are combined, where possible, before they travel to such windows.",
)
GENERATED_UIDS: Option[bool] = Option(
    "pipeline.auto-generate-uids",
    "boolean",
    True,
    "Whether operators without a uid get one that is derived from the program; if not, a program "
    "with such an operator is refused.",
    setter="ExecutionConfig.disable_auto_generated_uids",
)
ON_ERROR: Option[str] = Option(
    "scurry.on-error",
    "enum",
    "fail",
    "What happens when a user function raises: the job fails, or the element becomes a dead "
    "letter.",
    choices=("fail", "dead-letter"),
    setter="stream.on_error",
)
ON_OTHER_HISTORY: Option[str] = Option(
    "scurry.sink.on-other-history",
    "enum",
    "refuse",
    "What happens when a sink has committed micro-batches that the checkpoint does not know.",
    choices=("refuse", "truncate", "append"),
    setter="stream.sink_to(...).on_other_history",
)
