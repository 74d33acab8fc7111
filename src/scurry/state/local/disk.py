"""The local store: one LMDB per slot, beside the worker.

LMDB is memory-mapped and safe to share between processes, so whichever Python worker of the host
gets a slot next finds the slot's state where the last one left it. The store is a cache: it
carries the lineage id of the commit it holds, and when that is not the lineage Spark believes in,
or its files are not as they were left (:mod:`scurry.state.local.generations`), it is thrown away
and rebuilt from the journal. Nothing is ever synced to disk; losing it costs a rebuild, never data.

Records live under ``table-number + key``; a table is one named state of one operator. Keys longer
than LMDB takes are replaced by their digest, the full key standing in the record.

A tree rewrites a page for every record that changes. A table of which a micro-batch changes many
records among very many is therefore better kept in runs (:mod:`scurry.state.slot_records`).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

import lmdb

from scurry.common.errors import JobError
from scurry.common.options import state as options
from scurry.state.journal import Group, stored_key, stored_keys
from scurry.state.local.generations import Generations, look
from scurry.state.local.secluded import Secluded, drop_secluded
from scurry.state.local.store import Commit, Size, Store
from scurry.state.local.tally import Tally

_LINEAGE = b"\x00lineage"
#: the lineage of a store that two attempts at the same work have written to
_TORN = b""
_TABLE_NAMES = b"\x00table:"
_TALLIES = b"\x00tally:"
_FIRST_MAP_BYTES = 64 << 20
#: More transactions than other attempts of a task commit while a micro-batch runs.
_SOME = 1 << 16
#: Records of a store above which its tables may become runs, and the share of them, as so many to
#: one, that a micro-batch has to change for it.
RUNS_ABOVE = options.RUNS_ABOVE.default
_RUNS_SHARE = 50
#: A table with longer keys than this is kept here.
_WIDEST = 96


class LocalStore(Store):
    """Records of one slot in LMDB, below the directory ``path``."""

    path: Path
    shared = True

    def __init__(self, path: Path, runs_above: int = RUNS_ABOVE) -> None:
        self.path = path
        self._runs_above = runs_above
        self._numbers: dict[str, bytes] = {}
        self._tallies: dict[str, Tally] = {}
        self._read: lmdb.Transaction | None = None
        self._env: lmdb.Environment | None = None
        self._generations = Generations(path)
        self._secluded: Secluded | None = None

    def seclude(self) -> None:
        """Have files that no other process ever looks for."""
        self._release()
        self._secluded = Secluded(self.path)
        self._generations = Generations(self._secluded.path)

    def check(self) -> None:
        """Start a micro-batch: have a store open whose files are as the last one left them, an
        empty one if there is none."""
        if self._env is None:
            drop_secluded(self.path)
        place = self._generations.trusted()
        if place is None:
            self.reset()
        elif self._env is None or place != self._place:
            self._switch(place)

    def verify(self) -> None:
        """Make sure that what was read since :meth:`begin` was not damaged meanwhile."""
        seen, transaction = self._seen
        now = look(self._place)
        later = self._last_transaction - transaction
        if now is None or seen is None:
            # files that were deleted can no longer be reached by anybody who has not written yet
            good = later == 0
        elif (now[0], now[3]) != (seen[0], seen[3]):
            # whoever comes by another lock file does not know who is reading, and writes over it
            good = False
        else:
            # another attempt of the task has committed some transactions; damage may be in their
            # number
            good = now == seen or 0 < later < _SOME
        if not good:
            raise JobError(
                f"The local state in {self.path} was changed by another program while a "
                "micro-batch was reading it. The micro-batch has to be run again, on state "
                "restored from the checkpoint; a restart strategy does that by itself."
            )

    def confirm(self) -> None:
        """The micro-batch has ended well: what the files look like now is to be believed."""
        self.end()
        self._generations.seal(self._place)

    def reset(self) -> None:
        """Go on with an empty store. Processes that have the old one open keep it."""
        self._generations.break_seal()
        self._switch(self._generations.fresh())

    def _switch(self, place: Path) -> None:
        self._release()
        self._numbers, self._tallies = {}, {}
        try:
            self._env, self._place = _open(place), place
        except lmdb.Error:
            place = self._generations.fresh()
            self._env, self._place = _open(place), place
        self._main = self._env.open_db(None)
        # processes that were killed have left their places among the readers, of which there are
        # not many
        self._env.reader_check()

    def reopen(self) -> None:
        """This process is a copy of the one that has opened the store: open it anew. The first one
        must not have been reading when the copy was made: to end reading here would end it
        there."""
        assert self._read is None
        self._switch(self._place)
        self.begin()

    def _release(self) -> None:
        self.end()
        if self._env is not None:
            self._env.close()
            self._env = None

    @property
    def _last_transaction(self) -> int:
        return int(self._environment.info()["last_txnid"])

    @property
    def _environment(self) -> lmdb.Environment:
        assert self._env is not None
        return self._env

    def begin(self) -> None:
        """Start reading: everything read until :meth:`end` is of one instant."""
        self.end()
        if self._env is None:
            self.check()
        try:
            self._read = self._environment.begin(buffers=False)
        except lmdb.MapResizedError:
            self._environment.set_mapsize(0)
            self._read = self._environment.begin(buffers=False)
        self._seen = (look(self._place), self._last_transaction)
        self._numbers = {
            name.decode(): number for name, number in _listed(self._read, _TABLE_NAMES)
        }
        self._tallies = {
            name.decode(): Tally.decode(held) for name, held in _listed(self._read, _TALLIES)
        }

    def end(self) -> None:
        """Stop reading."""
        if self._read is not None:
            self._read.abort()
            self._read = None

    def _reader(self) -> lmdb.Transaction:
        if self._read is None:
            self.begin()
        assert self._read is not None
        return self._read

    def lineage(self) -> bytes | None:
        """The lineage id of the commit this store holds, None for an empty store."""
        found = self._reader().get(_LINEAGE)
        return None if found is None else bytes(found)

    def get(self, table: str, key: bytes) -> bytes | None:
        """A record, None if there is none."""
        number = self._numbers.get(table)
        if number is None:
            return None
        found = self._reader().get(number + stored_key(key))
        return None if found is None else bytes(found)

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """The records of many keys."""
        number = self._numbers.get(table)
        if number is None:
            return [None] * len(keys)
        get = cast(Callable[[bytes], bytes | None], self._reader().get)
        return [get(number + key) for key in stored_keys(keys)]

    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of a table in the order of their keys, from ``start`` on."""
        transaction = self._reader()
        number = self._numbers.get(table)
        if number is not None:
            yield from _listed(transaction, number, start)

    def tables(self) -> list[str]:
        """The names of all tables."""
        self._reader()
        return list(self._numbers)

    def outgrown_by(self, keys: list[bytes], written: int) -> bool:
        """Whether a table with changes at ``keys``, of which so many are ``written`` and the others
        removed, is better kept in runs."""
        entries = max(self.entries, written)
        return (
            entries >= self._runs_above
            and len(keys) * _RUNS_SHARE >= entries
            and max(map(len, keys), default=0) <= _WIDEST
        )

    @property
    def entries(self) -> int:
        """How many records there are, in all tables."""
        bookkeeping = 1 + len(self._numbers) + len(self._tallies)
        return max(0, int(self._environment.stat()["entries"]) - bookkeeping)

    @property
    def size(self) -> int:
        """How many bytes the records take on disk, bookkeeping included, free pages not."""
        found = self._environment.stat()
        pages = found["branch_pages"] + found["leaf_pages"] + found["overflow_pages"]
        return int(pages * found["psize"])

    def sizes(self) -> dict[str, Size]:
        """The sizes of all tables as of the last commit; bytes are an estimate."""
        return {name: tally.size for name, tally in self._tallies.items()}

    def apply(self, commit: Commit) -> bool:
        """Write all of ``commit`` in one transaction."""
        self.end()
        known, tallies = dict(self._numbers), dict(self._tallies)
        while True:
            try:
                return self._write(commit)
            except lmdb.MapFullError:
                self._numbers, self._tallies = dict(known), dict(tallies)
                self._environment.set_mapsize(self._environment.info()["map_size"] * 2)
            except lmdb.MapResizedError:
                self._environment.set_mapsize(0)

    def _write(self, commit: Commit) -> bool:
        with self._environment.begin(write=True) as txn:
            if txn.get(_LINEAGE) != commit.base:
                txn.put(_LINEAGE, _TORN)
                return False
            for table in commit.emptied:
                if table in self._numbers:
                    _remove_all(txn, self._numbers[table])
                    self._keep_tally(txn, table, Tally())
            for change in commit.changes:
                self._put(txn, change)
            txn.put(_LINEAGE, commit.lineage)
        return True

    def _put(self, txn: lmdb.Transaction, change: Group) -> None:
        """Write the changes of one table, and how many records it has afterwards."""
        table, keys, records = change
        number = self._number(txn, table)
        tally = self._tally(txn, table, number)
        before = txn.stat(self._main)["entries"]
        _put_all(txn, number, stored_keys(keys), records)
        grown = int(txn.stat(self._main)["entries"]) - int(before)
        self._keep_tally(txn, table, tally.after(grown, keys, records))

    def _tally(self, txn: lmdb.Transaction, table: str, number: bytes) -> Tally:
        held = txn.get(_TALLIES + table.encode())
        if held is not None:
            return Tally.decode(bytes(held))
        # a store that an earlier version wrote has records that nobody has counted
        there = sum(1 for _ in _listed(txn, number))
        found = Tally(there)
        self._keep_tally(txn, table, found)
        return found

    def _keep_tally(self, txn: lmdb.Transaction, table: str, tally: Tally) -> None:
        self._tallies[table] = tally
        txn.put(_TALLIES + table.encode(), tally.encode())

    def _number(self, txn: lmdb.Transaction, table: str) -> bytes:
        number = self._numbers.get(table)
        if number is None:
            name = _TABLE_NAMES + table.encode()
            found = txn.get(name)
            if found is None:
                taken = max((int.from_bytes(n, "big") for n in self._numbers.values()), default=0)
                found = (taken + 1).to_bytes(3, "big")
                txn.put(name, found)
            number = bytes(found)
            self._numbers[table] = number
        return number

    def close(self, erase: bool = False) -> None:
        """Release the store, and with ``erase`` delete its files."""
        self._release()
        if self._secluded is not None:
            self._secluded.close()
        if erase:
            shutil.rmtree(self.path, ignore_errors=True)


def _listed(
    txn: lmdb.Transaction, prefix: bytes, start: bytes = b""
) -> Iterator[tuple[bytes, bytes]]:
    """Everything under ``prefix``, which is left out of the keys, from ``start`` on."""
    with txn.cursor() as cursor:
        if cursor.set_range(prefix + start):
            for place, record in cursor:
                key = bytes(place)
                if not key.startswith(prefix):
                    return
                yield key[len(prefix) :], bytes(record)


def _put_all(
    txn: lmdb.Transaction, number: bytes, keys: list[bytes], records: Iterable[bytes | None]
) -> None:
    put, delete = txn.put, txn.delete
    for key, record in zip(keys, records, strict=True):
        if record is None:
            delete(number + key)
        else:
            put(number + key, record)


def _remove_all(txn: lmdb.Transaction, number: bytes) -> None:
    with txn.cursor() as cursor:
        there = cursor.set_range(number)
        while there and bytes(cursor.key()).startswith(number):
            there = cursor.delete()


def _open(place: Path) -> lmdb.Environment:
    return lmdb.open(
        str(place),
        map_size=_FIRST_MAP_BYTES,
        sync=False,
        metasync=False,
        # elsewhere, writing through the map changes a file's time of change later than one writes
        writemap=sys.platform == "linux",
        meminit=False,
        max_readers=64,
        subdir=True,
    )
