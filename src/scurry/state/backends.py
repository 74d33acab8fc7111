"""Which local store has the working copy of state, ``disk`` or ``memory``: ``state.backend.type``.

The truth is the journal in Spark's state store whichever is chosen, so a job may change it from one
start to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scurry.common.options import state as options
from scurry.state.local.disk import LocalStore
from scurry.state.local.memory import MemoryStore
from scurry.state.local.store import Store
from scurry.state.slot_store import SlotStore


@dataclass(frozen=True)
class StateSettings:
    """What the configuration says about state."""

    #: ``disk`` or ``memory``
    backend: str = options.STATE_BACKEND.default
    #: decoded entries that each state keeps in memory, per slot, from micro-batch to micro-batch
    cache_entries: int = options.STATE_CACHE.default
    #: bytes of log up to which a slot's state is not compacted
    compact_above: int = options.COMPACT_ABOVE.default
    #: records of a slot above which tables on disk may become runs
    runs_above: int = options.RUNS_ABOVE.default
    #: bytes of an entry of the log above which it does not go into Spark's state store, but into a
    #: file
    files_above: int = options.FILES_ABOVE.default

    def local_store(self, path: Path) -> Store:
        """A local store; the one on disk opens what lies at ``path``."""
        if self.backend == "memory":
            return MemoryStore(path)
        return LocalStore(path, self.runs_above)

    def slot_store(self, local: Store, max_parallelism: int) -> SlotStore:
        """The state of a slot above a local store."""
        return SlotStore(local, max_parallelism, self.cache_entries, small_log=self.compact_above)
