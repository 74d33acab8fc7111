"""Operators that keep the rows of windows until these end: top-N of windows, joins of windows.

The windows are columns of the input. A row waits under its key until its window ends; a row whose
window has ended before it comes is dropped and counted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet, RowSets
from scurry.runtime.relational.pairs import has_null, true_pairs
from scurry.runtime.relational.relation import milliseconds
from scurry.runtime.relational.rows_out import null_row
from scurry.runtime.relational.sort_keys import sort_keys
from scurry.runtime.relational.waiting import TIME, DueRow, WaitingOperator, due_rows, keep_row
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class WindowRowsOperator(WaitingOperator):
    """One in which rows wait for the ends of their windows."""

    def take_windows(
        self, batch: Batch, passed: Longs, port: int, sets: RowSets, codec: RowCodec, end: int
    ) -> None:
        """Have the rows of ``batch`` wait until the windows end whose ends are column ``end``."""
        columns = self.columns_of(batch, port)
        lasts = milliseconds(columns.column(end)).to_numpy(zero_copy_only=False) - 1
        kept = np.flatnonzero(lasts > passed)
        if len(kept) < batch.size:
            self.context.report.count(f"late:{self.spec.uid}", batch.size - len(kept))
            columns, batch = columns.take(pa.array(kept)), batch.take(kept)
        if not len(kept):
            return
        keys = batch_keys(batch, self.picked[port])
        held = sets.of(keys.keys)
        due: dict[tuple[int, int], None] = {}
        for row, code, last in zip(
            codec.encode(columns.columns), keys.codes.tolist(), lasts[kept].tolist(), strict=True
        ):
            keep_row(held[code], row, last)
            due[code, last] = None
        for code, last in due:
            self.timers.register(last, keys.keys[code])


class WindowRankOperator(WindowRowsOperator):
    """Top-N of each window and key; with one row, the deduplication of windows."""

    state_kind: ClassVar[str] = "rows of windows"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        order: tuple[SortKey, ...],
        first: int,
        last: int,
        window_end: int,
        number: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._order = order
        self._first, self._last = first, last
        self._end = window_end
        self._number = number
        self._rows = RowCodec(inputs[0])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._waiting = self.rows_of_keys("waiting")

    def process(self, batch: Batch, port: int = 0) -> None:
        passed = self.passed(batch)
        self.take_windows(batch, passed, 0, self._waiting, self._rows, self._end)
        if batch.size:
            self.advance(int(passed[-1]))

    def on_due(self, keys: list[Any], until: int) -> None:
        found: list[tuple[int, int, DueRow, int]] = []
        for at, held in enumerate(self._waiting.of(keys)):
            rows = due_rows(held, until)
            places = sort_keys(self._rows.decode([row.row for row in rows]), self._order)
            by_window: dict[int, list[tuple[bytes, int, DueRow]]] = defaultdict(list)
            for row, place in zip(rows, places, strict=True):
                by_window[row.time].append((place, row.number, row))
                held.remove(row.stored)
            for time, mine in by_window.items():
                ranked = sorted(mine)[self._first - 1 : self._last]
                found += [
                    (time, at, row, number)
                    for number, (_, _, row) in enumerate(ranked, start=self._first)
                ]
        found.sort(key=lambda one: (one[0], one[1], one[3]))
        columns = self._rows.decode([row.row for _, _, row, _ in found])
        if self._number:
            columns.append(pa.array([number for *_, number in found], pa.int64()))
        self.send_timed(columns, np.array([one[0] for one in found], dtype=np.int64))


class WindowJoinOperator(WindowRowsOperator):
    """Joins rows of the same key and window when the window ends."""

    state_kind: ClassVar[str] = "rows of windows of two sides"
    two_inputs = True

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        kind: str,
        left_window: tuple[int, int],
        right_window: tuple[int, int],
        condition: Any,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._kind = kind
        self._ends = left_window[1], right_window[1]
        self._condition = condition
        self._codecs = [RowCodec(one) for one in inputs]

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"join": str(arguments[0])}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._nulls = [null_row(codec) for codec in self._codecs]
        self._waiting = self.rows_of_keys("left"), self.rows_of_keys("right")

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        passed = self.passed(batch)
        for port in (0, 1):
            part, places = batch.of_port(ports, port)
            if len(places):
                sets, codec = self._waiting[port], self._codecs[port]
                self.take_windows(part, passed[places], port, sets, codec, self._ends[port])
        if batch.size:
            self.advance(int(passed[-1]))

    def on_due(self, keys: list[Any], until: int) -> None:
        pairs: list[tuple[int, bytes, bytes]] = []
        sides = [sets.of(keys) for sets in self._waiting]
        matched = self._matched(keys, sides, until)
        for at, key in enumerate(keys):
            left, right = (due_rows(held[at], until) for held in sides)
            for window in sorted({row.time for row in (*left, *right)}):
                one = [row.row for row in left if row.time == window]
                other = [row.row for row in right if row.time == window]
                found = self._join(one, other, matched, has_null(key))
                pairs += [(window, *pair) for pair in found]
            for held, rows in ((sides[0][at], left), (sides[1][at], right)):
                for row in rows:
                    held.remove(row.stored)
        if not pairs:
            return
        pairs.sort(key=lambda pair: pair[0])
        columns = self._codecs[0].decode([left for _, left, _ in pairs])
        if self._kind not in ("semi", "anti"):
            columns += self._codecs[1].decode([right for _, _, right in pairs])
        self.send_timed(columns, np.array([pair[0] for pair in pairs], dtype=np.int64))

    def _matched(
        self, keys: list[Any], sides: list[list[RowSet]], until: int
    ) -> set[tuple[bytes, bytes]] | None:
        """The pairs for which the condition is true, None if there is no condition."""
        if self._condition is None:
            return None
        pairs: dict[tuple[bytes, bytes], None] = {}
        for at in range(len(keys)):
            left, right = (held[at].rows.items() for held in sides)
            for one, entry in left:
                if entry[TIME] <= until:
                    same = (row[8:] for row, e in right if e[TIME] == entry[TIME])
                    pairs.update(dict.fromkeys((one[8:], row) for row in same))
        return true_pairs(self, self._condition, self._codecs, list(pairs))

    def _join(
        self,
        left: list[bytes],
        right: list[bytes],
        matched: set[tuple[bytes, bytes]] | None,
        lonely: bool,
    ) -> list[tuple[bytes, bytes]]:
        """The rows of one window joined; ``lonely`` rows, whose key is null, equal nothing."""
        made: list[tuple[bytes, bytes]] = []
        partnered: set[int] = set()
        for one in left:
            mine = [
                number
                for number, other in enumerate(right)
                if not lonely and (matched is None or (one, other) in matched)
            ]
            partnered.update(mine)
            if self._kind in ("semi", "anti"):
                if bool(mine) == (self._kind == "semi"):
                    made.append((one, b""))
                continue
            made += [(one, right[number]) for number in mine]
            if not mine and self._kind in ("left", "full"):
                made.append((one, self._nulls[1]))
        if self._kind in ("right", "full"):
            alone = (row for number, row in enumerate(right) if number not in partnered)
            made += [(self._nulls[0], row) for row in alone]
        return made
