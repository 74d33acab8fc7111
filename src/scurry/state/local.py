"""The local store: one LMDB per slot, beside the worker.

LMDB is memory-mapped and safe to share between processes, so whichever Python worker of the host
gets a slot next finds the slot's state where the last one left it. The store is a cache: it
carries the lineage id of the commit it holds, and when that is not the lineage Spark believes in,
it is thrown away and rebuilt from the journal. Nothing is ever synced to disk; losing it costs a
rebuild, never data.

Records live under ``table-number + key``; a table is one named state of one operator. Keys longer
than LMDB takes are replaced by their digest, the full key standing in the record.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import cast

import lmdb

from scurry.state.journal import Change, stored_key, stored_keys

_LINEAGE = b"\x00lineage"
_TABLE_NAMES = b"\x00table:"
_FIRST_MAP_BYTES = 64 << 20
_table_of = itemgetter(0)


class LocalStore:
    """Records of one slot in an LMDB environment at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers: dict[str, bytes] = {}
        self._open()

    def _open(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        self._env = lmdb.open(
            str(self.path),
            map_size=_FIRST_MAP_BYTES,
            sync=False,
            metasync=False,
            writemap=True,
            meminit=False,
            max_readers=64,
            subdir=True,
        )
        self._read: lmdb.Transaction | None = None

    def begin(self) -> None:
        """Start reading: everything read until :meth:`end` is of one instant."""
        self.end()
        try:
            self._read = self._env.begin(buffers=False)
        except lmdb.MapResizedError:
            self._env.set_mapsize(0)
            self._read = self._env.begin(buffers=False)
        self._numbers = {}
        with self._read.cursor() as cursor:
            if cursor.set_range(_TABLE_NAMES):
                for name, number in cursor:
                    if not name.startswith(_TABLE_NAMES):
                        break
                    self._numbers[name[len(_TABLE_NAMES) :].decode()] = number

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
        """The lineage id of the commit this store holds, None for an empty or torn store."""
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
        number = self._numbers.get(table)
        if number is None:
            return
        with self._reader().cursor() as cursor:
            if not cursor.set_range(number + start):
                return
            for found, record in cursor:
                key = bytes(found)
                if not key.startswith(number):
                    return
                yield key[len(number) :], bytes(record)

    def tables(self) -> list[str]:
        """The names of all tables."""
        self._reader()
        return list(self._numbers)

    @property
    def entries(self) -> int:
        """How many records there are, in all tables."""
        bookkeeping = 1 + len(self._numbers)
        return max(0, int(self._env.stat()["entries"]) - bookkeeping)

    @property
    def size(self) -> int:
        """How many bytes the records take on disk, bookkeeping included, free pages not."""
        found = self._env.stat()
        pages = found["branch_pages"] + found["leaf_pages"] + found["overflow_pages"]
        return int(pages * found["psize"])

    def apply(self, changes: Iterable[Change], base: bytes | None, lineage: bytes) -> bool:
        """Write ``changes`` and ``lineage`` in one transaction.

        Returns False, leaving the store torn (without lineage), when it no longer holds ``base``:
        another attempt at the same work got in between, so what was read may not be what is here.
        """
        self.end()
        pending = list(changes)
        known = dict(self._numbers)
        while True:
            try:
                return self._write(pending, base, lineage)
            except lmdb.MapFullError:
                self._numbers = dict(known)
                self._env.set_mapsize(self._env.info()["map_size"] * 2)
            except lmdb.MapResizedError:
                self._env.set_mapsize(0)

    def _write(self, changes: list[Change], base: bytes | None, lineage: bytes) -> bool:
        with self._env.begin(write=True) as txn:
            held = txn.get(_LINEAGE)
            if held != base:
                txn.delete(_LINEAGE)
                return False
            put, delete = txn.put, txn.delete
            for table, part in groupby(changes, _table_of):
                number = self._number(txn, table)
                _, keys, records = zip(*part, strict=True)
                for key, record in zip(stored_keys(list(keys)), records, strict=True):
                    if record is None:
                        delete(number + key)
                    else:
                        put(number + key, record)
            put(_LINEAGE, lineage)
        return True

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

    def reset(self) -> None:
        """Throw everything away, in place: other processes may have the store open."""
        self.end()
        self._numbers = {}
        with self._env.begin(write=True) as txn:
            txn.drop(self._env.open_db(txn=txn), delete=False)

    def close(self, erase: bool = False) -> None:
        """Release the store, and with ``erase`` delete its files."""
        self.end()
        self._env.close()
        if erase:
            shutil.rmtree(self.path, ignore_errors=True)
