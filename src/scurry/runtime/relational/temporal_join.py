"""Temporal joins: each left row beside the version of the right row that was valid at its time.

The right input is a changelog by key; each of its rows is a version from its own time on, and a
deletion ends the versions before it. A left row waits until the watermark has passed its time: then
all versions up to it are known. Versions that no later row can ask for are forgotten.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.pairs import has_null
from scurry.runtime.relational.relation import DELETE, INSERT, UPDATE_BEFORE, milliseconds
from scurry.runtime.relational.rows_out import null_row
from scurry.runtime.relational.waiting import NUMBER, TIME, WaitingOperator, due_rows, keep_row
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Where an entry of a version says whether it is a deletion.
_ENDS = 3


class TemporalJoinOperator(WaitingOperator):
    """Joins left rows with versions of right rows, in event time."""

    state_kind: ClassVar[str] = "rows and versions"
    two_inputs = True

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
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._left = left
        self._times = left_time, right_time
        self._condition = condition
        self._codecs = [RowCodec(one) for one in inputs]

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._null = null_row(self._codecs[1])
        self._waiting = self.rows_of_keys("left")
        self._versions = self.rows_of_keys("right")

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        passed = self.passed(batch)
        part, places = batch.of_port(ports, 0)
        if len(places):
            part.wm = passed[places]
            columns = self.columns_of(part, 0)
            self.take_in(part, columns, self._waiting, self._codecs[0], self._times[0])
        part, places = batch.of_port(ports, 1)
        if len(places):
            self._take_versions(part)
        if batch.size:
            self.advance(int(passed[-1]))

    def _take_versions(self, part: Batch) -> None:
        columns = self.columns_of(part, 1)
        keys = batch_keys(part, self.picked[1])
        held = self._versions.of(keys.keys)
        kinds = part.kinds
        listed = [INSERT] * part.size if kinds is None else kinds.tolist()
        times = milliseconds(columns.column(self._times[1])).to_pylist()
        rows = self._codecs[1].encode(columns.columns)
        for row, code, kind, time in zip(rows, keys.codes.tolist(), listed, times, strict=True):
            # the old row of an update ends with the new one, which has the same time or a later one
            if kind != UPDATE_BEFORE and time is not None:
                keep_row(held[code], row, time, int(kind == DELETE))

    def on_due(self, keys: list[Any], until: int) -> None:
        pairs: list[tuple[int, int, bytes, bytes | None]] = []
        sides = zip(self._waiting.of(keys), self._versions.of(keys), strict=True)
        for at, (held, versions) in enumerate(sides):
            lonely = has_null(keys[at])
            known = sorted((e[TIME], e[NUMBER], row, e[_ENDS]) for row, e in versions.rows.items())
            for row in due_rows(held, until):
                version = None if lonely else _valid(known, row.time)
                pairs.append((row.time, at, row.row, version))
                held.remove(row.stored)
            _forget(versions, known, until)
        pairs.sort(key=lambda pair: (pair[0], pair[1]))
        self._send_pairs(pairs)

    def _send_pairs(self, pairs: list[tuple[int, int, bytes, bytes | None]]) -> None:
        found = np.array([right is not None for *_, right in pairs], dtype=bool)
        times = np.array([time for time, *_ in pairs], dtype=np.int64)
        left = self._codecs[0].decode([row for _, _, row, _ in pairs])
        right = self._codecs[1].decode([self._null if row is None else row for *_, row in pairs])
        if self._condition is not None:
            table = pa.RecordBatch.from_arrays([*left, *right], schema=self.columns)
            found &= self.truth(self._condition, table)
        if self._left:
            # a version for which the condition is not true is as good as none
            right = [column.take(pa.array(np.arange(len(found)), mask=~found)) for column in right]
            self.send_timed([*left, *right], times)
            return
        kept = np.flatnonzero(found)
        if len(kept):
            columns = [column.take(pa.array(kept)) for column in (*left, *right)]
            self.send_timed(columns, times[kept])


def _valid(versions: list[tuple[int, int, bytes, int]], time: int) -> bytes | None:
    """The version that is valid at ``time``, None if there is none."""
    valid = None
    for begin, _, row, ends in versions:
        if begin > time:
            break
        valid = None if ends else row[8:]
    return valid


def _forget(held: RowSet, versions: list[tuple[int, int, bytes, int]], until: int) -> None:
    """Forget the versions that were replaced at or before ``until``."""
    past = [version for version in versions if version[0] <= until]
    for _, _, row, _ in past[:-1] if past and not past[-1][3] else past:
        held.remove(row)
