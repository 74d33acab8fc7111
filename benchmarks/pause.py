"""How long a slot stands still for a checkpoint: when it writes itself, and when a copy does.

One slot without Spark holds one state of each kind in turn, in which all keys have changed. What is
measured is the time from the end of a round until the slot could run the next one, the median of
several checkpoints.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil

from benchmarks import _results
from benchmarks._ending import end_in_order
from benchmarks._results import Result
from scurry.checkpoint.file_journal import FileJournal
from scurry.engine.live.copies import SlotCopy
from scurry.runtime.columnar.keyed_columns import KeyedColumns
from scurry.runtime.envelope import Envelope
from scurry.runtime.timers import TimerQueue
from scurry.runtime.windowing.slices import ElementSlices
from scurry.state.journal import Journal
from scurry.state.local.disk import LocalStore
from scurry.state.slot_parts import Outcome
from scurry.state.slot_store import SlotStore
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.list_table import ListTable, TableListState
from scurry.state.tables.map_table import MapTable, TableMapState
from scurry.state.tables.table import TableValueState

NAME = "pause"
#: Changes the state of so many keys; the number is another one every time.
Change = Callable[[int, int], None]


class PausedSlot:
    """A slot with nothing but a store, in the place of a host."""

    stage, slot = 1, 0

    def __init__(self, root: Path) -> None:
        self.local = LocalStore(root / "local")
        self.store = SlotStore(self.local, 128)
        self.journal = FileJournal(root / "log", root / "runs", "attempt", None)
        self.scope = KeyScope()
        self.store.begin(self.journal)

    def write(self, journal: Journal) -> Iterator[Envelope]:
        """Write all that changed."""
        self.store.commit(journal, b"")
        yield from ()

    def freeze(self) -> None:
        """As a host does."""
        self.store.freeze()

    def thaw(self, journal: Journal, outcome: Outcome) -> None:
        """As a host does."""
        self.store.thaw(journal, outcome)


def _value(slot: PausedSlot) -> Change:
    state = TableValueState(slot.store.table("op", "s", bulk=True), slot.scope)

    def change(keys: int, number: int) -> None:
        for slot.scope.key in range(keys):
            state.update(number)

    return change


def _map(slot: PausedSlot) -> Change:
    made = slot.store.records, 128
    state = TableMapState(
        slot.store.part("op\x1fs", lambda: MapTable("op\x1fs", *made, bulk=True)), slot.scope
    )

    def change(keys: int, number: int) -> None:
        for slot.scope.key in range(keys):
            state.put("entry", number)

    return change


def _list(slot: PausedSlot) -> Change:
    store = slot.store
    make = partial(ListTable, "op\x1fs", store.records, 128, lambda: store.epoch, bulk=True)
    state = TableListState(store.part("op\x1fs", make), slot.scope)

    def change(keys: int, number: int) -> None:
        for slot.scope.key in range(keys):
            state.add(number)

    return change


def _timers(slot: PausedSlot) -> Change:
    queue = slot.store.part("op#t", lambda: TimerQueue("op#t", slot.local, 128))

    def change(keys: int, number: int) -> None:
        queue.begin()
        for key in range(keys):
            queue.register(1000 + number, key)

    return change


def _windows(slot: PausedSlot) -> Change:
    name = "op\x1f#slice-elements"
    table = slot.store.part(name, lambda: ElementSlices(name, slot.store, numbered=False))

    def change(keys: int, number: int) -> None:
        table.begin()
        cells = table.open(1000)
        for key in range(keys):
            cells.setdefault(key, []).append(number)

    return change


def _columns(slot: PausedSlot) -> Change:
    name = "op\x1f#groups"
    fields = {"count": np.int64, "total": np.float64}
    table = slot.store.part(name, lambda: KeyedColumns(name, slot.store, fields))

    def change(keys: int, number: int) -> None:
        places = table.positions(list(range(keys)))
        table.column("count")[places] = number
        table.touch(places)

    return change


KINDS: dict[str, tuple[Callable[[PausedSlot], Change], str]] = {
    "value": (_value, "ValueState"),
    "map": (_map, "MapState, an entry for each key"),
    "list": (_list, "ListState, an element for each key"),
    "timers": (_timers, "a timer for each key"),
    "windows": (_windows, "an element for each key in a tumbling window"),
    "columns": (_columns, "a group of an SQL aggregate for each key"),
}


def pauses(kind: str, keys: int, rounds: int, copied: bool) -> list[float]:
    """Milliseconds for which the slot stands still, of each checkpoint but the first."""
    root = Path(tempfile.mkdtemp(prefix="scurry-bench-"))
    slot: Any = PausedSlot(root)
    change, found = KINDS[kind][0](slot), []
    for number in range(rounds + 1):
        change(keys, number)
        began = time.perf_counter()
        if copied:
            copy = SlotCopy(slot, slot.journal)
            found.append(time.perf_counter() - began)
            while copy.take() is None:
                time.sleep(0.01)
        else:
            list(slot.write(slot.journal))
            slot.store.begin(slot.journal)
            found.append(time.perf_counter() - began)
        while slot.store.shed():
            pass
    slot.store.close()
    shutil.rmtree(root)
    return [1000 * each for each in found[1:]]


def _result(kind: str, keys: int, rounds: int) -> Result:
    itself = statistics.median(pauses(kind, keys, rounds, copied=False))
    copied = pauses(kind, keys, rounds, copied=True)
    return Result(
        contender=kind,
        events=keys,
        output_rows=keys,
        events_per_s=round(keys / itself * 1000),
        peak_rss_mb=psutil.Process().memory_info().rss >> 20,
        jvm_rss_mb=0,
        worker_rss_mb=0,
        first_result_s=0.0,
        wall_s=0.0,
        keys=keys,
        note=f"{KINDS[kind][1]}; {itself:,.0f} ms when the slot writes itself",
        p50_ms=round(statistics.median(copied), 2),
        max_ms=round(max(copied), 2),
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--keys", default=1_000_000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--only", multiple=True, type=click.Choice(list(KINDS)))
def main(keys: int, rounds: int, only: tuple[str, ...]) -> None:
    """Measure all kinds of state, print the table and save it."""
    end_in_order()
    command = f"python -m benchmarks.{NAME} --keys {keys} --rounds {rounds}"
    results = [
        _results.stamp(_result(kind, keys, rounds), command)
        for kind in KINDS
        if not only or kind in only
    ]
    known = _results.save(NAME, results, list(KINDS), partial=bool(only))
    _results.show(f"Pause of a checkpoint, {keys:,} keys, {_results.machine()}", known, {})


if __name__ == "__main__":
    main()
