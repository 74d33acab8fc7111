"""What a checkpoint or savepoint holds, in the words of its owner: values that can be shown.

:mod:`scurry.checkpoint.contents` reads them from a checkpoint; a savepoint has them in its
manifest.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scurry.checkpoint.lease import Holder
from scurry.checkpoint.manifest import Writer
from scurry.functions.history import Branch
from scurry.state.layout import StateLayout


class StoredState(msgspec.Struct, frozen=True, kw_only=True):
    """One state of an operator; sizes are None where the checkpoint does not tell."""

    name: str
    #: such as "value", or "" where the name says it
    kind: str
    entries: int | None = None
    bytes: int | None = None
    #: what it holds, in words and as it is written down, and how many types came before; empty
    #: where the checkpoint does not tell
    type: str = ""
    schema: Any = None
    version: int = 0


class StoredOperator(msgspec.Struct, frozen=True, kw_only=True):
    """An operator that keeps something."""

    uid: str
    name: str
    location: str
    #: an automatic uid may change with the program
    uid_is_automatic: bool
    layout: StateLayout | str
    parallelism: int | None
    #: where its state lies; 0 is the ingress
    stages: list[int]
    states: list[StoredState]


class StoredSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source and where it stands."""

    uid: str
    name: str
    position: Any
    finished: bool
    #: the highest timestamp and the like, by partition and strategy
    partitions: dict[str, dict[str, Any]]


class StoredSink(msgspec.Struct, frozen=True, kw_only=True):
    """A sink that commits with the checkpoint. Its target has the same mark, or that of the
    micro-batch under way."""

    uid: str
    name: str
    batch: int
    branch: str


class CheckpointContents(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint holds."""

    directory: str
    checkpoint_id: str
    #: the name of the job that worked with it last
    job: str
    format: int
    writer: Writer
    parallelism: int
    max_parallelism: int
    stages: int
    generation: int
    #: the last micro-batch that is committed, -1 if there is none
    batch: int
    #: its processing time, in milliseconds since 1970
    now: int | None
    #: the micro-batch that was planned and is not committed
    pending: int | None
    sources: list[StoredSource]
    operators: list[StoredOperator]
    sinks: list[StoredSink]
    branches: list[Branch]
    #: the epoch of the lease in force, who holds it or held it last, and whether it is held
    lease: int | None
    holder: Holder | None
    held: bool
    #: bytes on disk by part, such as ``spark`` and ``runs``
    disk: dict[str, int]
