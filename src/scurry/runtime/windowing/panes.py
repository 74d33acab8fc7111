"""Counting the firings of each window, and withdrawing the results of earlier ones."""

from __future__ import annotations

import copy

from scurry.common.copies import own
from scurry.common.types import Row, RowKind
from scurry.common.windows import WindowKey
from scurry.functions.panes import AccumulationMode, PaneInfo, PaneTiming
from scurry.runtime.operator import is_tagged
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import MISSING, StateTable
from scurry.windowing.spec import WindowSpec

#: The table of how often windows have fired.
PANES = "#window-panes"


class Panes:
    """Firings of the windows of one operator and slot: how many, and what the last one said."""

    def __init__(self, spec: WindowSpec, uid: str, store: SlotStore) -> None:
        self.retracting = spec.accumulation is AccumulationMode.ACCUMULATING_AND_RETRACTING
        self._once = spec.fires_once
        self._table: StateTable = store.table(uid, PANES)

    def _held(self, place: WindowKey) -> tuple[int, tuple[object, ...]]:
        held = self._table.live.get(place, MISSING)
        if held is MISSING:
            held = self._table.load(place)
        return (0, ()) if held is None else held

    def _hold(self, place: WindowKey, held: tuple[int, tuple[object, ...]] | None) -> None:
        self._table.live[place] = held
        self._table.dirty[place] = None

    def next(self, place: WindowKey, timing: PaneTiming, last: bool) -> PaneInfo:
        """The pane of a window that fires now."""
        index, said = self._held(place)
        self._hold(place, (index + 1, said))
        return PaneInfo(timing, index, index == 0, last)

    def retract(self, place: WindowKey, results: list[object]) -> list[object]:
        """``results`` of a firing as Rows with a kind, after those that take back the last ones;
        what goes to side outputs stays as it is."""
        index, said = (0, ()) if self._once else self._held(place)
        new = tuple(result for result in results if not is_tagged(result))
        if not self._once:
            self._hold(place, (index, new))
        fresh = RowKind.UPDATE_AFTER if said else RowKind.INSERT
        gone = RowKind.UPDATE_BEFORE if new else RowKind.DELETE
        return [
            *(result for result in results if is_tagged(result)),
            *(_row(result, gone) for result in said),
            # what is emitted is not what is held to be taken back
            *(_row(own(result), fresh) for result in new),
        ]

    def merge(self, into: WindowKey, merged: list[WindowKey]) -> None:
        """Have the window ``into`` take over what is known of the windows merged into it: the
        greatest number of firings, and all last results."""
        index, said = self._held(into)
        for place in merged:
            if place != into:
                other, also = self._held(place)
                index, said = max(index, other), (*said, *also)
                self.clear(place)
        if index:
            self._hold(into, (index, said))

    def clear(self, place: WindowKey) -> None:
        """The window has ended."""
        if self._held(place)[0]:
            self._hold(place, None)


def _row(value: object, kind: RowKind) -> Row:
    if isinstance(value, Row):
        row = copy.copy(value)
    else:
        row = Row(*value) if isinstance(value, tuple) else Row(value)
    row.set_row_kind(kind)
    return row
