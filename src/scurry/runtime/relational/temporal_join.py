"""Temporal joins: each left row beside the version of the right row that was valid at its time.

The right input is a changelog by key; each of its rows is a version from its own time on, and a
deletion ends the versions before it. A left row waits until the watermark has passed its time: then
all versions up to it are known. Versions that no later row can ask for are forgotten.

Rows and versions are kept as columns, by the hashes of their keys, as those of a regular join
(:mod:`scurry.runtime.relational.join`). When time passes, the rows that are due are taken out, and
the versions of their keys are put in the order of keys and times: the version of a row is the last
one up to its time, which binary search finds for all rows at once.

A key that is NULL has versions, too, and rows with a NULL key find them: so Flink does it in this
join alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import MIN_WATERMARK, Batch, Longs
from scurry.runtime.columnar.equal_rows import distinct
from scurry.runtime.columnar.row_runs import PARTNERS, Mask
from scurry.runtime.columnar.row_table import FoundRows
from scurry.runtime.relational.join import JoinOperator
from scurry.runtime.relational.join_sides import Arrivals, Side, give_codes
from scurry.runtime.relational.relation import DELETE, UPDATE_BEFORE, milliseconds, take_all
from scurry.runtime.relational.waiting import rows_at_times
from scurry.runtime.specs import OperatorSpec

_ROWS, _VERSIONS = 0, 1
#: Where the numbers of a version say whether it is a deletion.
_ENDS = PARTNERS


class TemporalJoinOperator(JoinOperator):
    """Joins left rows with versions of right rows, in event time."""

    state_kind: ClassVar[str] = "columns of rows and versions"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        left: bool,
        left_time: int,
        right_time: int,
        condition: Any,
    ) -> None:
        kept, kind = (retention_ms, retention_ms), "left" if left else "inner"
        nulls = tuple(
            inputs[_ROWS].field(one).nullable and inputs[_VERSIONS].field(other).nullable
            for one, other in zip(*keys, strict=True)
        )
        super().__init__(spec, columns, inputs, keys, retention_ms, kind, condition, nulls, kept)
        self._numbered = True
        self._left = left
        self._times = left_time, right_time
        self._reached = MIN_WATERMARK

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {}

    def numbers_of_rows(self) -> list[str]:
        return ["deletion", "written"]

    def begin(self, watermark: int) -> None:
        super().begin(watermark)
        self._reached = watermark

    def advance(self, watermark: int) -> None:
        if watermark > self._reached:
            self._reached = watermark
            self._fire(watermark)

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        passed = batch.wm
        if passed is None:
            passed = np.full(batch.size, self._reached, dtype=np.int64)
        rows, versions = (self._arrivals(batch, ports, port) for port in (_ROWS, _VERSIONS))
        self._take_rows(rows, passed)
        self._take_versions(versions)
        if batch.size:
            self.advance(int(passed[-1]))

    # --- what comes

    def _take_rows(self, rows: Arrivals, passed: Longs) -> None:
        """Have left rows wait; those that are late are dropped."""
        times = self._stamps(rows.columns.columns, _ROWS)
        kept = np.flatnonzero(times > passed[rows.ticks - 1])
        late = len(times) - len(kept)
        if late:
            self.context.report.count(f"late:{self.spec.uid}", late)
        self._add(_ROWS, rows, kept, np.zeros(len(kept), dtype=np.int64))

    def _take_versions(self, versions: Arrivals) -> None:
        """Keep versions. The old row of an update ends with the new one, which has the same time or
        a later one."""
        times = self._stamps(versions.columns.columns, _VERSIONS)
        known = (versions.kinds != UPDATE_BEFORE) & (times > MIN_WATERMARK) & ~versions.alone
        kept = np.flatnonzero(known)
        self._add(_VERSIONS, versions, kept, (versions.kinds[kept] == DELETE).astype(np.int64))

    def _add(self, side: int, given: Arrivals, kept: Longs, flags: Longs) -> None:
        if len(kept):
            columns = given.columns
            if len(kept) < columns.num_rows:
                columns = columns.take(pa.array(kept))
            self._tables[side].add(given.hashes[kept], columns, self._numbers(flags))

    def _stamps(self, columns: Sequence[pa.Array], side: int) -> Longs:
        """The times of rows, the lowest for those without one."""
        stamps = milliseconds(columns[self._times[side]]).fill_null(MIN_WATERMARK)
        return np.asarray(stamps.to_numpy(zero_copy_only=False), dtype=np.int64)

    # --- what is due

    def _fire(self, until: int) -> None:
        """Event time has passed ``until``: send the rows up to it."""
        waiting = self._tables[_ROWS].every()
        times = self._stamps(waiting.columns, _ROWS)
        due = times <= until
        places = np.flatnonzero(due)
        if not len(places):
            return
        places = places[np.argsort(times[places], kind="stable")]
        rows = waiting._replace(
            columns=take_all(waiting.columns, places),
            hashes=waiting.hashes[places],
            numbers=waiting.numbers[:, places],
        )
        versions = self._tables[_VERSIONS].find(distinct(rows.hashes))
        valid = self._valid(rows, times[places], versions, until)
        self._send_pairs(rows.columns, versions.columns, valid, times[places])
        self._tables[_ROWS].change(waiting, due, ~due, waiting.numbers)
        for table in self._tables:
            table.relax()

    def _valid(self, rows: FoundRows, asked: Longs, versions: FoundRows, until: int) -> Longs:
        """For each of the ``rows`` at the times ``asked`` its version, -1 if it has none. Versions
        that were replaced by ``until`` are forgotten."""
        sides = [Side(one, self._nothing(port), 1) for port, one in enumerate((rows, versions))]
        give_codes(sides, self.keys, self._sure)
        times = self._stamps(versions.columns, _VERSIONS)
        known = np.unique(times)
        width = len(known) + 1
        places = sides[_VERSIONS].codes * width + known.searchsorted(times)
        order = np.argsort(places, kind="stable")
        wanted = sides[_ROWS].codes * width + known.searchsorted(asked, "right")
        last = places[order].searchsorted(wanted) - 1
        codes = sides[_VERSIONS].codes[order]
        found = np.full(len(asked), -1, dtype=np.int64)
        there = np.flatnonzero(last >= 0)
        there = there[codes[last[there]] == sides[_ROWS].codes[there]]
        ended = versions.numbers[_ENDS][order] > 0
        there = there[~ended[last[there]]]
        found[there] = order[last[there]]
        if len(order):
            gone = np.zeros(len(order), dtype=bool)
            gone[order] = _replaced(codes, times[order], ended, until)
            self._tables[_VERSIONS].change(versions, gone, ~gone, versions.numbers)
        return found

    def _nothing(self, port: int) -> Arrivals:
        return self._arrivals(Batch([]), np.zeros(0, dtype=np.int64), port)

    def _send_pairs(
        self, left: list[pa.Array], versions: list[pa.Array], valid: Longs, times: Longs
    ) -> None:
        found = valid >= 0
        right = [column.take(pa.array(valid, mask=~found)) for column in versions]
        if self._condition is not None:
            schema = pa.schema([*self.inputs[0], *self.inputs[1]])
            pairs = pa.RecordBatch.from_arrays([*left, *right], schema=schema)
            found = found & self.truth(self._condition, pairs)
        if self._left:
            # a version for which the condition is not true is as good as none
            index = pa.array(valid, mask=~found)
            right = [column.take(index) for column in versions]
            self.emit(rows_at_times(self, [*left, *right], times))
            return
        kept = np.flatnonzero(found)
        if len(kept):
            self.emit(rows_at_times(self, take_all([*left, *right], kept), times[kept]))


def _replaced(codes: Longs, times: Longs, ended: Mask, until: int) -> Mask:
    """Which versions, in the order of codes and times, no row after ``until`` can ask for: those
    that another one replaced by then, and deletions by then."""
    past = times <= until
    followed = np.zeros(len(codes), dtype=bool)
    followed[:-1] = (codes[1:] == codes[:-1]) & past[1:]
    gone: Mask = past & (followed | ended)
    return gone
