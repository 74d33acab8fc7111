"""Configuration keys that Scurry reads, beside Flink's own."""

from __future__ import annotations

#: Key groups of a job that does not say otherwise.
KEY_GROUPS = 128

#: Whether operators share a task with what feeds them.
CHAINING = "pipeline.operator-chaining.enabled"
#: Where checkpoints are kept; without it a job starts from nothing each time.
CHECKPOINT_DIR = "execution.checkpointing.dir"
#: Whether sinks may repeat records after a failure: EXACTLY_ONCE or AT_LEAST_ONCE.
CHECKPOINTING_MODE = "execution.checkpointing.mode"
#: The least time between the starts of two micro-batches; without it they follow at once.
BATCH_INTERVAL = "execution.checkpointing.interval"
#: The most records a micro-batch reads from one source.
BATCH_RECORDS = "scurry.batch.max-records"
#: Where workers keep local copies of state; the temporary directory if unset.
LOCAL_DIR = "scurry.state.local-dir"
#: Where the working copy of state is: on disk (the default) or in memory. Flink's newer name for
#: the setting is read as well.
STATE_BACKEND = "state.backend"
STATE_BACKEND_TYPE = "state.backend.type"
#: Decoded entries that each state keeps in memory, per slot, from micro-batch to micro-batch.
STATE_CACHE = "state.backend.cache-size"
#: Whether windows with built-in aggregates run on whole columns. Results are the same either way,
#: what is stored is not: a job that goes on from a checkpoint is refused if it has changed.
VECTORISED = "scurry.windows.vectorised"
#: Whether records are combined, where possible, before they travel to such windows.
COMBINING = "scurry.windows.combine-before-hop"
#: Bytes of log up to which a slot's state is not compacted.
COMPACT_ABOVE = "scurry.state.compact-above"
#: Records of a slot above which state on disk may be held in sorted files instead of a tree.
RUNS_ABOVE = "scurry.state.runs-above"
#: Bytes of an entry of the log above which it is a file of the checkpoint.
FILES_ABOVE = "scurry.state.files-above"
#: What happens to an element on which a user function raises: fail or dead-letter.
ON_ERROR = "scurry.on-error"
#: What happens when a sink has committed batches that the checkpoint does not know: refuse,
#: truncate or append.
ON_OTHER_HISTORY = "scurry.sink.on-other-history"
#: Files, packages and archives that workers can import, separated by commas.
PYTHON_FILES = "python.files"
#: Archives that workers unpack, ``path#directory``, separated by commas.
PYTHON_ARCHIVES = "python.archives"
#: A requirements file, ``path`` or ``path#directory of packages``.
PYTHON_REQUIREMENTS = "python.requirements"
#: The interpreter that runs workers.
PYTHON_EXECUTABLE = "python.executable"
