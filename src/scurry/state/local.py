"""The local store: one LMDB per slot, beside the worker, and runs for what is too large for it.

LMDB is memory-mapped and safe to share between processes, so whichever Python worker of the host
gets a slot next finds the slot's state where the last one left it. The store is a cache: it
carries the lineage id of the commit it holds, and when that is not the lineage Spark believes in,
or its files are not as they were left (:mod:`scurry.state.generations`), it is thrown away and
rebuilt from the journal. Nothing is ever synced to disk; losing it costs a rebuild, never data.

Records live under ``table-number + key``; a table is one named state of one operator. Keys longer
than LMDB takes are replaced by their digest, the full key standing in the record.

A table that is read in bulk, and of which a micro-batch changes many records among very many, moves
out of the tree into runs (:mod:`scurry.state.runs`). Which files these are is written in LMDB, in
the same transaction as everything else, so a reader sees them change all at once or not at all.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import cast

import lmdb
import msgspec

from scurry.common.errors import JobError
from scurry.state.generations import Generations, look
from scurry.state.journal import Group, in_blocks, stored_key, stored_keys
from scurry.state.runs import WIDEST, RunTable, TableInfo

_LINEAGE = b"\x00lineage"
#: the lineage of a store that two attempts at the same work have written to
_TORN = b""
_TABLE_NAMES = b"\x00table:"
_RUNS = b"\x00runs:"
_FIRST_MAP_BYTES = 64 << 20
#: Records of a store above which its tables may become runs, and the share of them, as so many to
#: one, that a micro-batch has to change for it.
RUNS_ABOVE = 200_000
_RUNS_SHARE = 50
_MOVED_AT_ONCE = 65_536
_infos = msgspec.msgpack.Decoder(TableInfo)


class LocalStore:
    """Records of one slot in LMDB, below the directory ``path``.

    A micro-batch goes ``check``, ``begin``, reads, ``verify``, ``apply``, ``confirm``.
    """

    def __init__(self, path: Path, runs_above: int = RUNS_ABOVE) -> None:
        self.path = path
        #: tables that are read for many keys at once
        self.bulky: set[str] = set()
        self._runs_above = runs_above
        self._runs: dict[str, RunTable] = {}
        self._numbers: dict[str, bytes] = {}
        self._read: lmdb.Transaction | None = None
        self._env: lmdb.Environment | None = None
        self._generations = Generations(path)

    def check(self) -> None:
        """Start a micro-batch: have a store open whose files are as the last one left them, an
        empty one if there is none."""
        place = self._generations.trusted()
        if place is None:
            self.reset()
        elif self._env is None or place != self._place:
            self._switch(place)

    def verify(self) -> None:
        """Make sure that what was read since :meth:`begin` was not damaged meanwhile."""
        seen, transaction = self._seen
        now = look(self._place)
        # files that were deleted can no longer be reached by anybody else
        if now is not None and now != seen and self._last_transaction == transaction:
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
        self._numbers, self._runs = {}, {}
        try:
            self._env, self._place = _open(place), place
        except lmdb.Error:
            place = self._generations.fresh()
            self._env, self._place = _open(place), place

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
        open_runs, self._runs = self._runs, {}
        try:
            for name, info in _listed(self._read, _RUNS):
                table = name.decode()
                known = open_runs.get(table)
                self._runs[table] = RunTable.open(self._place, _infos.decode(info), known)
        except FileNotFoundError:
            # another attempt at the same work has committed since, and merged these runs
            self.reset()
            self.begin()

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
        if table in self._runs:
            return self._runs[table].get_many([stored_key(key)])[0]
        number = self._numbers.get(table)
        if number is None:
            return None
        found = self._reader().get(number + stored_key(key))
        return None if found is None else bytes(found)

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """The records of many keys."""
        if table in self._runs:
            return self._runs[table].get_many(stored_keys(keys))
        number = self._numbers.get(table)
        if number is None:
            return [None] * len(keys)
        get = cast(Callable[[bytes], bytes | None], self._reader().get)
        return [get(number + key) for key in stored_keys(keys)]

    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of a table in the order of their keys, from ``start`` on."""
        self._reader()
        if table in self._runs:
            yield from self._runs[table].scan(start)
            return
        number = self._numbers.get(table)
        if number is not None:
            yield from _listed(self._reader(), number, start)

    def tables(self) -> list[str]:
        """The names of all tables."""
        self._reader()
        return list(self._numbers)

    def in_runs(self, table: str) -> bool:
        """Whether a table is so large that it should only be read in bulk."""
        return table in self._runs

    @property
    def entries(self) -> int:
        """How many records there are, in all tables."""
        bookkeeping = 1 + len(self._numbers) + len(self._runs)
        in_tree = max(0, int(self._environment.stat()["entries"]) - bookkeeping)
        return in_tree + sum(table.live for table in self._runs.values())

    @property
    def size(self) -> int:
        """How many bytes the records take on disk, bookkeeping included, free pages not."""
        found = self._environment.stat()
        pages = found["branch_pages"] + found["leaf_pages"] + found["overflow_pages"]
        in_runs = sum(table.size for table in self._runs.values())
        return int(pages * found["psize"]) + in_runs

    def blocks(self, table: str, start: bytes = b"") -> Iterator[tuple[list[bytes], list[bytes]]]:
        """What :meth:`scan` finds, many at a time."""
        self._reader()
        if table in self._runs:
            return self._runs[table].blocks(start)
        return in_blocks(self.scan(table, start))

    def apply(self, changes: list[Group], base: bytes | None, lineage: bytes) -> bool:
        """Write ``changes`` and ``lineage`` in one transaction.

        Returns False, leaving the store torn, with the lineage of no commit, when it no longer
        holds ``base``: another attempt at the same work got in between, so what was read may not
        be what is here.
        """
        self.end()
        known = dict(self._numbers)
        while True:
            try:
                return self._write(changes, base, lineage)
            except lmdb.MapFullError:
                self._numbers = dict(known)
                self._environment.set_mapsize(self._environment.info()["map_size"] * 2)
            except lmdb.MapResizedError:
                self._environment.set_mapsize(0)

    def _write(self, changes: list[Group], base: bytes | None, lineage: bytes) -> bool:
        made: dict[str, RunTable] = {}
        try:
            with self._environment.begin(write=True) as txn:
                if txn.get(_LINEAGE) != base:
                    txn.put(_LINEAGE, _TORN)
                    return False
                for table, whole_keys, records in changes:
                    number = self._number(txn, table)
                    keys = stored_keys(whole_keys)
                    runs = made.get(table) or self._runs.get(table)
                    if runs is None and self._outgrows(txn, table, keys):
                        runs = made[table] = self._moved_out(txn, number)
                    if runs is None:
                        _put_all(txn, number, keys, records)
                    else:
                        changed = runs.with_changes(keys, records)
                        if table in made:
                            runs.discard(changed)
                        made[table] = changed
                for table, runs in made.items():
                    txn.put(_RUNS + table.encode(), msgspec.msgpack.encode(runs.info))
                txn.put(_LINEAGE, lineage)
        except BaseException:
            for table, runs in made.items():
                runs.discard(self._runs.get(table) or RunTable(self._place))
            raise
        for table, runs in made.items():
            if table in self._runs:
                self._runs[table].discard(runs)
        self._runs.update(made)
        return True

    def _outgrows(self, txn: lmdb.Transaction, table: str, keys: list[bytes]) -> bool:
        """Whether a table about to be changed at ``keys`` should become runs."""
        entries = int(txn.stat()["entries"])
        return (
            table in self.bulky
            and entries >= self._runs_above
            and len(keys) * _RUNS_SHARE >= entries
            and max(map(len, keys)) <= WIDEST
        )

    def _moved_out(self, txn: lmdb.Transaction, number: bytes) -> RunTable:
        """The records of a table, taken out of the tree, some at a time."""
        runs = RunTable(self._place)
        while found := list(islice(_listed(txn, number), _MOVED_AT_ONCE)):
            keys, records = zip(*found, strict=True)
            for key in keys:
                txn.delete(number + key)
            longer = runs.with_changes(list(keys), records)
            runs.discard(longer)
            runs = longer
        return runs

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
