"""Joins of windows: rows of the same key and window meet when the window ends.

The windows are columns of the inputs. Rows wait as columns, by the hashes of their keys, as those
of a regular join are kept (:mod:`scurry.runtime.relational.join`). When time passes, the rows whose
windows have ended are taken out and joined as a whole: those of the right side are put in the order
of keys and windows, so that the partners of a left row are a stretch of rows. A row whose window
has ended before it comes is dropped and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import MIN_WATERMARK, Batch, Longs
from scurry.runtime.columnar.row_runs import Mask, spread
from scurry.runtime.relational.join import JoinOperator
from scurry.runtime.relational.join_changes import ANTI, SEMI
from scurry.runtime.relational.join_sides import Arrivals, Side, give_codes
from scurry.runtime.relational.relation import milliseconds, take_all
from scurry.runtime.relational.waiting import rows_at_times
from scurry.runtime.specs import OperatorSpec

#: Pairs that are looked at together.
_PAIRS = 1 << 21


class Due(NamedTuple):
    """Rows of one side whose windows have ended."""

    side: Side
    #: the last millisecond of each row's window
    lasts: Longs
    #: rows whose key equals nothing
    alone: Mask


class WindowJoinOperator(JoinOperator):
    """Joins rows of the same key and window when the window ends."""

    state_kind: ClassVar[str] = "columns of rows of windows of two sides"

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
        super().__init__(spec, columns, inputs, keys, 0, kind, condition, (), (0, 0))
        self._numbered = False
        self._ends = left_window[1], right_window[1]
        self._reached = MIN_WATERMARK

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"join": str(arguments[0])}

    def begin(self, watermark: int) -> None:
        super().begin(watermark)
        self._reached = watermark

    def advance(self, watermark: int) -> None:
        self._reach(watermark)

    def _reach(self, watermark: int) -> None:
        if watermark > self._reached:
            self._reached = watermark
            self._fire(watermark)

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        passed = batch.wm
        if passed is None:
            passed = np.full(batch.size, self._reached, dtype=np.int64)
        for port in (0, 1):
            self._wait(port, self._arrivals(batch, ports, port), passed)
        if batch.size:
            self._reach(int(passed[-1]))

    def _wait(self, port: int, given: Arrivals, passed: Longs) -> None:
        """Keep rows until their windows end."""
        kept = np.flatnonzero(self._lasts(given.columns.columns, port) > passed[given.ticks - 1])
        late = len(given.ticks) - len(kept)
        if late:
            self.context.report.count(f"late:{self.spec.uid}", late)
            given = given.take(kept)
        if len(kept):
            self._tables[port].add(given.hashes, given.columns, self._numbers(kept))

    def _lasts(self, columns: Sequence[pa.Array], port: int) -> Longs:
        """The last millisecond of the window of each row."""
        ends = milliseconds(columns[self._ends[port]])
        return np.asarray(ends.to_numpy(zero_copy_only=False), dtype=np.int64) - 1

    # --- windows that end

    def _fire(self, until: int) -> None:
        """Event time has passed ``until``: join the windows that end with it or before."""
        left, right = (self._take_due(port, until) for port in (0, 1))
        if not (left.side.size or right.side.size):
            return
        sides = [left.side, right.side]
        give_codes(sides, self.keys, self._sure)
        met = list(self._met(left, right))
        mine, others = (np.concatenate([pair[side] for pair in met]) for side in (0, 1))
        rows, partners = self._rows(left, right, mine, others)
        # where there is no left row its number is -1: the last of what follows
        lasts = np.append(left.lasts, 0)[rows]
        lasts[rows < 0] = right.lasts[partners[rows < 0]]
        # rows of the right side that met none come last in their window
        order = np.lexsort((rows < 0, lasts))
        rows, partners, lasts = rows[order], partners[order], lasts[order]
        if not len(rows):
            return
        columns = _beside(left.side.columns, rows)
        if self._kind not in (SEMI, ANTI):
            columns += _beside(right.side.columns, partners)
        self.emit(rows_at_times(self, columns, lasts))

    def _take_due(self, port: int, until: int) -> Due:
        """Take the rows out whose windows have ended."""
        table = self._tables[port]
        waiting = table.every()
        lasts = self._lasts(waiting.columns, port)
        due = lasts <= until
        places = np.flatnonzero(due)
        if len(places):
            table.change(waiting, due, ~due, waiting.numbers)
        rows = waiting._replace(
            columns=take_all(waiting.columns, places),
            hashes=waiting.hashes[places],
            numbers=waiting.numbers[:, places],
        )
        table.relax()
        nothing = self._arrivals(Batch([]), np.zeros(0, dtype=np.int64), port)
        whole = pa.RecordBatch.from_arrays(rows.columns, schema=self.inputs[port])
        return Due(Side(rows, nothing, 1), lasts[places], self._alone(whole, port))

    def _met(self, left: Due, right: Due) -> Iterator[tuple[Longs, Longs]]:
        """Pairs of rows of the same key and window, for which the condition is true."""
        known = np.unique(np.concatenate([left.lasts, right.lasts]))
        width = len(known)
        there = np.flatnonzero(~right.alone)
        groups = right.side.codes[there] * width + known.searchsorted(right.lasts[there])
        order = np.argsort(groups, kind="stable")
        groups, there = groups[order], there[order]
        records = np.flatnonzero(~left.alone)
        asked = left.side.codes[records] * width + known.searchsorted(left.lasts[records])
        first = groups.searchsorted(asked)
        counts = groups.searchsorted(asked, "right") - first
        for part in _parts(counts):
            mine = np.repeat(records[part], counts[part])
            others = there[spread(first[part], counts[part])]
            if self._condition is not None and len(mine):
                true = self._true([left.side, right.side], mine, others)
                mine, others = mine[true], others[true]
            yield mine, others

    def _rows(self, left: Due, right: Due, mine: Longs, others: Longs) -> tuple[Longs, Longs]:
        """The rows of the result: numbers of left and right rows, -1 for none."""
        met = np.zeros(left.side.size, dtype=bool)
        met[mine] = True
        if self._kind in (SEMI, ANTI):
            rows = np.flatnonzero(met == (self._kind == SEMI))
            return rows, np.full(len(rows), -1)
        if self._kind in ("left", "full"):
            alone = np.flatnonzero(~met)
            mine = np.concatenate([mine, alone])
            others = np.concatenate([others, np.full(len(alone), -1)])
            order = np.argsort(mine, kind="stable")
            mine, others = mine[order], others[order]
        if self._kind in ("right", "full"):
            known = np.zeros(right.side.size, dtype=bool)
            known[others[others >= 0]] = True
            alone = np.flatnonzero(~known)
            mine = np.concatenate([mine, np.full(len(alone), -1)])
            others = np.concatenate([others, alone])
        return mine, others


def _beside(columns: Sequence[pa.Array], rows: Longs) -> list[pa.Array]:
    """The rows of several columns, nulls for -1."""
    index = pa.array(rows, mask=rows < 0)
    return [column.take(index) for column in columns]


def _parts(counts: Longs) -> list[slice]:
    """Stretches of records that have not too many candidates together; one at least."""
    places = np.cumsum(counts) // _PAIRS
    cuts = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(counts)]
    return [slice(*pair) for pair in pairwise(cuts)]
