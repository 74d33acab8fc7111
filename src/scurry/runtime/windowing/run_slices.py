"""Combined values of overlapping windows, held by slice of time instead of by window.

An element of sliding windows is combined into one value, that of its slice, and not into those of
all windows over it. A window that fires combines what its slices have. So that it combines elements
in the order they came, as if it had combined them one by one, a slice keeps *runs*: values of
elements that came one after the other, with no element of the same key but another slice between
them. Where elements come in the order of time, a slice is a single run. All that is asked of the
user's function is that it is associative.

Which run is still open is decided by the elements of the key alone, and stored: however the input
is cut into micro-batches, the same values are combined in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator

from scurry.common.copies import own
from scurry.common.values import Combine, Combined, Element, Merge
from scurry.functions.transforms import AggregateFunction
from scurry.runtime.windowing import slices
from scurry.runtime.windowing.slices import Held, SliceTable, row_of
from scurry.state.journal import Change, in_groups
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import MISSING, pack_record
from scurry.windowing.spec import WindowSpec
from scurry.windowing.time_windows import AlignedWindows

#: The table of runs by slice and key.
SLICED_RUNS = "#slice-runs"
#: A run: the number of its first element, and the value that its elements were combined into.
Run = list[int | Combined]


def runs_in_slices(windowing: WindowSpec) -> bool:
    """Whether values of parts of a window can be combined into that of the window, and elements are
    in several windows: with ``reduce``, or an ``AggregateFunction`` that says it can merge."""
    assigner, function = windowing.assigner, windowing.incremental
    assert isinstance(assigner, AlignedWindows)
    if function is None or assigner.size <= assigner.slide:
        return False
    return not isinstance(function, AggregateFunction) or function.mergeable


class RunSlices(SliceTable):
    """The runs of each key in each slice."""

    def __init__(self, name: str, store: SlotStore, merge: Merge) -> None:
        super().__init__(name, store)
        self._merge = merge
        self._runs: dict[int, dict[object, list[Run]]] = {}
        self._touched: dict[int, dict[object, None]] = {}
        #: the slice of a key's last element, as long as there is that slice
        self._latest: dict[object, int] = {}

    def begin(self) -> list[int] | None:
        found = super().begin()
        for start in found or ():
            self.open(start)
        return found

    def open(self, start: int) -> dict[object, list[Run]]:
        found = self._runs.get(start)
        if found is None:
            found = self._runs[start] = {}
            self._touched[start] = {}
        self.ensure(start)
        return found

    def _load(self, key: object, held: Held, start: int) -> None:
        runs, latest = held
        self._runs[start][key] = list(map(list, runs))
        if latest:
            self._latest[key] = start

    def add(self, start: int, key: object, number: int, combine: Combine, value: Element) -> None:
        """Put an element into a slice that is open."""
        before = self._latest.get(key)
        if before == start:
            run = self._runs[start][key][-1]
            run[1] = combine(run[1], value)
        else:
            fresh = [number, combine(MISSING, value)]
            if before is not None:
                self.open(before)
                self._touched[before][key] = None
            self._latest[key] = start
            self._runs[start].setdefault(key, []).append(fresh)
        self._touched[start][key] = None

    def keys(self, start: int) -> set[object]:
        return set(self.open(start))

    def of_key(self, starts: list[int], key: object, since: int = 0) -> object:
        """A key's value in the slices of a window."""
        runs = (run for start in starts for run in self.open(start).get(key, ()))
        return self._value([run for run in runs if run[0] >= since])

    def close_run(self, key: object) -> None:
        """The next element of a key begins a run, wherever it falls."""
        latest = self._latest.pop(key, None)
        if latest is not None:
            self.open(latest)
            self._touched[latest][key] = None

    def of_all(self, starts: list[int]) -> dict[object, object]:
        """All keys' values in them."""
        found: dict[object, list[Run]] = {}
        for start in starts:
            for key, runs in self.open(start).items():
                before = found.get(key)
                found[key] = runs if before is None else before + runs
        return {key: self._value(runs) for key, runs in found.items()}

    def _value(self, runs: list[Run]) -> object:
        if len(runs) > 1:
            runs = sorted(runs, key=_number)
        # user code may change a value: the slice keeps its own
        value = own(runs[0][1])
        for _, other in runs[1:]:
            value = self._merge(value, own(other))
        return value

    def _forget_slice(self, start: int) -> None:
        for key in self._runs.pop(start, ()):
            if self._latest.get(key) == start:
                del self._latest[key]
        self._touched.pop(start, None)

    def drop(self, start: int) -> None:
        self.ensure_open(start)
        super().drop(start)

    def ensure_open(self, start: int) -> None:
        """Bring a slice into memory, if it is in the store only."""
        if start in self._partial:
            self.open(start)

    @in_groups
    def changes(self) -> Iterator[Change]:
        yield from self._deletions()
        for start, keys in self._touched.items():
            row, runs = row_of(start), self._runs[start]
            for key in keys:
                held = (runs[key], self._latest.get(key) == start)
                yield self.name, row + self.prefix(key), pack_record(key, held)

    def settle(self) -> None:
        """The changes are in the store now."""
        assert self._stored is not None
        self._dropped.clear()
        for start, keys in self._touched.items():
            if keys:
                self._stored.add(start)
                keys.clear()
        if sum(map(len, self._runs.values())) > slices.KEEP:
            self._partial |= set(self._stored)
            self._runs.clear()
            self._touched.clear()

    def forget(self) -> None:
        super().forget()
        for held in (self._runs, self._touched, self._latest):
            held.clear()


def _number(run: Run) -> int:
    number: int = run[0]
    return number
