"""What windows hold before they fire, for one key.

The view has the tables of the window operator as its slots write them. The records of the key are
picked out of these, and read by the same classes that read the windows of a savepoint
(:mod:`scurry.runtime.windowing.open_windows`). Windows that overlap are stored by slice of time;
here they are put together, as when they fire.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import lmdb
import numpy as np

from scurry.common.errors import StateError
from scurry.common.keys import key_group, slot_of_group, thaw
from scurry.common.windows import TimeWindow
from scurry.engine.queryable.view import Moment, listed
from scurry.engine.spark.script_classes import load_with_classes
from scurry.functions.transforms import AggregateFunction
from scurry.functions.window_aggregates import Aggregates
from scurry.queryable.errors import QueryError
from scurry.queryable.json_values import key_to_json, to_json
from scurry.queryable.pane_keys import BY_SLICE, COLUMNS, PaneKeys
from scurry.runtime.batch import MIN_WATERMARK
from scurry.runtime.columnar.key_codes import KeyCodes, Keys, pack_keys
from scurry.runtime.columnar.measures import Measures
from scurry.runtime.columnar.partials import Columns, pack_columns, take, unpack_columns
from scurry.runtime.windowing.agenda import Agenda
from scurry.runtime.windowing.layouts import KINDS
from scurry.runtime.windowing.open_windows import SlotWindows, WindowRow, window_kind
from scurry.runtime.windowing.run_slices import SLICED_RUNS, RunSlices
from scurry.runtime.windowing.slices import (
    SESSION_COLUMNS,
    SLICED_COLUMNS,
    SLICED_VALUES,
    ElementSlices,
    ValueSlices,
)
from scurry.runtime.windowing.vectorised.column_slices import ColumnSlices, whole_part
from scurry.runtime.windowing.vectorised.session_columns import SessionColumns
from scurry.state.feeds import QueryableState
from scurry.state.stored_tables import Records
from scurry.state.tables.table import MISSING, prefix_of

#: Records with many keys that are kept taken apart.
_KEPT = 256
#: A record taken apart: where each key's row is, the keys, and the columns.
_Parted = tuple[dict[Any, list[int]], Keys, Columns]


class Panes:
    """Reads the windows that ``state`` describes."""

    def __init__(
        self, state: QueryableState, numbers: Mapping[str, bytes], max_parallelism: int
    ) -> None:
        assert state.layout is not None
        self.state = state
        self._layout = state.layout
        self._numbers = numbers
        self._groups = max_parallelism
        self._content = next(t for t, words in KINDS.items() if words == state.layout.kind)
        self._parted: OrderedDict[bytes, _Parted] = OrderedDict()
        self._function = self._load()
        #: the keys of the micro-batch that was scanned last
        self._scanned: tuple[tuple[int, int], PaneKeys] | None = None

    def _load(self) -> Any:
        if not self.state.program:
            return None
        try:
            return load_with_classes(pickle.loads(self.state.program))
        except Exception as failure:
            raise QueryError(
                *(500, "no_function"),
                f"The function of the windows {self.state.name!r} cannot be used here: "
                f"{type(failure).__name__}: {failure}",
            ) from failure

    def of_key(self, txn: lmdb.Transaction, moment: Moment, key: Any) -> dict[str, Any] | None:
        """The windows that hold something for a key, and what; None if there are none."""
        watermark = moment.watermarks.get(self.state.uid, MIN_WATERMARK)
        tables = {table: self._records(txn, table, key) for table in self.state.tables}
        slot = SlotWindows(self.state.uid, self._layout, tables, self._groups, watermark)
        try:
            rows = sorted(self._rows(slot, key), key=lambda row: _order(row.window))
        except (AttributeError, ImportError, StateError) as failure:
            raise QueryError(
                *(500, "unreadable"),
                f"What the windows {self.state.name!r} hold cannot be read here: {failure}",
            ) from failure
        panes = [pane for row in rows for pane in self._shown(row, watermark, moment.now)]
        return {"panes": panes} if panes else None

    def between(
        self, txn: lmdb.Transaction, moment: Moment, bounds: tuple[bytes, bytes, bytes]
    ) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Rows of keys with their windows in the order of the keys, each with its place; of
        ``bounds`` see :meth:`PaneKeys.between`."""
        for place, key in self._keys(txn, moment).between(*bounds):
            found = self.of_key(txn, moment, key)
            if found is not None:
                yield place, {"key": key_to_json(thaw(key)), **found}

    def _keys(self, txn: lmdb.Transaction, moment: Moment) -> PaneKeys:
        seen = moment.batch, moment.now
        if self._scanned is None or self._scanned[0] != seen:
            number = self._numbers[f"{self.state.uid}\x1f{self._content}"]
            self._scanned = seen, PaneKeys(txn, self._content, number)
        return self._scanned[1]

    # --- the records of a key

    def _records(self, txn: lmdb.Transaction, table: str, key: Any) -> Records:
        owner = slot_of_group(
            key_group(key, self._groups), self.state.parallelism, self._groups
        ).to_bytes(2, "big")
        begin = self._numbers[table] + owner
        name, prefix = table.partition("\x1f")[2], prefix_of(key, self._groups)
        if name in COLUMNS:
            return self._of_columns(txn, begin, key)
        if name not in BY_SLICE:
            return {prefix + rest: record for rest, record in listed(txn, begin + prefix)}
        found: Records = {}
        for row in _slices(txn, begin):
            for rest, record in listed(txn, begin + row + prefix):
                found[row + prefix + rest] = record
        return found

    def _of_columns(self, txn: lmdb.Transaction, begin: bytes, key: Any) -> Records:
        found: Records = {}
        for address, record in listed(txn, begin):
            rows, keys, columns = self._apart(record)
            mine = rows.get(key)
            if mine is not None:
                index = np.array(mine)
                own = keys[index] if isinstance(keys, np.ndarray) else [key] * len(mine)
                packed = pack_keys(own)
                found[address] = (
                    len(packed).to_bytes(4, "big") + packed + pack_columns(take(columns, index))
                )
        return found

    def _apart(self, record: bytes) -> _Parted:
        kept = self._parted.get(record)
        if kept is not None:
            self._parted.move_to_end(record)
            return kept
        end = 4 + int.from_bytes(record[:4], "big")
        keys = KeyCodes.unpack(record[4:end])
        rows: dict[Any, list[int]] = {}
        for at, key in enumerate(keys.tolist() if isinstance(keys, np.ndarray) else keys):
            rows.setdefault(key, []).append(at)
        made = rows, keys, unpack_columns(memoryview(record)[end:])
        self._parted[record] = made
        if len(self._parted) > _KEPT:
            self._parted.popitem(last=False)
        return made

    # --- windows

    def _rows(self, slot: SlotWindows, key: Any) -> Iterator[WindowRow]:
        if self._content == SESSION_COLUMNS:
            yield from self._session_columns(slot)
        elif self._content in (*BY_SLICE, SLICED_COLUMNS):
            yield from self._aligned(slot, key)
        else:
            yield from window_kind(self.state.uid, self._layout).rows(slot)

    def _aligned(self, slot: SlotWindows, key: Any) -> Iterator[WindowRow]:
        """Windows put together from their slices."""
        size, slide, offset = map(slot.number, ("size", "slide", "offset"))
        whole = self._content == SLICED_VALUES
        agenda = Agenda(size, slide, offset, slot.number("lateness"), whole=whole)
        starts, read = self._slices(slot, key)
        windows = {window for start in starts for window in agenda.windows_over(start)}
        for window in windows:
            mine = [start for start in starts if window <= start < window + size]
            held = read(mine)
            if held is not MISSING and held != []:
                yield WindowRow(key, TimeWindow(window, window + size), held)

    def _slices(self, slot: SlotWindows, key: Any) -> tuple[list[int], Callable[[list[int]], Any]]:
        """The slices that there are, and what gives the key's contents of some of them."""
        name, store = slot.name(self._content), slot.store
        if self._content == SLICED_COLUMNS:
            table = ColumnSlices(name, store)
            starts = table.begin() or []
            return starts, lambda mine: self._measured(whole_part(table.parts(mine)).columns)
        slices: ElementSlices | ValueSlices | RunSlices
        if self._content == SLICED_VALUES:
            slices = ValueSlices(name, store)
        elif self._content == SLICED_RUNS:
            merge = self._function.merge if self._aggregates else self._function.reduce
            slices = RunSlices(name, store, merge)
        else:
            sliding = slot.number("size") != slot.number("slide")
            slices = ElementSlices(name, store, numbered=sliding)
        starts = slices.begin() or []
        return starts, lambda mine: slices.of_all(mine).get(key, MISSING)

    def _session_columns(self, slot: SlotWindows) -> Iterator[WindowRow]:
        table = SessionColumns(
            slot.name(SESSION_COLUMNS), slot.store, slot.number("gap"), slot.number("lateness")
        )
        table.load(slot.watermark)
        held = table.open
        for at, key in enumerate(table.keys.keys(held.codes)):
            window = TimeWindow(int(held.starts[at]), int(held.lasts[at]) + 1)
            yield WindowRow(key, window, self._measured(take(held.columns, np.array([at]))))

    def _measured(self, columns: Columns) -> tuple[Any, ...]:
        """The results of built-in aggregates, of the partials of one key."""
        assert isinstance(self._function, Aggregates)
        found = Measures(self._function.aggregates).results(columns)
        return tuple(c[0] if isinstance(c, list) else c[0].as_py() for c in found)

    @property
    def _aggregates(self) -> bool:
        return isinstance(self._function, AggregateFunction)

    def _shown(self, row: WindowRow, watermark: int, now: int) -> Iterator[dict[str, Any]]:
        window = row.window
        shown: dict[str, Any] = {"name": repr(window)}
        if isinstance(window, TimeWindow):
            event_time = self._layout.of("clock") == "event time"
            late = int(self._layout.of("lateness") or 0) if event_time else 0
            if window.max_timestamp() + late <= (watermark if event_time else now):
                # it is over, and what it held is there for windows that overlap with it
                return
            shown = {"start": window.start, "end": window.end}
        yield {"window": shown, **self._contents(row.held)}

    def _contents(self, held: Any) -> dict[str, Any]:
        if self._layout.of("combines") == "list":
            return {"elements": [to_json(value) for value in held]}
        if self._aggregates and self._content not in COLUMNS:
            held = self._function.get_result(held)
        return {"value": to_json(held)}


def _order(window: Any) -> tuple[int, int, str]:
    if isinstance(window, TimeWindow):
        return window.start, window.end, ""
    return 0, 0, repr(window)


def _slices(txn: lmdb.Transaction, begin: bytes) -> Iterator[bytes]:
    """The first eight bytes that addresses under ``begin`` have."""
    after = b""
    while True:
        found = next(listed(txn, begin, after), None)
        if found is None:
            return
        row = found[0][:8]
        yield row
        number = int.from_bytes(row, "big") + 1
        if number >> 64:
            return
        after = number.to_bytes(8, "big")
