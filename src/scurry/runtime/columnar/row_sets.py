"""Rows of each key: a multimap from keys to rows, in which every row has a few numbers.

A row is bytes (:mod:`scurry.runtime.columnar.row_codec`); its numbers are what the operator counts:
how often the row is there, how many partners it has, the order in which it came.

**Pages.** The rows of a key are stored in pages of up to 64. A page is one record, at the key's
address with the number of the page behind it; page 0 says how many pages there are. So all rows of
the keys of a batch are read by two bulk reads, a key of few rows is one record, and a change of one
row of a large key writes one page. Records go where the key's group goes when the job is rescaled,
and into runs when there are very many.

With a time to live each row carries the time of its last write, as its last number, and a page that
of the row written last.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

from scurry.runtime.columnar.keyed_columns import make_sweeper
from scurry.state.codecs.encoding import unknown_format
from scurry.state.codecs.records import STAMPED, stamp_bytes
from scurry.state.journal import Group, grouped
from scurry.state.runs.key_rows import Order
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import prefixes_of, with_expired

#: Rows of a page.
_FULL = 64
#: The number of the first page, as it stands in addresses.
_FIRST = bytes(4)
_VERSION = 0x71
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode
#: The numbers of a row; the first is that of its page.
Entry = list[int]
Page = dict[bytes, Entry]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Python's collector of cycles goes through all sets again and again while many are made; none
    of them is part of a cycle that is garbage."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class Owner(Protocol):
    """What a set of rows belongs to."""

    retention: int
    #: the sets that were changed since the last commit
    touched: list[RowSet]

    def now(self) -> int:
        """The clock, in milliseconds."""

    def packed(self, page: Page, count: int) -> bytes:
        """A page as it is stored."""


class RowSet:
    """The rows of one key. ``rows`` may be read by anybody; :meth:`put`, :meth:`remove` and
    :meth:`changed` keep account of what has to be written."""

    __slots__ = ("_dirty", "_loose", "_pages", "_sets", "key", "note", "prefix", "rows", "stored")

    def __init__(self, key: Any, sets: Owner, pages: list[Page], prefix: bytes = b"") -> None:
        self.key = key
        #: how the addresses of its pages begin
        self.prefix = prefix
        self._sets = sets
        self._pages = pages or [{}]
        #: how many pages the store has
        self.stored = len(pages)
        self._dirty: set[int] = set()
        #: pages that have become half empty
        self._loose = {at for at, page in enumerate(pages[:-1]) if 2 * len(page) < _FULL}
        #: what the operator has worked out about the rows, None if nothing
        self.note: Any = None
        self.rows: Page = self._pages[0] if len(pages) < 2 else _united(pages)

    def put(self, row: bytes, *numbers: int) -> Entry:
        """Add a row that is not there. Returns its entry, whose numbers begin at index 1."""
        page = len(self._pages) - 1
        if len(self._pages[page]) >= _FULL:
            page = self._with_room()
        entry = [page, *numbers]
        if self._sets.retention:
            entry.append(self._sets.now())
        self._pages[page][row] = self.rows[row] = entry
        self._mark(page)
        return entry

    def _with_room(self) -> int:
        for number in self._loose:
            if len(self._pages[number]) < _FULL:
                return number
        self._loose.clear()
        if len(self._pages) == 1:
            self.rows = dict(self._pages[0])
        self._pages.append({})
        return len(self._pages) - 1

    def remove(self, row: bytes) -> None:
        """Take a row out."""
        page = self.rows.pop(row)[0]
        held = self._pages[page]
        held.pop(row, None)
        if 2 * len(held) < _FULL and page < len(self._pages) - 1:
            self._loose.add(page)
        self._mark(page)

    def changed(self, entry: Entry) -> None:
        """The numbers of an entry were changed."""
        if self._sets.retention:
            entry[-1] = self._sets.now()
        self._mark(entry[0])

    def clear(self) -> None:
        """Take all rows out."""
        for row in list(self.rows):
            self.remove(row)

    def _mark(self, page: int) -> None:
        if not self._dirty:
            self._sets.touched.append(self)
        self._dirty.add(page)

    def expire(self, until: int) -> None:
        """Take out the rows that were last written at or before ``until``."""
        for row in [row for row, entry in self.rows.items() if entry[-1] <= until]:
            self.remove(row)

    def write(self, where: list[bytes], records: list[bytes | None]) -> None:
        """Add the pages that changed to ``records``, and their addresses to ``where``."""
        prefix = self.prefix
        if len(self._pages) == 1 and self.stored < 2:
            if self.rows or self.stored:
                where.append(prefix + _FIRST)
                records.append(self._sets.packed(self.rows, 1) if self.rows else None)
            return
        if not self.rows:
            where += [prefix + number.to_bytes(4, "big") for number in range(self.stored)]
            records += [None] * self.stored
            return
        count = len(self._pages)
        if count != self.stored:
            self._dirty.add(0)
        for number in self._dirty:
            page = self._pages[number]
            where.append(prefix + number.to_bytes(4, "big"))
            records.append(self._sets.packed(page, count) if page or not number else None)

    def settle(self) -> None:
        """The changes are written."""
        if not self.rows:
            self._pages = [{}]
            self._loose.clear()
            self.rows = self._pages[0]
            self.stored = 0
        else:
            self.stored = len(self._pages)
        self._dirty.clear()


class RowSets:
    """One table of one operator and slot."""

    def __init__(
        self,
        name: str,
        store: SlotStore,
        retention_ms: int = 0,
        now: Callable[[], int] = lambda: 0,
    ) -> None:
        self.name = name
        self.retention = retention_ms
        self._clock = now
        self.touched: list[RowSet] = []
        self._records = store.records
        self._records.bulky[name] = Order.KEY
        self._groups = store.max_parallelism
        self._cache = store.cache
        self._sets: dict[Any, RowSet] = {}
        #: the keys that were asked for since the last commit
        self._recent: set[Any] = set()
        self.sweeper = make_sweeper(name, store, retention_ms, now) if retention_ms else None

    def of(self, keys: list[Any]) -> list[RowSet]:
        """The rows of each of ``keys``, which are all different."""
        held = self._sets
        self._recent.update(keys)
        missing = [key for key in keys if key not in held]
        if missing:
            self._load(missing)
        found = list(map(held.__getitem__, keys))
        if self.retention:
            until = self.now() - self.retention
            for one in found:
                one.expire(until)
        return found

    def _load(self, keys: list[Any]) -> None:
        prefixes = prefixes_of(keys, self._groups)
        firsts = self._records.get_many(self.name, [prefix + _FIRST for prefix in prefixes])
        if not any(firsts):
            pairs = zip(keys, prefixes, strict=True)
            self._sets.update((key, RowSet(key, self, [], prefix)) for key, prefix in pairs)
            return
        more: list[bytes] = []
        counts: list[int] = []
        pages: list[list[Page]] = []
        for prefix, first in zip(prefixes, firsts, strict=True):
            count, page = (0, {}) if first is None else unpacked_page(first)
            more.extend(prefix + number.to_bytes(4, "big") for number in range(1, count))
            counts.append(count)
            pages.append([page] if count else [])
        rest = iter(self._records.get_many(self.name, more) if more else ())
        for key, count, mine, prefix in zip(keys, counts, pages, prefixes, strict=True):
            for number in range(1, count):
                record = next(rest)
                mine.append({} if record is None else unpacked_page(record, number)[1])
            self._sets[key] = RowSet(key, self, mine, prefix)

    def now(self) -> int:
        """The clock, in milliseconds."""
        return self._clock()

    def packed(self, page: Page, count: int) -> bytes:
        """A page as it is stored."""
        body = _pack((count, [(row, entry[1:]) for row, entry in page.items()]))
        if not self.retention:
            return bytes([_VERSION]) + body
        last = max((entry[-1] for entry in page.values()), default=self.now())
        return bytes([STAMPED]) + stamp_bytes(last) + body

    def changes(self) -> Iterator[Group]:
        """What changed since the last commit."""
        where: list[bytes] = []
        records: list[bytes | None] = []
        with collector_paused():
            for one in self.touched:
                one.write(where, records)
        if self.sweeper is None:
            if where:
                yield self.name, where, records
            return
        single = ((self.name, *change) for change in zip(where, records, strict=True))
        yield from grouped(with_expired(single, self.sweeper))

    def settle(self) -> None:
        """The changes are written."""
        for one in self.touched:
            one.settle()
        self.touched.clear()
        found = 0 if self.sweeper is None else self.sweeper.take_found()
        if found:
            self.forget()
        elif sum(len(one.rows) + 1 for one in self._sets.values()) > self._cache:
            # what is in use is likely to be asked for again, however much it is
            self._sets = {key: self._sets[key] for key in self._recent}
            if len(self._sets) > self._cache:
                self._sets.clear()
        self._recent.clear()

    def forget(self) -> None:
        """What is in memory is no longer what is stored."""
        self._sets.clear()
        self._recent.clear()
        self.touched.clear()


def _united(pages: Iterable[Page]) -> Page:
    made: Page = {}
    for page in pages:
        made.update(page)
    return made


def unpacked_page(record: bytes, number: int = 0) -> tuple[int, Page]:
    """How many pages there are, and the rows of page ``number``, which ``record`` is."""
    if record[0] == STAMPED:
        body = memoryview(record)[9:]
    elif record[0] == _VERSION:
        body = memoryview(record)[1:]
    else:
        raise unknown_format(record[:1])
    count, rows = _unpack(body)
    return count, {row: [number, *numbers] for row, numbers in rows}
