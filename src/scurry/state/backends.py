"""Which local store holds the working copy of state: ``state.backend``, ``disk`` or ``memory``.

The truth is the journal in Spark's state store whichever is chosen, so a job may change it from one
start to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scurry.common.errors import ConfigurationError
from scurry.state.local.disk import RUNS_ABOVE, LocalStore
from scurry.state.local.memory import MemoryStore
from scurry.state.local.store import Store
from scurry.state.slot_store import SMALL_LOG, SlotStore
from scurry.state.tables.table import CACHE_ENTRIES

#: What each setting means; the names that Flink gives its own backends are understood.
_BACKENDS = {"disk": "disk", "memory": "memory", "rocksdb": "disk", "hashmap": "memory"}


@dataclass(frozen=True)
class StateSettings:
    """What the configuration says about state."""

    backend: str = "disk"
    #: decoded entries that each state keeps in memory, per slot, from micro-batch to micro-batch
    cache_entries: int = CACHE_ENTRIES
    #: bytes of log up to which a slot's state is not compacted
    compact_above: int = SMALL_LOG
    #: records of a slot above which tables on disk may become runs
    runs_above: int = RUNS_ABOVE
    #: bytes of an entry of the log above which it does not go into Spark's state store, but into a
    #: file
    files_above: int = 256 << 10

    def __post_init__(self) -> None:
        if self.backend not in _BACKENDS:
            raise ConfigurationError(
                f"state.backend is {self.backend!r}: write disk (the default) or memory"
            )
        if self.cache_entries < 0:
            raise ConfigurationError(
                f"state.backend.cache-size is {self.cache_entries}: it is a number of entries, "
                "zero or more"
            )

    def local_store(self, path: Path) -> Store:
        """A local store; the one on disk opens what lies at ``path``."""
        if _BACKENDS[self.backend] == "memory":
            return MemoryStore(path)
        return LocalStore(path, self.runs_above)

    def slot_store(self, local: Store, max_parallelism: int) -> SlotStore:
        """The state of a slot above a local store."""
        return SlotStore(local, max_parallelism, self.cache_entries, small_log=self.compact_above)
