"""The records of a slot: most tables in the local store, large ones as runs in the checkpoint.

What changes in most tables goes to the journal, and a working copy of them lies in the local store.
A table that is read in bulk, and of which a micro-batch changes many records among very many, is
kept in runs instead (:mod:`scurry.state.runs.runs`), in a directory of the checkpoint. A commit
writes one more run and names it in the journal's head. So its records are written once, take no
part in the compaction of the journal, and need not be rebuilt: whoever has the head can read the
table.

The name of a run begins with the number of the commit it was written for. A run that a commit has
merged into another is named in the head as *dead*, and is deleted once a further commit is durable.
A run whose own commit never became durable is deleted by the first worker that finds a later
commit. Not earlier: an attempt that was given up may still turn out to be the one that is
committed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from scurry.common.advice import WAYS_OUT
from scurry.common.any_paths import AnyPath
from scurry.common.errors import StateError
from scurry.state.journal import Group, Head, stored_key, stored_keys
from scurry.state.local.store import Size, Store
from scurry.state.pending import PendingChanges
from scurry.state.runs.below import Below
from scurry.state.runs.files import RunDirectory
from scurry.state.runs.key_rows import Order
from scurry.state.runs.runs import RunTable

#: Tells whether a record has expired.
Judge = Callable[[bytes], bool]
#: Records of a table that move into runs at a time.
_MOVED_AT_ONCE = 65_536


class SlotRecords:
    """All records of one slot, those of small tables in ``local``."""

    def __init__(self, local: Store) -> None:
        #: tables that are read for many keys at once, and how their records would lie in runs
        self.bulky: dict[str, Order] = {}
        #: runs and indexes that were replaced, with the numbers of the commits that did
        self.dead: list[tuple[int, str]] = []
        self._local = local
        #: reads the local store, and what is being written to it
        self.pending = PendingChanges(local)
        self._tables: dict[str, RunTable] = {}
        self._directory: RunDirectory | None = None
        self._changed = False
        self._reaped: set[str] = set()

    # --- reading

    def get(self, table: str, key: bytes) -> bytes | None:
        """A record, None if there is none."""
        runs = self._tables.get(table)
        if runs is None:
            return self.pending.get(table, key)
        (found,) = self.pending.over(table, [key], [runs.get(stored_key(key))])
        return found

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """The records of many keys."""
        runs = self._tables.get(table)
        if runs is None:
            return self.pending.get_many(table, keys)
        return self.pending.over(table, keys, runs.get_many(stored_keys(keys)))

    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of a table, always in the same order, from the key ``start`` on."""
        runs = self._tables.get(table)
        if runs is None:
            return self.pending.scan(table, start)
        return self.pending.before(table, start, runs.scan(start))

    def blocks(self, table: str) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """What :meth:`scan` finds, many at a time."""
        runs = self._tables.get(table)
        return self._local.blocks(table) if runs is None else runs.blocks()

    def below(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys and records whose keys begin with ``prefix``, in the order of the keys."""
        runs = self._tables.get(table)
        if runs is not None:
            (found,) = self.below_many(table, [prefix]).all()
            assert isinstance(found, dict)
            for rest, record in sorted(found.items()):
                yield prefix + rest, record
            return
        for key, record in self.pending.scan(table, prefix):
            if not key.startswith(prefix):
                return
            yield key, record

    def below_many(
        self,
        table: str,
        prefixes: list[bytes],
        most: int | None = None,
        at_once: int | None = None,
    ) -> Below:
        """The records of a table in runs below some of ``prefixes``, as
        :func:`scurry.state.runs.below.records_below` has them."""
        return self._tables[table].below(prefixes, most, at_once)

    def in_runs(self, table: str) -> bool:
        """Whether a table is so large that it should only be read in bulk."""
        return table in self._tables

    @property
    def entries(self) -> int:
        """How many records there are, in all tables."""
        return self._local.entries + sum(table.live for table in self._tables.values())

    def sizes(self) -> dict[str, Size]:
        """The sizes of all tables as of the last commit."""
        large = {name: Size(table.live, table.size) for name, table in self._tables.items()}
        return {**self._local.sizes(), **large}

    @property
    def large_tables(self) -> list[str]:
        """The names of the tables that lie in runs."""
        return list(self._tables)

    @property
    def large_bytes(self) -> int:
        """How many bytes the runs have."""
        return sum(table.size for table in self._tables.values())

    # --- following the journal

    def open(self, head: Head | None, place: AnyPath) -> None:
        """Read what ``head`` says is true; runs lie in the directory ``place``."""
        if self._directory is None or self._directory.place != place:
            self._directory, self._tables = RunDirectory(place), {}
            self._sweep(head)
        infos = {} if head is None else head.runs
        self.dead = [] if head is None else list(head.dead)
        self._directory.commit = 1 if head is None else head.number + 1
        self._changed = False
        try:
            self._tables = {
                name: RunTable.open(self._directory, info, self._tables.get(name))
                for name, info in infos.items()
            }
        except OSError as failure:
            raise StateError(
                f"The checkpoint is damaged, or not on a file system that all executors share: "
                f"state in {place} cannot be read ({failure}). Put the files back. {WAYS_OUT}"
            ) from failure
        if head is not None:
            for number, name in head.dead:
                if number < head.number:
                    self._directory.delete(name)

    def _sweep(self, head: Head | None) -> None:
        """Delete what was written for commits that never came about."""
        assert self._directory is not None
        if head is not None:
            known = {name for table in head.runs.values() for name in table.names}
            known.update(name for _, name in head.dead)
            for number, name in self._directory.listed():
                if number < head.number and name not in known:
                    self._directory.delete(name)

    # --- writing

    @property
    def changed(self) -> bool:
        """Whether the next head has to name other runs than the last."""
        return self._changed

    def put(
        self, changes: list[Group], judges: Mapping[str, Judge]
    ) -> tuple[list[Group], set[str], int]:
        """Write the changes of large tables, also of those that have become large just now.

        Returns the other changes, the tables that the local store has to let go of, and how many
        bytes were written.
        """
        directory = self._directory
        assert directory is not None
        before, others, moved = directory.written, [], set()
        for name, keys, records in changes:
            if name not in self._tables:
                if name not in self.bulky or not self._outgrown(keys, records):
                    others.append((name, keys, records))
                    continue
                self._move_in(name)
                moved.add(name)
            self._replace(name, stored_keys(keys), records, judges.get(name))
        return others, moved, directory.written - before

    def _outgrown(self, keys: list[bytes], records: Sequence[bytes | None]) -> bool:
        """Whether a table with these changes is to move into runs."""
        return self._local.outgrown_by(keys, len(records) - records.count(None))

    def _move_in(self, name: str) -> None:
        """Take the records of a table that the local store has, some at a time. They become one
        run: each is a request where the checkpoint is in an object store."""
        assert self._directory is not None
        self._tables[name] = RunTable(self._directory, by=self.bulky[name])
        for keys, records in self._local.blocks(name, at_once=_MOVED_AT_ONCE):
            self._replace(name, keys, records, None)
        self._become(name, self._tables[name].in_one_run())

    def _replace(
        self, name: str, keys: list[bytes], records: Iterable[bytes | None], judge: Judge | None
    ) -> None:
        new = self._tables[name].with_changes(keys, list(records), judge)
        if new.taken_out:
            self._reaped.add(name)
        self._become(name, new)

    def _become(self, name: str, new: RunTable) -> None:
        """Have a table be as ``new`` is, and let go of the files that only the old one has."""
        assert self._directory is not None
        old, number = self._tables[name], self._directory.commit
        self._tables[name], self._changed = new, True
        kept = set(new.info.names)
        for gone in old.info.names:
            if gone in kept:
                continue
            if self._directory.number_of(gone) == number:
                self._directory.delete(gone)  # nobody has heard of it yet
            else:
                self.dead.append((number, gone))

    def drop(self, names: Collection[str]) -> None:
        """Large tables are gone."""
        assert self._directory is not None
        for name in names:
            self.bulky.pop(name, None)
            table = self._tables.pop(name, None)
            if table is not None:
                self._changed = True
                self.dead.extend((self._directory.commit, run) for run in table.info.names)

    def take_reaped(self) -> set[str]:
        """The tables in which expired records were left out, since this was last asked."""
        found, self._reaped = self._reaped, set()
        return found

    def describe(self, head: Head) -> None:
        """Have ``head`` name all runs."""
        assert self._directory is not None
        head.number = self._directory.commit
        head.runs = {name: table.info for name, table in self._tables.items()}
        self._directory.store(name for info in head.runs.values() for name in info.names)
        head.dead = [(number, name) for number, name in self.dead if number + 1 >= head.number]


def large_groups(head: Head, place: AnyPath) -> Iterator[Group]:
    """The records of the large tables that ``head`` names, many at a time."""
    directory = RunDirectory(place)
    for name, info in head.runs.items():
        for keys, records in RunTable.open(directory, info).blocks():
            yield name, keys, records
