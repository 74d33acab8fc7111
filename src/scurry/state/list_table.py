"""Lists: what is appended to a key in one micro-batch is one record.

So appending never reads, and costs what was appended, however long the list is. Reading puts the
records of a key together; a list found in many pieces is written back as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scurry.state.encoding import IMMUTABLE
from scurry.state.journal import Change
from scurry.state.local import LocalStore
from scurry.state.states import ListState
from scurry.state.table import KeyScope, pack_record, prefix_of, unpack_record

_MANY_PIECES = 16
_KEEP = 50_000


class ListTable:
    """One named list state of one operator in one slot."""

    def __init__(
        self, name: str, store: LocalStore, max_parallelism: int, epoch: Callable[[], int]
    ) -> None:
        self.name = name
        self._store = store
        self._max_parallelism = max_parallelism
        self._epoch = epoch
        self._whole: dict[Any, list[Any]] = {}
        self._added: dict[Any, list[Any]] = {}
        self._replaced: dict[Any, None] = {}
        self._before: dict[Any, list[Any]] = {}

    def add(self, key: Any, value: Any) -> None:
        """Append to a key's list."""
        self._added.setdefault(key, []).append(value)
        whole = self._whole.get(key)
        if whole is not None:
            whole.append(value)

    def replace(self, key: Any, values: list[Any]) -> None:
        """Make ``values`` a key's list."""
        self._replaced[key] = None
        self._added[key] = list(values)
        self._whole[key] = list(values)

    def get(self, key: Any) -> list[Any]:
        """A key's list."""
        whole = self._whole.get(key)
        if whole is None:
            pieces = [unpack_record(record)[1] for _, record in self._pieces(key)]
            whole = [value for piece in pieces for value in piece]
            if any(type(value) not in IMMUTABLE for value in whole):
                self._before[key] = [pack_record(key, piece) for piece in pieces]
            whole.extend(self._added.get(key, ()))
            self._whole[key] = whole
            if len(pieces) > _MANY_PIECES:
                self.replace(key, whole)
        return self._whole[key]

    def _pieces(self, key: Any) -> Iterator[tuple[bytes, bytes]]:
        prefix = prefix_of(key, self._max_parallelism)
        for address, record in self._store.scan(self.name, prefix):
            if not address.startswith(prefix):
                return
            yield address, record

    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""
        self._notice_changes_in_place()
        for key in self._replaced:
            for address, _ in self._pieces(key):
                yield self.name, address, None
        epoch = self._epoch().to_bytes(8, "big")
        for key, values in self._added.items():
            if values:
                address = prefix_of(key, self._max_parallelism) + epoch
                yield self.name, address, pack_record(key, values)

    def _notice_changes_in_place(self) -> None:
        """An element that was read and then changed is written, as it would be in memory."""
        for key, before in self._before.items():
            if key not in self._replaced:
                added = len(self._added.get(key, ()))
                stored = self._whole[key][: len(self._whole[key]) - added]
                old = [value for piece in before for value in unpack_record(piece)[1]]
                if pack_record(key, stored) != pack_record(key, old):
                    self.replace(key, self._whole[key])

    def settle(self) -> None:
        """After a commit: keep lists that nobody can change in place."""
        mutable = set(self._before)
        for key, values in self._added.items():
            if any(type(value) not in IMMUTABLE for value in values):
                mutable.add(key)
        self._added.clear()
        self._replaced.clear()
        self._before.clear()
        if sum(map(len, self._whole.values())) > _KEEP:
            self._whole.clear()
        for key in mutable:
            self._whole.pop(key, None)

    def forget(self) -> None:
        """Drop everything held in memory."""
        for held in (self._whole, self._added, self._replaced, self._before):
            held.clear()

    def items(self) -> Iterator[tuple[Any, list[Any]]]:
        """All keys and lists, uncommitted changes included."""
        keys: dict[Any, None] = {}
        for _, record in self._store.scan(self.name):
            keys[unpack_record(record)[0]] = None
        for key in [*keys, *(key for key in self._added if key not in keys)]:
            values = self.get(key)
            if values:
                yield key, list(values)


class TableListState(ListState[Any]):
    """The handle users hold."""

    def __init__(self, table: ListTable, scope: KeyScope) -> None:
        self._table = table
        self._scope = scope

    def get(self) -> list[Any]:
        return list(self._table.get(self._scope.key))

    def add(self, value: Any) -> None:
        self._table.add(self._scope.key, value)

    def add_all(self, values: list[Any]) -> None:
        for value in values:
            self._table.add(self._scope.key, value)

    def update(self, values: list[Any]) -> None:
        self._table.replace(self._scope.key, values)

    def clear(self) -> None:
        self._table.replace(self._scope.key, [])
