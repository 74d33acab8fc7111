"""Options of state: where its working copy lives and how it is stored."""

from __future__ import annotations

from scurry.common.options.option import Option

STATE_BACKEND: Option[str] = Option(
    "state.backend.type",
    "enum",
    "disk",
    "Where the working copy of state is; rocksdb and forst mean disk, hashmap, jobmanager and "
    "filesystem mean memory.",
    older=("state.backend",),
    choices=("disk", "memory"),
    aliases={
        "rocksdb": "disk",
        "forst": "disk",
        "hashmap": "memory",
        "jobmanager": "memory",
        "filesystem": "memory",
    },
)
STATE_CACHE: Option[int] = Option(
    "state.backend.cache-size",
    "integer",
    100_000,
    "Decoded entries that each state keeps in memory, per slot, from micro-batch to micro-batch.",
    least=0,
)
LOCAL_DIRECTORY: Option[str] = Option(
    "scurry.state.local-dir",
    "string",
    "",
    "Where workers keep local copies of state; the temporary directory if it is not set.",
)
COMPACT_ABOVE: Option[int] = Option(
    "scurry.state.compact-above",
    "memory",
    4 << 20,
    "The size of the log up to which a slot's state is not compacted.",
    least=0,
)
RUNS_ABOVE: Option[int] = Option(
    "scurry.state.runs-above",
    "integer",
    200_000,
    "Records of a slot above which keyed state on disk, of which a micro-batch changes many, is "
    "held in sorted files instead of a tree.",
    least=0,
)
FILES_ABOVE: Option[int] = Option(
    "scurry.state.files-above",
    "memory",
    256 << 10,
    "The size of an entry of the log above which it is a file of the checkpoint.",
    least=0,
)
CHANGELOG: Option[bool | None] = Option(
    "state.changelog.enabled",
    "boolean",
    None,
    "Whether Flink stores state as a log of changes; here it always is one.",
    older=("state.backend.changelog.enabled",),
    effective=False,
    setter="env.enable_changelog_state_backend",
)
