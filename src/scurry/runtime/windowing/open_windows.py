"""What open windows hold, as rows.

There are several ways of keeping windows, see :mod:`scurry.runtime.windowing.layouts`. The layout
that lies in the checkpoint says which one an operator used. The tables of a slot are put into a
store in memory, and the operators' own classes read them there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import gcd
from typing import Any, NamedTuple

from scurry.common.errors import StateError
from scurry.common.windows import TimeWindow, WindowKey
from scurry.functions.window_aggregates import Aggregate
from scurry.runtime.batch import MIN_WATERMARK
from scurry.runtime.columnar.measures import Measures
from scurry.runtime.columnar.partials import Columns
from scurry.runtime.report import decode_report
from scurry.runtime.windowing.contents import ELEMENTS, VALUES
from scurry.runtime.windowing.layouts import KINDS
from scurry.runtime.windowing.merging import MERGING_WINDOWS
from scurry.runtime.windowing.run_slices import SLICED_RUNS
from scurry.runtime.windowing.session_table import (
    EMPTY,
    SESSION_ELEMENTS,
    SESSION_SPANS,
    SESSION_VALUES,
    SessionTable,
)
from scurry.runtime.windowing.slices import (
    SESSION_COLUMNS,
    SLICED_COLUMNS,
    SLICED_ELEMENTS,
    SLICED_VALUES,
    ElementSlices,
    ValueSlices,
    start_of,
)
from scurry.runtime.windowing.vectorised.column_slices import ColumnSlices, whole_part
from scurry.runtime.windowing.vectorised.session_columns import SessionColumns
from scurry.state.codecs.plain import Fields
from scurry.state.layout import StateLayout
from scurry.state.local.memory import MemoryStore
from scurry.state.local.store import Commit
from scurry.state.slot_store import SlotStore
from scurry.state.stored_tables import Records, StoredJournal
from scurry.state.tables.list_table import ListTable
from scurry.state.tables.table import MISSING, prefix_of, unpack_record
from scurry.windowing.evictors import TimestampedValue


class WindowRow(NamedTuple):
    """What one window has for one key: its elements, or the value that they were combined into."""

    key: Any
    window: Any
    held: Any


class SlotWindows:
    """The windows of one operator in one slot."""

    def __init__(
        self,
        uid: str,
        layout: StateLayout,
        tables: Mapping[str, Records],
        groups: int,
        watermark: int = MIN_WATERMARK,
    ) -> None:
        """``tables`` are those of the operator, ``watermark`` is how far event time had come."""
        self.uid = uid
        self.watermark = watermark
        self._layout = layout
        self._groups = groups
        local = MemoryStore()
        changes = [(name, list(held), list(held.values())) for name, held in tables.items()]
        local.apply(Commit(None, b"read", changes))
        self.store = SlotStore(local, groups)

    @classmethod
    def stored(
        cls, uid: str, layout: StateLayout, journal: StoredJournal, groups: int
    ) -> SlotWindows:
        """What a journal has of them."""
        wanted = [f"{uid}\x1f{table}" for table in (*KINDS, SESSION_ELEMENTS, MERGING_WINDOWS)]
        kept = decode_report(journal.head.notes)["gates"].get(uid)
        reached = MIN_WATERMARK if kept is None else int(kept[0])
        return cls(uid, layout, journal.tables(wanted), groups, reached)

    def name(self, table: str) -> str:
        """The name of a table of the operator."""
        return f"{self.uid}\x1f{table}"

    def number(self, parameter: str) -> int:
        """What the program said about the windows, in milliseconds."""
        return int(self._layout.of(parameter) or 0)

    def address(self, row: WindowRow) -> bytes:
        """Where a row stands among all: by key, then by window."""
        return prefix_of(WindowKey(row.key, row.window), self._groups)


def elements_by_window(slot: SlotWindows) -> Iterator[WindowRow]:
    """Windows of any kind that keep their elements."""
    store = slot.store
    table = ListTable(
        slot.name(ELEMENTS), store.records, store.max_parallelism, lambda: store.epoch
    )
    actual = _merged(slot)
    for place, values in table.items():
        plain = [_element(value) for value in values]
        yield WindowRow(place[0], actual.get(place, place[1]), plain)


def _element(value: Any) -> Any:
    return Fields(value._asdict()) if isinstance(value, TimestampedValue) else value


def values_by_window(slot: SlotWindows) -> Iterator[WindowRow]:
    """Windows of any kind that combine their elements."""
    actual = _merged(slot)
    for place, box in slot.store.table(slot.uid, VALUES).items():
        yield WindowRow(place[0], actual.get(place, place[1]), box[0])


def _merged(slot: SlotWindows) -> dict[tuple[Any, Any], Any]:
    """Of windows that have grown: the window, by key and the one that its contents lie under."""
    found = {}
    for _, record in slot.store.reader.scan(slot.name(MERGING_WINDOWS)):
        key, (window, under) = unpack_record(record)
        found[key, under] = window
    return found


def elements_by_slice(slot: SlotWindows) -> Iterator[WindowRow]:
    """Aligned windows that keep their elements."""
    sliding = slot.number("size") != slot.number("slide")
    table = ElementSlices(slot.name(SLICED_ELEMENTS), slot.store, numbered=sliding)
    for start in table.begin() or ():
        for key, values in table.of_all([start]).items():
            if values:
                yield WindowRow(key, _slice(slot, start), values)


def values_by_start(slot: SlotWindows) -> Iterator[WindowRow]:
    """Aligned windows that combine their elements, each for itself."""
    table = ValueSlices(slot.name(SLICED_VALUES), slot.store)
    for start in table.begin() or ():
        window = TimeWindow(start, start + slot.number("size"))
        for key, value in table.of_all([start]).items():
            if value is not MISSING:
                yield WindowRow(key, window, value)


def runs_by_slice(slot: SlotWindows) -> Iterator[WindowRow]:
    """Sliding windows that combine their elements by slice; in the order of time there is one
    value for each slice, otherwise several."""
    for address, record in slot.store.reader.scan(slot.name(SLICED_RUNS)):
        key, (runs, _) = unpack_record(record)
        yield WindowRow(key, _slice(slot, start_of(address)), [value for _, value in runs])


def columns_by_slice(slot: SlotWindows) -> Iterator[WindowRow]:
    """Aligned windows of built-in aggregates."""
    table = ColumnSlices(slot.name(SLICED_COLUMNS), slot.store)
    for start in table.begin() or ():
        part = whole_part(table.parts([start]))
        for key, held in zip(table.keys.keys(part.codes), _results(part.columns), strict=True):
            yield WindowRow(key, _slice(slot, start), held)


def _slice(slot: SlotWindows, start: int) -> TimeWindow:
    """A slice: the whole window, or of windows that overlap the part that they share."""
    return TimeWindow(start, start + gcd(slot.number("size"), slot.number("slide")))


def sessions(slot: SlotWindows, combining: bool) -> Iterator[WindowRow]:
    """Sessions, with a value or with their elements."""
    table = SessionTable(slot.uid, slot.store, combining)
    table.load()
    for key, found in table.keys.items():
        for session in found.order:
            held = table.contents(found, session)
            if held is not EMPTY:
                yield WindowRow(key, TimeWindow(session.start, session.end), held)


def session_columns(slot: SlotWindows) -> Iterator[WindowRow]:
    """Sessions of built-in aggregates."""
    gap, lateness = slot.number("gap"), slot.number("lateness")
    table = SessionColumns(slot.name(SESSION_COLUMNS), slot.store, gap, lateness)
    table.load(slot.watermark)
    held = table.open
    spans = zip(held.starts.tolist(), held.lasts.tolist(), strict=True)
    keys = table.keys.keys(held.codes)
    for key, (start, last), value in zip(keys, spans, _results(held.columns), strict=True):
        yield WindowRow(key, TimeWindow(start, last + 1), value)


def _results(columns: Columns) -> Iterator[Fields]:
    """What aggregates know so far, by their names: ``count``, ``sum_amount`` and the like."""
    found: dict[str, Aggregate] = {}
    for name in sorted(columns):
        how, _, field = name.partition(":")
        how = {"n": "count", "floats": "sum"}.get(how, how)
        if how in ("count", "sum", "min", "max"):
            one = Aggregate("count") if name == "n" else Aggregate(how, field)
            found[f"{how}_{field}" if field else how] = one
    made = [
        each if isinstance(each, list) else each.to_pylist()
        for each in Measures(found.values()).results(columns)
    ]
    return (Fields(zip(found, row, strict=True)) for row in zip(*made, strict=True))


#: What reads windows, by the table they are kept in.
_READERS: dict[str, Callable[[SlotWindows], Iterator[WindowRow]]] = {
    ELEMENTS: elements_by_window,
    VALUES: values_by_window,
    SLICED_ELEMENTS: elements_by_slice,
    SLICED_VALUES: values_by_start,
    SLICED_RUNS: runs_by_slice,
    SLICED_COLUMNS: columns_by_slice,
    SESSION_SPANS: lambda slot: sessions(slot, combining=False),
    SESSION_VALUES: lambda slot: sessions(slot, combining=True),
    SESSION_COLUMNS: session_columns,
}
#: The tables of which a row holds several elements, or values.
_LISTS = (ELEMENTS, SLICED_ELEMENTS, SLICED_RUNS, SESSION_SPANS)


class WindowKind(NamedTuple):
    """How an operator keeps its windows."""

    rows: Callable[[SlotWindows], Iterator[WindowRow]]
    #: whether a row holds several elements, or values
    lists: bool


def window_kind(uid: str, layout: StateLayout | str) -> WindowKind:
    """How the operator ``uid`` keeps its windows; raises :class:`StateError` if it has none."""
    kind = layout if isinstance(layout, str) else layout.kind
    for table, words in KINDS.items():
        if words == kind and not isinstance(layout, str):
            return WindowKind(_READERS[table], table in _LISTS)
    raise StateError(
        f"Operator {uid!r} has no windows that could be read: what it keeps is {kind!r}."
    )
