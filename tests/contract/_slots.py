"""A slot with keyed states and a clock that tests can turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scurry.runtime.keyed_state import KeyedRuntimeContext
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext, TaskPlace, TaskState
from scurry.state import StateDescriptor
from scurry.state.backends import StateSettings
from scurry.state.journal import MemoryJournal
from scurry.state.log_slices import SMALL_LOG
from scurry.state.slot_store import SlotStore
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.ttl import StateClock

#: The local stores there are: "runs" is the one on disk, with tables as runs from the start.
SETTINGS = {
    "disk": StateSettings("disk"),
    "memory": StateSettings("memory"),
    "runs": StateSettings("disk", runs_above=0),
}


class ClockedSlot:
    """States of one slot; ``now``, ``watermark`` and ``timestamp`` are what functions would see."""

    def __init__(self, path: Path, backend: str = "disk", small_log: int = SMALL_LOG) -> None:
        self.small_log = small_log
        self.local: Any = SETTINGS[backend].local_store(path)
        self.journal = MemoryJournal()
        self.now = 0
        self.watermark: int | None = None
        self.timestamp: int | None = None
        self.store: SlotStore
        self.restart()

    def restart(self) -> None:
        """A new worker, at the last commit."""
        self.store = SlotStore(self.local, 128, small_log=self.small_log)
        self.begin()

    def begin(self) -> None:
        self.store.begin(self.journal)

    def commit(self) -> int:
        written = self.store.commit(self.journal, b"")
        self.begin()
        return written

    def open(self, getter: str, descriptor: StateDescriptor, key: Any = "k") -> Any:
        """The state, at a key."""
        scope = KeyScope()
        scope.key = key
        clock = StateClock(lambda: self.now, lambda: self.watermark, lambda: self.timestamp)
        spec = OperatorSpec(uid="op", name="op", make=lambda spec: None)  # type: ignore
        task = TaskContext(TaskPlace(0, 128), TaskState(self.store))
        context = KeyedRuntimeContext(spec, task, scope, clock=clock)
        return getattr(context, getter)(descriptor)

    def log_bytes(self) -> int:
        return sum(map(len, self.journal.entries.values()))

    def checkpoint_bytes(self) -> int:
        return self.log_bytes() + self.store.records.large_bytes

    def size(self) -> int:
        return int(self.local.size) + self.store.records.large_bytes

    def records(self) -> int:
        return self.store.entries
