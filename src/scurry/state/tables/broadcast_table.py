"""Broadcast state: one map per operator and slot, the same in every slot, held in memory whole.

Rules are read for every event and written now and then. So the map is a plain dict, in an order
that depends on nothing but its keys (a slot that was rebuilt lists its rules as before), and each
entry that changes becomes one record at the commit. Values that could have been changed in place
are compared by their bytes, as everywhere in this package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from scurry.common.errors import ProgramError
from scurry.common.keys import FrozenKey, form_of, freeze, thaw
from scurry.state.codecs.encoding import IMMUTABLE
from scurry.state.journal import Change, RecordReader, in_groups
from scurry.state.rescaling import to_everyone
from scurry.state.states import BroadcastState, ReadOnlyBroadcastState
from scurry.state.tables.table import pack_record, unpack_record

#: The tables of broadcast states have names that begin so.
BROADCAST_STATES = "#broadcast"
#: Stands where other records have their key group: these belong to every slot.
EVERY_SLOT = b"\xff\xff"


class BroadcastTable:
    """One named broadcast state of one operator in one slot."""

    redistribute = staticmethod(to_everyone)

    def __init__(self, name: str, store: RecordReader) -> None:
        self.name = name
        self._store = store
        #: all entries once they are loaded, None before
        self.loaded: dict[Any, Any] | None = None
        self._ordered: dict[Any, Any] | None = None
        self._listed: Iterable[tuple[Any, Any]] = ()
        self._forms: dict[Any, bytes] = {}
        self._changed: dict[Any, None] = {}
        #: the committed records of values that could be changed in place, and their successors
        self._records: dict[Any, bytes] = {}
        self._fresh: dict[Any, bytes] = {}

    @property
    def live(self) -> dict[Any, Any]:
        """All entries, in no particular order."""
        return self._load() if self.loaded is None else self.loaded

    def _load(self) -> dict[Any, Any]:
        self.loaded = live = {}
        for address, record in self._store.scan(self.name):
            entry, value = unpack_record(record)
            entry = freeze(entry)
            live[entry] = value
            self._forms[entry] = address[len(EVERY_SLOT) :]
            if not _unchangeable(value):
                self._records[entry] = record
        return live

    def ordered(self) -> dict[Any, Any]:
        """All entries in the order of their keys; not changed afterwards, only replaced."""
        if self._ordered is None:
            live = self.live
            self._ordered = {key: live[key] for key in sorted(live, key=self._forms.__getitem__)}
            self._listed = self._ordered.items()
            if FrozenKey in map(type, live):
                self._listed = [(thaw(key), value) for key, value in self._listed]
        return self._ordered

    def listed(self) -> Iterable[tuple[Any, Any]]:
        """Users' keys, and values, in the same order."""
        self.ordered()
        return self._listed

    def put(self, key: Any, value: Any) -> None:
        """Set an entry."""
        live, key = self.live, freeze(key)
        if key not in live:
            self._forms[key] = form_of(key)
        live[key] = value
        self._ordered = None
        self._changed[key] = None

    def remove(self, key: Any) -> None:
        """Delete an entry, if it is there."""
        key = freeze(key)
        if key in self.live:
            del self.live[key]
            self._ordered = None
            self._changed[key] = None

    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""
        if self.loaded is None:
            return
        for key in self._changed:
            record = self._record(key) if key in self.loaded else None
            if record is None or _unchangeable(self.loaded[key]):
                self._records.pop(key, None)
            else:
                self._fresh[key] = record
            yield self.name, EVERY_SLOT + self._forms[key], record
        for key, before in self._records.items():
            if key not in self._changed:
                record = self._record(key)
                if record != before:
                    self._fresh[key] = record
                    yield self.name, EVERY_SLOT + self._forms[key], record

    def _record(self, key: Any) -> bytes:
        assert self.loaded is not None
        return pack_record(thaw(key), self.loaded[key])

    def settle(self) -> None:
        """The changes are committed."""
        self._records.update(self._fresh)
        self._fresh.clear()
        self._changed.clear()

    def forget(self) -> None:
        """Drop everything held in memory."""
        self.loaded = self._ordered = None
        for held in (self._forms, self._changed, self._records, self._fresh):
            held.clear()

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All keys and values, uncommitted changes included."""
        yield from self.listed()


def _unchangeable(value: Any) -> bool:
    kind = type(value)
    if kind in IMMUTABLE:
        return True
    if kind is tuple:
        return all(map(_unchangeable, value))
    if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        fields = dataclasses.fields(kind)
        return all(_unchangeable(getattr(value, field.name)) for field in fields)
    return False


class TableReadOnlyBroadcastState(ReadOnlyBroadcastState[Any, Any]):
    """What the side that is not broadcast holds: it may look, not touch."""

    def __init__(self, table: BroadcastTable) -> None:
        self._table = table

    def get(self, key: Any) -> Any:
        table = self._table
        live = table.loaded
        if live is None:
            live = table.live
        return live.get(freeze(key))

    def contains(self, key: Any) -> bool:
        return freeze(key) in self._table.live

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._table.listed()

    def keys(self) -> Iterable[Any]:
        return [key for key, _ in self._table.listed()]

    def values(self) -> Iterable[Any]:
        return self._table.ordered().values()

    def is_empty(self) -> bool:
        return not self._table.live

    def _refuse(self, *args: Any) -> Any:
        name = self._table.name.rsplit("\x1f", 1)[-1]
        raise ProgramError(
            f"Broadcast state {name!r} was written outside process_broadcast_element. Only "
            "elements of the broadcast stream reach every instance, so only they may change it; "
            "send the change through the broadcast stream."
        )

    put = put_all = remove = clear = __setitem__ = __delitem__ = _refuse


class TableBroadcastState(TableReadOnlyBroadcastState, BroadcastState[Any, Any]):
    """What the broadcast side holds."""

    def put(self, key: Any, value: Any) -> None:
        self._table.put(key, value)

    def put_all(self, dict_value: dict[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        for key, value in dict(dict_value).items():
            self._table.put(key, value)

    def remove(self, key: Any) -> None:
        self._table.remove(key)

    def clear(self) -> None:
        for key in list(self._table.live):
            self._table.remove(key)

    __setitem__ = put
    __delitem__ = remove
