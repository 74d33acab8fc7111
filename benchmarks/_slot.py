"""One slot's state by itself: a store and a journal, without Spark, for measuring them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from scurry.state.backends import StateSettings
from scurry.state.journal import Journal, MemoryJournal
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import KeyScope, TableValueState


class BenchSlot:
    """A value state of ``keys`` keys with values of ``size`` random bytes."""

    def __init__(self, path: Path, backend: str = "disk") -> None:
        self.settings = StateSettings(backend)
        self.journal: Journal = MemoryJournal()
        self.local = self.settings.local_store(path)
        self.store = self.settings.slot_store(self.local, 128)
        self._scope = KeyScope()
        self._random = random.Random(1)

    def write(self, keys: Any, size: int) -> int:
        """A micro-batch that sets the values of ``keys``; returns the bytes it wrote."""
        self.store.begin(self.journal)
        state = TableValueState(self.store.table("op", "value", bulk=True), self._scope)
        draw = self._random.randbytes
        for self._scope.key in keys:
            state.update(draw(size))
        return self.store.commit(self.journal, b"")

    def fill(self, keys: int, size: int, at_once: int = 500_000) -> None:
        """Set the values of all keys."""
        for first in range(0, keys, at_once):
            self.write(range(first, min(keys, first + at_once)), size)

    def fresh(self, path: Path) -> SlotStore:
        """The store of another machine, which has nothing of this slot yet."""
        return self.settings.slot_store(self.settings.local_store(path), 128)
