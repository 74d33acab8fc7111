"""Options of checkpoints, and of what becomes of their state when a job starts from one."""

from __future__ import annotations

from scurry.common.options.option import Option

CHECKPOINT_INTERVAL: Option[int | None] = Option(
    "execution.checkpointing.interval",
    "duration",
    None,
    "How old a checkpoint may get. Every micro-batch is one and they follow one another at once; "
    "those that take longer are made smaller.",
    least=1,
    setter="env.enable_checkpointing",
)
CHECKPOINT_DIRECTORY: Option[str | None] = Option(
    "execution.checkpointing.dir",
    "string",
    None,
    "Where checkpoints are kept: a path that driver and executors share, or a URL of an object "
    "store. Without it a job starts from nothing each time.",
    older=("state.checkpoints.dir", "state.backend.fs.checkpointdir"),
)
SYNC: Option[bool] = Option(
    "scurry.checkpoint.sync",
    "boolean",
    False,
    "Whether files are synced to disk before a commit counts, so that a checkpoint on a local disk "
    "survives a loss of power. Each micro-batch then waits for the disk twice. Without effect in "
    "an object store, which promises that by itself.",
)
STORE_OPTIONS: Option[None] = Option(
    "scurry.checkpoint.store",
    "map",
    None,
    "How the object store of execution.checkpointing.dir is reached: arguments of the file system "
    "in fsspec, such as endpoint_url, key and secret for s3. They are neither logged nor stored.",
)
STORE_CACHE: Option[int] = Option(
    "scurry.checkpoint.store-cache",
    "memory",
    4 << 30,
    "How much state of an object store each machine keeps on its disk, beside what is in use.",
    least=0,
)
LEASE_DURATION: Option[int] = Option(
    "scurry.checkpoint.lease-duration",
    "duration",
    60_000,
    "How long a driver may give no sign of life before another one may take its checkpoint over. "
    "A driver that has died on the same host is replaced at once.",
    least=100,
)
CHECKPOINTING_MODE: Option[str] = Option(
    "execution.checkpointing.mode",
    "enum",
    "EXACTLY_ONCE",
    "Whether sinks may repeat records after a failure.",
    choices=("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    setter="CheckpointConfig.set_checkpointing_mode",
)
IGNORE_UNCLAIMED_STATE: Option[bool] = Option(
    "execution.state-recovery.ignore-unclaimed-state",
    "boolean",
    False,
    "Whether a job may start although the checkpoint has state that no operator takes over, "
    "which is dropped then.",
    older=("execution.savepoint.ignore-unclaimed-state",),
    setter="scurry run -n",
)
ALLOW_DROPPED: Option[tuple[str, ...]] = Option(
    "scurry.state-recovery.allow-dropped",
    "list",
    (),
    "The uids of operators whose state may be dropped if no operator takes it over or can read it.",
    setter="scurry run --allow-dropped",
)
SAVEPOINT_DIRECTORY: Option[str | None] = Option(
    "execution.checkpointing.savepoint-dir",
    "string",
    None,
    "Where savepoints are written of which nobody says where.",
    older=("state.savepoints.dir", "savepoints.state.backend.fs.dir"),
    setter="env.set_default_savepoint_directory",
)
RECOVERY_PATH: Option[str | None] = Option(
    "execution.state-recovery.path",
    "string",
    None,
    "The savepoint that a job starts from. Its own checkpoint, in execution.checkpointing.dir, "
    "remembers that: a job that is started again goes on with the checkpoint.",
    older=("execution.savepoint.path",),
    setter="env.from_savepoint",
)
CHECKPOINT_TIMEOUT: Option[int] = Option(
    "execution.checkpointing.timeout",
    "duration",
    600_000,
    "How long a checkpoint may take in Flink; here a micro-batch takes the time it needs.",
    least=1,
    effective=False,
    setter="CheckpointConfig.set_checkpoint_timeout",
)
MIN_PAUSE: Option[int] = Option(
    "execution.checkpointing.min-pause",
    "duration",
    0,
    "The least pause between two checkpoints of Flink; here work goes on in checkpoints, not "
    "between them.",
    least=0,
    effective=False,
    setter="CheckpointConfig.set_min_pause_between_checkpoints",
)
CONCURRENT_CHECKPOINTS: Option[int] = Option(
    "execution.checkpointing.max-concurrent-checkpoints",
    "integer",
    1,
    "How many checkpoints Flink may have under way; here micro-batches follow one another.",
    least=1,
    effective=False,
    setter="CheckpointConfig.set_max_concurrent_checkpoints",
)
TOLERABLE_FAILURES: Option[int] = Option(
    "execution.checkpointing.tolerable-failed-checkpoints",
    "integer",
    0,
    "How many failed checkpoints Flink tolerates; here a micro-batch that fails is run again as "
    "the restart strategy says.",
    least=0,
    effective=False,
    setter="CheckpointConfig.set_tolerable_checkpoint_failure_number",
)
CHECKPOINT_RETENTION: Option[str] = Option(
    "execution.checkpointing.externalized-checkpoint-retention",
    "enum",
    "NO_EXTERNALIZED_CHECKPOINTS",
    "Whether Flink keeps checkpoints when a job is cancelled; here the checkpoint directory "
    "always stays.",
    choices=("DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
    effective=False,
    setter="CheckpointConfig.set_externalized_checkpoint_retention",
)
UNALIGNED: Option[bool] = Option(
    "execution.checkpointing.unaligned.enabled",
    "boolean",
    False,
    "Whether Flink's barriers overtake records; here there are no barriers to align.",
    older=("execution.checkpointing.unaligned",),
    effective=False,
    setter="CheckpointConfig.enable_unaligned_checkpoints",
)
UNALIGNED_FORCED: Option[bool] = Option(
    "execution.checkpointing.unaligned.forced",
    "boolean",
    False,
    "Whether Flink's barriers overtake records in iterations too; here there are none.",
    effective=False,
    setter="CheckpointConfig.set_force_unaligned_checkpoints",
)
ALIGNMENT_TIMEOUT: Option[int] = Option(
    "execution.checkpointing.aligned-checkpoint-timeout",
    "duration",
    0,
    "When Flink's barriers begin to overtake records; here there are none.",
    older=("execution.checkpointing.alignment-timeout",),
    least=0,
    effective=False,
    setter="CheckpointConfig.set_aligned_checkpoint_timeout",
)
SNAPSHOT_COMPRESSION: Option[bool] = Option(
    "execution.checkpointing.snapshot-compression",
    "boolean",
    False,
    "Whether Flink compresses snapshots of state; here the log of state is always compressed.",
    effective=False,
    setter="ExecutionConfig.set_use_snapshot_compression",
)
