"""Interval joins: pairs of equal keys whose times are no further apart than two bounds.

A row meets the rows of the other side that are there already, so each pair is sent once, when its
second row comes. A row is kept as long as a partner can come; then, if it is of a side that is
padded and has met none, it is sent beside nulls.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa

from scurry.runtime.batch import MAX_WATERMARK, Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import Entry, RowSet
from scurry.runtime.relational.pairs import has_null, true_pairs
from scurry.runtime.relational.relation import INSERT, milliseconds
from scurry.runtime.relational.rows_out import null_row
from scurry.runtime.relational.timed import TimedOperator
from scurry.runtime.relational.waiting import NUMBER, TIME, keep_row
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Where an entry says whether the row has met a partner.
_MET = 3


class TimeIntervalJoinOperator(TimedOperator):
    """Joins left rows at ``t`` with right rows from ``t + lower`` to ``t + upper``."""

    state_kind: ClassVar[str] = "rows that wait for their counterparts"
    two_inputs = True

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        kind: str,
        lower: int,
        upper: int,
        left_time: int | None,
        right_time: int | None,
        condition: Any,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self.event_time = left_time is not None
        #: by side: how far before and after a row its partners can be
        self._reach = (lower, upper), (-upper, -lower)
        # a pair is sent when its later row comes, and may go on by the time of the earlier one
        self.delay = max(upper, -lower) if self.event_time else 0
        self._times = left_time, right_time
        self._condition = condition
        self._padded = kind in ("left", "full"), kind in ("right", "full")
        self._codecs = [RowCodec(one) for one in inputs]

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        kind, lower, upper = arguments[:3]
        return {"join": str(kind), "lower bound": str(lower), "upper bound": str(upper)}

    def part_codecs(self) -> list[RowCodec]:
        return self._codecs

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._nulls = [null_row(codec) for codec in self._codecs]
        numbers = "time", "number", "met"
        self._sets = (
            self.rows_of_keys("left", self.inputs[0], 8, *numbers),
            self.rows_of_keys("right", self.inputs[1], 8, *numbers),
        )

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        rows: list[bytes] = [b""] * batch.size
        keys: list[Any] = [None] * batch.size
        times: list[int | None] = [None] * batch.size
        for port in (0, 1):
            part, places = batch.of_port(ports, port)
            if not len(places):
                continue
            columns = self.columns_of(part, port)
            encoded = self._codecs[port].encode(columns.columns)
            found = batch_keys(part, self.picked[port])
            stamps = self._stamps(columns, port)
            for place, row, code, stamp in zip(
                places.tolist(), encoded, found.codes.tolist(), stamps, strict=True
            ):
                rows[place], keys[place], times[place] = row, found.keys[code], stamp
        listed = ports.tolist()
        matched = self._matched(listed, rows, keys)
        for at, watermark in enumerate(self.watermarks(batch)):
            self.reach(watermark)
            time = times[at]
            if time is not None:
                self._take(listed[at], rows[at], keys[at], time, at, matched)
        self.flush_output(batch)

    def _stamps(self, columns: pa.RecordBatch, port: int) -> list[int | None]:
        index = self._times[port]
        if index is None:
            return [self.context.now] * columns.num_rows
        return list(milliseconds(columns.column(index)).to_pylist())

    def _matched(
        self, ports: list[int], rows: list[bytes], keys: list[Any]
    ) -> set[tuple[bytes, bytes]] | None:
        """The pairs for which the condition is true, of all that can meet in this batch."""
        if self._condition is None:
            return None
        by_key: dict[Any, tuple[dict[bytes, None], dict[bytes, None]]] = {}
        for port, row, key in zip(ports, rows, keys, strict=True):
            by_key.setdefault(key, ({}, {}))[port][row] = None
        pairs: dict[tuple[bytes, bytes], None] = {}
        held = [sets.of(list(by_key)) for sets in self._sets]
        for at, new in enumerate(by_key.values()):
            every = [{**{row[8:]: None for row in held[p][at].rows}, **new[p]} for p in (0, 1)]
            pairs.update(dict.fromkeys((one, other) for one in new[0] for other in every[1]))
            pairs.update(dict.fromkeys((one, other) for one in every[0] for other in new[1]))
        return true_pairs(self, self._condition, self._codecs, list(pairs))

    def _take(
        self,
        port: int,
        row: bytes,
        key: Any,
        time: int,
        at: int,
        matched: set[tuple[bytes, bytes]] | None,
    ) -> None:
        mine, other = (self._sets[side].of([key])[0] for side in (port, 1 - port))
        low, high = (time + bound for bound in self._reach[port])
        met = 0
        for that, entry in [] if has_null(key) else _between(other, low, high):
            pair = (that[8:], row) if port else (row, that[8:])
            if matched is None or pair in matched:
                met = 1
                if not entry[_MET]:
                    entry[_MET] = 1
                    other.changed(entry)
                self.out.add(INSERT, at, *pair)
        now = self.clock if self.event_time else self.context.now
        if now < high:
            keep_row(mine, row, time, met)
            self.timers.register(min(high, MAX_WATERMARK), key)
        elif self._padded[port] and not met:
            self._pad(port, row, at)

    def _pad(self, port: int, row: bytes, cause: int) -> None:
        parts = (row, self._nulls[1]) if port == 0 else (self._nulls[0], row)
        self.out.add(INSERT, cause, *parts)

    def on_timer(self, time: int, key: Any, cause: int) -> None:
        for port in (0, 1):
            (held,) = self._sets[port].of([key])
            bound = self._reach[port][1]
            over = [
                (entry[TIME], entry[NUMBER], row, entry[_MET])
                for row, entry in held.rows.items()
                if entry[TIME] + bound <= time
            ]
            for _, _, row, met in sorted(over):
                held.remove(row)
                if self._padded[port] and not met:
                    self._pad(port, row[8:], cause)


def _between(held: RowSet, low: int, high: int) -> list[tuple[bytes, Entry]]:
    """The rows of a key whose times are in a range, in order of time and arrival."""
    found = [item for item in held.rows.items() if low <= item[1][TIME] <= high]
    return sorted(found, key=lambda item: (item[1][TIME], item[1][NUMBER]))
