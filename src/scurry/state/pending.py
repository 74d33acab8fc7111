"""Changes that somebody else is writing, in front of the store that does not have them yet.

While a copy of the process writes a commit (:mod:`scurry.state.freezing`), the local store and the
runs are what they were before it. Tables that know how to freeze keep what has changed as objects.
All others have their changes encoded before the copy is made, count them as written, and read
through what is here: a record that is pending hides the one that is stored.

Most tables have in memory what they need and never look. So the changes are kept as they are handed
over, and sorted when a table is first read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from scurry.state.journal import Group, stored_key, stored_keys
from scurry.state.local.store import Store

#: Stands for a record about which nothing is pending.
_UNKNOWN = b"\x00unknown"


class _Table:
    """What is pending of one table; None is a record that is deleted."""

    def __init__(self) -> None:
        self.records: dict[bytes, bytes | None] = {}
        self._order: list[bytes] | None = None

    def take(self, group: Group) -> None:
        """More changes, which come after all others."""
        _, keys, records = group
        self.records.update(zip(stored_keys(keys), records, strict=True))
        self._order = None

    def merged(
        self, stored: Iterator[tuple[bytes, bytes]], start: bytes
    ) -> Iterator[tuple[bytes, bytes]]:
        """``stored``, which are the stored records from ``start`` on, as they will be."""
        if self._order is None:
            self._order = sorted(self.records)
        order, records = self._order, self.records
        at = bisect_left(order, start)
        for key, record in stored:
            while at < len(order) and order[at] <= key:
                pending = records[order[at]]
                if pending is not None:
                    yield order[at], pending
                at += 1
            if key not in records:
                yield key, record
        for mine in order[at:]:
            pending = records[mine]
            if pending is not None:
                yield mine, pending


class PendingChanges:
    """Reads ``local``, and what is pending for it."""

    def __init__(self, local: Store) -> None:
        self._local = local
        self._groups: dict[str, list[Group]] = {}
        self._tables: dict[str, _Table] = {}

    def put(self, groups: Iterable[Group]) -> None:
        """These changes are written by somebody else."""
        for group in groups:
            self._groups.setdefault(group[0], []).append(group)

    def take(self) -> list[Group]:
        """The changes are in the store now; what they were."""
        gone = [group for groups in self._groups.values() for group in groups]
        self._groups, self._tables = {}, {}
        return gone

    def _of(self, table: str) -> _Table | None:
        if table not in self._groups:
            return None
        found = self._tables.get(table)
        if found is None:
            found = self._tables[table] = _Table()
            for group in self._groups[table]:
                found.take(group)
        return found

    def get(self, table: str, key: bytes) -> bytes | None:
        """A record, None if there is none."""
        if self._groups and (held := self._of(table)) is not None:
            record = held.records.get(stored_key(key), _UNKNOWN)
            if record is not _UNKNOWN:
                return record
        return self._local.get(table, key)

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """The records of many keys."""
        return self.over(table, keys, self._local.get_many(table, keys))

    def over(self, table: str, keys: list[bytes], stored: list[bytes | None]) -> list[bytes | None]:
        """The records of ``keys`` as they will be, of which ``stored`` are stored."""
        held = self._of(table) if self._groups else None
        if held is None:
            return stored
        return list(map(held.records.get, stored_keys(keys), stored))

    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of a table in the order of their keys, from ``start`` on."""
        return self.before(table, start, self._local.scan(table, start))

    def before(
        self, table: str, start: bytes, stored: Iterator[tuple[bytes, bytes]]
    ) -> Iterator[tuple[bytes, bytes]]:
        """The records from ``start`` on as they will be, of which ``stored`` are stored."""
        held = self._of(table) if self._groups else None
        return stored if held is None else held.merged(stored, start)
