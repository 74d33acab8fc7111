"""Tables: the decoded values of one named state, above the local store.

Within a micro-batch a table answers reads from a dict and remembers what changed; at the commit it
hands over the changes as bytes. A value that users could change in place (a list, a dataclass) is
compared by its bytes at the commit, so that ``state.value().append(x)`` without ``update`` has the
same effect however the input is cut into batches.

A commit that somebody else writes (:mod:`scurry.state.freezing`) leaves the table *frozen*: what
was in memory is put aside, and stands between the table and the store until the commit is written.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, repeat
from typing import Any
from weakref import WeakSet

import numpy as np

from scurry.common.errors import KeyTypeError
from scurry.common.key_forms import canonical
from scurry.common.keys import form_of, forms_of, hash_forms, stable_hash, stable_hash_int64
from scurry.common.options.state import STATE_CACHE
from scurry.common.windows import TimeWindow, WindowKey
from scurry.state.codecs.encoding import IMMUTABLE, decode, decode_key, encode
from scurry.state.codecs.records import RecordCodec, head_of
from scurry.state.freezing import Leftovers
from scurry.state.journal import Change, Group, grouped, stored_key
from scurry.state.runs.key_rows import Order
from scurry.state.slot_records import SlotRecords
from scurry.state.states import ValueState
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.ttl import Sweeper

#: Stands for "not looked up yet"; None is a user's value meaning "nothing there".
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
#: Decoded entries that a table keeps from one micro-batch to the next, unless told otherwise.
CACHE_ENTRIES = STATE_CACHE.default
_LONG_FORM = 300
#: The longest prefix of a key that has no window.
LONGEST_PREFIX = 4 + _LONG_FORM
_SPAN = struct.Struct(">QQ")
_BIAS = 1 << 63
#: By number of digits: what stands before a whole number in a prefix.
_INT_FORMS = [(digits + 1).to_bytes(2, "big") + b"i" for digits in range(24)]
#: Keys that tell whether an operator reads, and micro-batches after which it is found out again.
_LEARN_FROM, _LEARN_AGAIN = 1000, 64


# typed, because a window key equals the plain tuple of its parts
@lru_cache(maxsize=1 << 16, typed=True)
def address(key: Any, max_parallelism: int) -> bytes:
    """Where the records of ``key`` live in a table: its key group, then its canonical form."""
    if type(key) is WindowKey:
        return prefix_of(key, max_parallelism)
    return (stable_hash(key) % max_parallelism).to_bytes(2, "big") + form_of(key)


def addresses(keys: list[Any], max_parallelism: int) -> list[bytes]:
    """:func:`address` of many keys; whole numbers and tuples are hashed all at once."""
    kinds = set(map(type, keys))
    if kinds == {tuple}:
        forms = forms_of(keys)
        groups = hash_forms(forms) % np.uint64(max_parallelism)
        begin = [group.to_bytes(2, "big") for group in range(max_parallelism)]
        return [begin[group] + form for group, form in zip(groups.tolist(), forms, strict=True)]
    if kinds == {int}:
        try:
            groups = stable_hash_int64(np.array(keys, dtype=np.int64)) % np.uint64(max_parallelism)
        except OverflowError:
            return [address(key, max_parallelism) for key in keys]
        prefixes = [group.to_bytes(2, "big") + b"i" for group in range(max_parallelism)]
        return [
            prefixes[group] + b"%d" % key for group, key in zip(groups.tolist(), keys, strict=True)
        ]
    return [address(key, max_parallelism) for key in keys]


@lru_cache(maxsize=1 << 16, typed=True)
def prefix_of(key: Any, max_parallelism: int) -> bytes:
    """The beginning of the addresses of a key that has many records: no other key's begin so.

    The addresses of a key's windows begin with that of the key, and lie in its key group."""
    if type(key) is WindowKey:
        form = window_form(key[1])
        return prefix_of(key[0], max_parallelism) + len(form).to_bytes(2, "big") + form
    return _prefix(stable_hash(key) % max_parallelism, form_of(key))


def _prefix(group: int, form: bytes) -> bytes:
    if len(form) > _LONG_FORM:
        form = b"#" + hashlib.blake2b(form, digest_size=32).digest()
    return group.to_bytes(2, "big") + len(form).to_bytes(2, "big") + form


def prefixes_of(keys: list[Any], max_parallelism: int) -> list[bytes]:
    """:func:`prefix_of` of many keys; whole numbers and tuples are hashed all at once."""
    kinds = set(map(type, keys))
    if kinds == {tuple}:
        forms = forms_of(keys)
        groups = hash_forms(forms) % np.uint64(max_parallelism)
        return list(map(_prefix, groups.tolist(), forms))
    if kinds == {int}:
        try:
            groups = stable_hash_int64(np.array(keys, dtype=np.int64)) % np.uint64(max_parallelism)
        except OverflowError:
            return [prefix_of(key, max_parallelism) for key in keys]
        begin = [group.to_bytes(2, "big") for group in range(max_parallelism)]
        texts = [b"%d" % key for key in keys]
        return [
            begin[group] + _INT_FORMS[len(text)] + text
            for group, text in zip(groups.tolist(), texts, strict=True)
        ]
    return [prefix_of(key, max_parallelism) for key in keys]


def window_form(window: Any) -> bytes:
    """The canonical form of a window, in the order of windows where they are spans of time."""
    if type(window) is TimeWindow:
        try:
            return _SPAN.pack(window[0] + _BIAS, window[1] + _BIAS)
        except struct.error:
            pass
    try:
        form = canonical(window)
    except KeyTypeError:
        form = b"p" + encode(window)
    if len(form) <= _LONG_FORM // 2:
        return form
    return b"#" + hashlib.blake2b(form, digest_size=32).digest()


def pack_record(key: Any, value: Any) -> bytes:
    """A record holds its key too, so that tables can be listed and redistributed."""
    encoded = encode(key)
    return len(encoded).to_bytes(4, "big") + encoded + encode(value)


def unpack_record(record: bytes) -> tuple[Any, Any]:
    """Key and value of a record."""
    end = 4 + int.from_bytes(record[:4], "big")
    return decode_key(record[4:end]), decode(record[end:])


class StateTable:
    """One named state of one operator in one slot.

    In memory are the entries used in the current micro-batch, and between micro-batches at most
    ``cache`` of them. ``bulk`` says that :meth:`prefetch` is told the keys before they are read.
    """

    def __init__(
        self,
        name: str,
        store: SlotRecords,
        max_parallelism: int,
        codec: RecordCodec | None = None,
        sweeper: Sweeper | None = None,
        cache: int = CACHE_ENTRIES,
        bulk: bool = False,
    ) -> None:
        self.name = name
        if bulk:
            store.bulky[name] = Order.KEY
        self.live: dict[Any, Any] = {}
        self.dirty: dict[Any, None] = {}
        self.codec = RecordCodec(name) if codec is None else codec
        self.sweeper = sweeper
        self._cache = cache
        self._store = store
        self._max_parallelism = max_parallelism
        self._addresses: dict[Any, bytes] = {}
        #: keys fetched in this micro-batch, in the order in which they came, and their addresses
        self._asked: tuple[list[Any], list[bytes]] = [], []
        self._mutable: dict[Any, bytes] = {}
        #: what was in memory when the table was frozen, None if it is not
        self._frozen: dict[Any, Any] | None = None
        self._shed = Leftovers()
        #: the handles of users, which know :attr:`live` and :attr:`dirty` themselves
        self.handles: WeakSet[TableValueState] = WeakSet()
        #: whether most keys are read; None: to be found out by counting
        self._habit: bool | None = None
        self._rests = False
        self._loads = self._fetched = self._handled = self._awaited = self._since = 0

    def prefetch(self, keys: list[Any]) -> None:
        """Bring the stored values of ``keys`` into :attr:`live` at once, if experience says that
        most of them will be asked for."""
        self._handled += len(keys)
        always = self._store.in_runs(self.name)
        if self._rests and not always:
            return
        missing = list(dict.fromkeys(keys))
        if self.live:
            missing = [key for key in missing if key not in self.live]
        if self._frozen:
            missing = self._thaw_some(missing)
        if self._habit is None and not always:
            self._awaited += len(missing)
        elif (self._habit or always) and missing:
            self._fetched += len(missing)
            where = addresses(missing, self._max_parallelism)
            self._asked[0].extend(missing)
            self._asked[1].extend(where)
            records = self._store.get_many(self.name, where)
            values = self.codec.unpack_all(records)
            self.live.update(zip(missing, values, strict=True))
            if not IMMUTABLE.issuperset(map(type, values)):
                fixed = self.codec.fixed
                for key, value, record in zip(missing, values, records, strict=True):
                    if record is not None and not fixed(value):
                        self._mutable[key] = record

    def _address_all(self, keys: list[Any]) -> list[bytes]:
        asked, where = self._asked
        if keys == asked:
            # as a rule a key is written to when it is met first
            return where
        self._remember_asked()
        known = self._addresses
        unknown = [key for key in keys if key not in known]
        known.update(zip(unknown, addresses(unknown, self._max_parallelism), strict=True))
        return list(map(known.__getitem__, keys))

    def _remember_asked(self) -> None:
        self._addresses.update(zip(*self._asked, strict=True))
        self._asked = [], []

    def _learn(self) -> None:
        """Find out, now and then, whether the operator reads what it handles, and whether that
        is in memory already."""
        self._rests = (self._loads + self._fetched) * 8 < self._handled
        if self._habit is None and self._awaited >= _LEARN_FROM:
            self._habit, self._since = self._loads * 2 >= self._awaited, 0
        elif self._habit is not None:
            self._since += 1
            if self._since >= _LEARN_AGAIN:
                self._habit = None
        self._loads = self._fetched = self._handled = self._awaited = 0

    def load(self, key: Any) -> Any:
        """The stored value of ``key`` (None if there is none), now in :attr:`live`."""
        self._loads += 1
        if self._frozen is not None and key in self._frozen:
            self._thaw_some([key])
            return self.live[key]
        record = self._store.get(self.name, self._address(key))
        value = None
        if record is not None:
            value = self.codec.unpack(record)
            if not self.codec.fixed(value):
                self._mutable[key] = record
        self.live[key] = value
        return value

    def _address(self, key: Any) -> bytes:
        found = self._addresses.get(key)
        if found is None:
            found = self._addresses[key] = address(key, self._max_parallelism)
        return found

    def changes(self) -> Iterator[Group]:
        """What changed since the last commit, as bytes."""
        keys, live = list(self.dirty), self.live
        same = len(keys) == len(live) and keys == list(live)
        values = live.values() if same else map(live.__getitem__, keys)
        records = self.codec.pack_all(keys, list(values))
        written = self.name, self._address_all(keys), records
        if self.sweeper is not None:
            changes = zip(repeat(self.name), *written[1:], strict=False)
            yield from grouped(with_expired(chain(changes, self._in_place()), self.sweeper))
            return
        if keys:
            yield written
        yield from grouped(self._in_place())

    def _in_place(self) -> Iterator[Change]:
        name, pack, live, where = self.name, self.codec.pack, self.live, self._address
        for key, before in self._mutable.items():
            if key not in self.dirty:
                record = pack((key,), live[key])
                if record != before:
                    yield name, where(key), record

    def settle(self) -> None:
        """After a commit: keep what may be kept for the next batch."""
        self._learn()
        if self.sweeper is not None and self.sweeper.take_found():
            self.forget()
        if len(self.live) > self._cache:
            self._keep_recent()
        else:
            self._remember_asked()
            if len(self._addresses) > self._cache:
                # values that could be changed in place are not kept, but their addresses were
                self._addresses.clear()
        for key in self._loose():
            self.live.pop(key, None)
        self.dirty.clear()
        self._mutable.clear()

    def _loose(self) -> list[Any]:
        """Keys whose values somebody could change in place: all other values were written, or
        looked at when they were read, before the last commit."""
        live, fixed = self.live, self.codec.fixed
        written = [key for key in self.dirty if key in live]
        if not self.codec.stamped and IMMUTABLE.issuperset(
            map(type, map(live.__getitem__, written))
        ):
            written = []
        return [
            *(key for key in written if live[key] is not None and not fixed(live[key])),
            *self._mutable,
        ]

    def _keep_recent(self) -> None:
        recent: Iterable[Any] = ()
        if len(self.dirty) <= self._cache:
            self._remember_asked()
            recent = self.dirty
        kept = [(key, self.live[key], self._addresses.get(key)) for key in recent]
        self.live.clear()
        self._addresses.clear()
        self._asked = [], []
        for key, value, where in kept:
            self.live[key] = value
            if where is not None:
                self._addresses[key] = where

    def forget(self) -> None:
        """Drop everything decoded; the store below is asked again."""
        self._frozen = None
        self.live.clear()
        self.dirty.clear()
        self._addresses.clear()
        self._asked = [], []
        self._mutable.clear()

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All keys and values, uncommitted changes included."""
        plain = self.codec.plain
        if self._frozen:
            self._thaw_some(self._frozen.keys() - self.live.keys())
        for _, record in self._store.scan(self.name):
            key = head_of(record)[0]
            if key not in self.live:
                yield key, plain(self.codec.unpack(record))
        for key, value in self.live.items():
            if value is not None:
                yield key, plain(value)

    # --- being frozen

    freezes = True

    @property
    def changed(self) -> int:
        """How many keys were written to since the last commit, or may have been."""
        return len(self.dirty) + len(self._mutable)

    def freeze(self) -> None:
        """What has changed is written by somebody else, and is not in the store for a while."""
        assert self._frozen is None
        self._learn()
        self._frozen = self.live
        self._shed = Leftovers(self.dirty, self._mutable, self._addresses, *self._asked)
        self._put({}, {})
        self._addresses, self._asked, self._mutable = {}, ([], []), {}

    def _put(self, live: dict[Any, Any], dirty: dict[Any, None]) -> None:
        self.live, self.dirty = live, dirty
        for handle in self.handles:
            handle.attach()

    def _thaw_some(self, keys: Iterable[Any]) -> list[Any]:
        """Bring frozen values of ``keys`` into :attr:`live`; the keys that have none. A value that
        can be changed in place stays as it is for whoever writes it: users get another one."""
        frozen, live, fixed = self._frozen, self.live, self.codec.fixed
        assert frozen is not None
        others = []
        for key in keys:
            value = frozen.get(key, MISSING)
            if value is MISSING:
                others.append(key)
            elif value is None or fixed(value):
                live[key] = value
            else:
                record = self._mutable[key] = self.codec.pack((key,), value)
                live[key] = self.codec.unpack(record)
        return others

    def thaw(self) -> Leftovers:
        """What was frozen is in the store now; what is of no more use."""
        frozen, left = self._frozen, self._shed
        assert frozen is not None
        self._frozen, self._shed = None, Leftovers()
        if self.sweeper is not None and self.sweeper.take_found():
            # some of what is in memory may not be in the store any more
            kept = {key: self.live[key] for key in (*self.dirty, *self._mutable)}
            left.add(self.live, frozen)
            self._put(kept, self.dirty)
        elif len(frozen) + len(self.live) <= self._cache and IMMUTABLE.issuperset(
            map(type, frozen.values())
        ):
            frozen.update(self.live)
            self._put(frozen, self.dirty)
        else:
            left.add(frozen)
        return left


def with_expired(changes: Iterator[Change], sweeper: Sweeper | None) -> Iterator[Change]:
    """``changes``, and the removal of some records that have expired."""
    return changes if sweeper is None else _and_expired(changes, sweeper)


def _and_expired(changes: Iterator[Change], sweeper: Sweeper) -> Iterator[Change]:
    written = set()
    for change in changes:
        written.add(stored_key(change[1]))
        yield change
    for where in sweeper.expired(len(written)):
        if where not in written:
            written.add(where)
            yield sweeper.table, where, None


class TableValueState(ValueState[Any]):
    """The handle users hold: reads and writes the table at the current key."""

    __slots__ = ("_dirty", "_live", "_scope", "_table")

    def __init__(self, table: StateTable, scope: KeyScope) -> None:
        self._table = table
        self._scope = scope
        table.handles.add(self)
        self.attach()

    def attach(self) -> None:
        """Know what the table has in memory. Called when that is another dict than before."""
        self._live = self._table.live
        self._dirty = self._table.dirty

    def value(self) -> Any:
        key = self._scope.key
        value = self._live.get(key, MISSING)
        return self._table.load(key) if value is MISSING else value

    def update(self, value: Any) -> None:
        key = self._scope.key
        self._live[key] = value
        self._dirty[key] = None

    def clear(self) -> None:
        self.update(None)
