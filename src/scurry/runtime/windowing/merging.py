"""Windows that merge: the sessions of each key, and under which window their contents lie.

Each window is a record of its own below its key. A key's windows are brought into memory when the
key is first touched and then stay; an element of a key with a million open sessions finds its
neighbours by bisection.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scurry.common.values import Element
from scurry.common.windows import TimeWindow, Window
from scurry.state.journal import Change, RecordReader, in_groups
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import pack_record, prefix_of, unpack_record, window_form
from scurry.windowing.assigners import MergingWindowAssigner
from scurry.windowing.session_windows import SessionWindows

#: The table of windows that may merge.
MERGING_WINDOWS = "#merging-windows"
_KEEP = 500_000


class Merge(NamedTuple):
    """Windows that became one."""

    result: Window
    merged: list[Window]
    #: where the result's contents are
    into: Window
    #: where contents are that must be moved there
    sources: list[Window]


class KeyWindows:
    """The windows of one key, each with the window its contents are stored under."""

    __slots__ = ("changed", "order", "stored_under")

    def __init__(self) -> None:
        self.stored_under: dict[Window, Window] = {}
        #: the same windows sorted; kept for spans of time only
        self.order: list[TimeWindow] = []
        self.changed: set[Window] = set()

    def put(self, window: Window, under: Window, ordered: bool) -> None:
        """Add a window."""
        if ordered and isinstance(window, TimeWindow) and window not in self.stored_under:
            insort(self.order, window)
        self.stored_under[window] = under
        self.changed.add(window)

    def remove(self, window: Window, ordered: bool) -> Window:
        """Remove a window; returns where its contents are."""
        if ordered and isinstance(window, TimeWindow):
            del self.order[bisect_left(self.order, window)]
        self.changed.add(window)
        return self.stored_under.pop(window)

    def touching(self, window: TimeWindow) -> list[TimeWindow]:
        """The windows that overlap or touch ``window``, in order; no two of them do."""
        order, start, end = self.order, window[0], window[1]
        first = bisect_left(order, window)
        while first > 0 and order[first - 1][1] >= start:
            first -= 1
        last = first
        while last < len(order) and order[last][0] <= end:
            last += 1
        return order[first:last]


class MergingWindows:
    """The windows of all keys of one operator and slot."""

    def __init__(
        self,
        name: str,
        store: RecordReader,
        max_parallelism: int,
        assigner: MergingWindowAssigner[Element, Window],
    ) -> None:
        self.name = name
        self._store = store
        self._max_parallelism = max_parallelism
        self._assigner = assigner
        self._ordered = isinstance(assigner, SessionWindows)
        self._keys: dict[object, KeyWindows] = {}
        self._touched: set[object] = set()

    @classmethod
    def of(
        cls, uid: str, store: SlotStore, assigner: MergingWindowAssigner[Element, Window]
    ) -> MergingWindows:
        """Those of operator ``uid``."""
        name = f"{uid}\x1f{MERGING_WINDOWS}"
        return store.part(name, lambda: cls(name, store.reader, store.max_parallelism, assigner))

    def of_key(self, key: object) -> KeyWindows:
        """The windows of a key."""
        held = self._keys.get(key)
        if held is None:
            held = self._keys[key] = KeyWindows()
            for _, record in self._records(key):
                window, under = unpack_record(record)[1]
                held.put(window, under, self._ordered)
            held.changed.clear()
        return held

    def _records(self, key: object) -> Iterator[tuple[bytes, bytes]]:
        prefix = prefix_of(key, self._max_parallelism)
        for address, record in self._store.scan(self.name, prefix):
            if not address.startswith(prefix):
                return
            yield address, record

    def add(self, key: object, window: Window) -> tuple[Window, list[Merge]]:
        """Add a window to a key; returns the window that now stands for it, and the merges."""
        held = self.of_key(key)
        groups = self._groups(held, window)
        actual, merges = window, []
        for result, members in groups:
            existing = [member for member in members if member in held.stored_under]
            if len(existing) < len(members):
                actual = result
            if not existing or existing == [result]:
                continue
            under = [held.remove(member, self._ordered) for member in existing]
            held.put(result, under[0], self._ordered)
            merges.append(Merge(result, existing, under[0], under[1:]))
        if actual not in held.stored_under:
            held.put(actual, actual, self._ordered)
        if held.changed:
            self._touched.add(key)
        return actual, merges

    def _groups(self, held: KeyWindows, window: Window) -> list[tuple[Window, list[Window]]]:
        """Groups of windows that become one, as pairs of result and members."""
        if isinstance(window, TimeWindow) and self._ordered:
            touching = held.touching(window)
            if not touching:
                return []
            whole = TimeWindow(min(window[0], touching[0][0]), max(window[1], touching[-1][1]))
            members: list[Window] = [*touching]
            if window not in held.stored_under:
                members.append(window)
            return [(whole, members)]
        collected = _Groups()
        self._assigner.merge_windows(dict.fromkeys([*held.stored_under, window]), collected)
        return collected.groups

    def retire(self, key: object, window: Window) -> None:
        """A window has ended."""
        self.of_key(key).remove(window, self._ordered)
        self._touched.add(key)

    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""
        for key in self._touched:
            held = self._keys[key]
            prefix = prefix_of(key, self._max_parallelism)
            for window in held.changed:
                address = prefix + window_form(window)
                if window in held.stored_under:
                    under = held.stored_under[window]
                    yield self.name, address, pack_record(key, (window, under))
                elif self._store.get(self.name, address) is not None:
                    yield self.name, address, None

    def settle(self) -> None:
        """The changes are committed."""
        for key in self._touched:
            held = self._keys[key]
            held.changed.clear()
            if not held.stored_under:
                del self._keys[key]
        self._touched.clear()
        if sum(len(held.stored_under) for held in self._keys.values()) > _KEEP:
            self.forget()

    def forget(self) -> None:
        """Drop everything held in memory."""
        self._keys.clear()
        self._touched.clear()


class _Groups:
    """Collects what an assigner says about merging."""

    def __init__(self) -> None:
        self.groups: list[tuple[Window, list[Window]]] = []

    def merge(self, to_be_merged: Iterable[Window], merge_result: Window) -> None:
        self.groups.append((merge_result, list(to_be_merged)))
