"""Windows that begin anew although their slices are shared.

With dead letters, a window that fails when it fires holds nothing afterwards. Where its elements
lie in slices that other windows share they cannot be deleted; so the window notes the number of the
first element that counts.
"""

from __future__ import annotations

from scurry.common.windows import TimeWindow, WindowKey
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import MISSING, StateTable

#: The table of those numbers, by key and window.
CUTS = "#window-cuts"


class Cuts:
    """The windows of one operator and slot that have failed."""

    def __init__(self, uid: str, store: SlotStore) -> None:
        self._store, self._name = store, f"{uid}\x1f{CUTS}"
        self._table: StateTable = store.table(uid, CUTS)
        #: whether there may be any
        self.any = False

    def look(self) -> None:
        """See whether the store has any."""
        if not self.any:
            self.any = next(self._store.reader.scan(self._name), None) is not None

    def of(self, key: object, window: TimeWindow) -> int:
        """The number of the first element that counts for a window."""
        if not self.any:
            return 0
        place = WindowKey(key, window)
        held = self._table.live.get(place, MISSING)
        if held is MISSING:
            held = self._table.load(place)
        return held or 0

    def cut(self, key: object, window: TimeWindow, number: int) -> None:
        """A window has failed: only elements from ``number`` on count from now on."""
        self.any = True
        self._hold(WindowKey(key, window), number)

    def clear(self, key: object, window: TimeWindow) -> None:
        """A window has ended."""
        if self.of(key, window):
            self._hold(WindowKey(key, window), None)

    def _hold(self, place: WindowKey, number: int | None) -> None:
        self._table.live[place] = number
        self._table.dirty[place] = None
