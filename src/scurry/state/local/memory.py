"""The local store in memory: the same contract as the one on disk, for state that fits.

Records lie in dicts; the order of keys is worked out when somebody scans. Only the process that
wrote it can see it: a worker that gets a slot from another one rebuilds it from the journal, so
this store suits executors with one core, tests, and state that is small.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from scurry.state.journal import stored_key, stored_keys
from scurry.state.local.store import Commit, Size, Store


class _Table:
    """Records of one table, and their keys in order as long as no key came or went."""

    __slots__ = ("bytes", "order", "records")

    def __init__(self) -> None:
        self.records: dict[bytes, bytes] = {}
        self.order: list[bytes] | None = None
        self.bytes = 0

    def put(self, key: bytes, record: bytes) -> None:
        before = self.records.get(key)
        if before is None:
            self.order = None
            self.bytes += len(key)
        self.bytes += len(record) - len(before or b"")
        self.records[key] = record

    def remove(self, key: bytes) -> None:
        before = self.records.pop(key, None)
        if before is not None:
            self.order = None
            self.bytes -= len(key) + len(before)

    def keys(self) -> list[bytes]:
        if self.order is None:
            self.order = sorted(self.records)
        return self.order


class MemoryStore(Store):
    """Records of one slot in this process."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._tables: dict[str, _Table] = {}
        self._lineage: bytes | None = None

    def check(self) -> None:
        """Start a micro-batch."""

    def verify(self) -> None:
        """Does nothing, because no other process can have changed the records."""

    def confirm(self) -> None:
        """The micro-batch has ended well."""

    def begin(self) -> None:
        """Start reading."""

    def end(self) -> None:
        """Stop reading."""

    def lineage(self) -> bytes | None:
        """The lineage id of the commit this store holds, None for an empty or torn store."""
        return self._lineage

    def get(self, table: str, key: bytes) -> bytes | None:
        """A record, None if there is none."""
        found = self._tables.get(table)
        return None if found is None else found.records.get(stored_key(key))

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """The records of many keys."""
        found = self._tables.get(table)
        if found is None:
            return [None] * len(keys)
        return list(map(found.records.get, stored_keys(keys)))

    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of a table in the order of their keys, from ``start`` on."""
        found = self._tables.get(table)
        if found is None:
            return
        keys = found.keys()
        for at in range(bisect_left(keys, start) if start else 0, len(keys)):
            yield keys[at], found.records[keys[at]]

    def outgrown_by(self, keys: list[bytes], written: int) -> bool:
        """Never: a user who chose state in memory wants it there."""
        return False

    def tables(self) -> list[str]:
        """The names of all tables."""
        return list(self._tables)

    @property
    def entries(self) -> int:
        """How many records there are, in all tables."""
        return sum(len(table.records) for table in self._tables.values())

    @property
    def size(self) -> int:
        """How many bytes the records take, keys included."""
        return sum(table.bytes for table in self._tables.values())

    def sizes(self) -> dict[str, Size]:
        """The sizes of all tables."""
        return {name: Size(len(table.records), table.bytes) for name, table in self._tables.items()}

    def apply(self, commit: Commit) -> bool:
        """Write all of ``commit``."""
        if self._lineage != commit.base:
            self._lineage = None
            return False
        for name in commit.emptied:
            self._tables.pop(name, None)
        for name, keys, records in commit.changes:
            table = self._tables.setdefault(name, _Table())
            for key, record in zip(stored_keys(keys), records, strict=True):
                if record is None:
                    table.remove(key)
                else:
                    table.put(key, record)
        self._lineage = commit.lineage
        return True

    def reset(self) -> None:
        """Throw everything away."""
        self._tables.clear()
        self._lineage = None

    def close(self, erase: bool = False) -> None:
        """Release the store."""
        self.reset()
