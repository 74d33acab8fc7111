"""Timestamps and watermarks, and the gate where channels meet.

A watermark strategy is applied to the records of one source partition at a time. The watermark in
force before each record is a running maximum, computed for the whole batch at once; the highest
timestamp seen survives to the next batch in a cell.

An :class:`InputGate` merges the channels of an operator. At every record the combined watermark is
the minimum over the channels: those with records still to come in this batch stand at their next
record, the others at what they reported last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scurry.common.errors import TypeMismatchError
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.functions.dead_letters import DeadLetter
from scurry.runtime.batch import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    NO_TIMESTAMP,
    Batch,
    Longs,
    concat,
)
from scurry.runtime.failures import ElementFailed
from scurry.runtime.operator import Operator, longs
from scurry.runtime.poison import PoisonGuard, emit_letters, stamp_at
from scurry.runtime.specs import OperatorSpec

#: One batch as it arrived: channel, number in the channel, input port, records.
Arrival = tuple[str, int, int, Batch]


class TimestampsOperator(Operator):
    """Assigns event timestamps and generates watermarks."""

    def __init__(self, spec: OperatorSpec, strategy: WatermarkStrategy) -> None:
        super().__init__(spec)
        self._strategy = strategy

    @property
    def _cell(self) -> str:
        return f"{self.spec.uid}|max"

    def process(self, batch: Batch, port: int = 0) -> None:
        strategy = self._strategy
        batch = batch.alias()
        if strategy.assigner is not None and self.spec.dead_letters:
            batch = self._assign_guarded(batch)
        elif strategy.assigner is not None:
            try:
                batch.ts = self._assign(batch)
            except Exception as failure:
                raise self.failed(failure) from failure
        if strategy.kind == "bounded" and batch.ts is not None:
            cells = self.context.cells
            before = cells.get(self._cell, MIN_WATERMARK)
            running = np.maximum.accumulate(np.concatenate(([before], batch.ts)))
            batch.wm = self._watermarks(running[:-1])
            # what earlier strategies decided no longer orders these records
            batch.pos = batch.wm
            cells[self._cell] = int(running[-1])
        self.emit(batch)

    def _assign(self, batch: Batch) -> Longs:
        assert self._strategy.assigner is not None
        extract = self._strategy.assigner.extract_timestamp
        known = [NO_TIMESTAMP] * batch.size if batch.ts is None else batch.ts.tolist()
        stamps: list[Any] = []
        row = None
        try:
            for row, stamp in zip(batch.rows, known, strict=True):
                stamps.append(extract(row, stamp))
            return _whole_numbers(stamps, batch)
        except ElementFailed:
            raise
        except Exception as failure:
            raise ElementFailed(row) from failure

    def _assign_guarded(self, batch: Batch) -> Batch:
        """The records that have a timestamp, with it; the others are dead letters."""
        guard = PoisonGuard(self.spec, self.context)
        kept: list[int] = []
        stamps: list[int] = []
        failed: list[int] = []
        letters: list[DeadLetter] = []
        for at, row in enumerate(batch.rows):
            single = Batch([row], ts=None if batch.ts is None else batch.ts[at : at + 1])
            try:
                stamps.append(int(self._assign(single)[0]))
                kept.append(at)
            except ElementFailed as failure:
                cause = failure.__cause__
                assert isinstance(cause, Exception)
                failed.append(at)
                letters.append(guard.letter(row, cause, stamp_at(batch.ts, at)))
        emit_letters(self, batch, letters, failed)
        batch = batch.take(longs(kept)) if failed else batch
        batch.ts = longs(stamps)
        return batch

    def _watermarks(self, highest: Longs) -> Longs:
        delay = self._strategy.out_of_orderness_ms + 1
        return np.where(highest <= MIN_WATERMARK + delay, MIN_WATERMARK, highest - delay)

    def watermark(self) -> int:
        """The watermark after the last record seen of the current channel."""
        if self._strategy.kind != "bounded":
            return MIN_WATERMARK
        highest = self.context.cells.get(self._cell, MIN_WATERMARK)
        return int(self._watermarks(np.array([highest], dtype=np.int64))[0])


def _whole_numbers(stamps: list[Any], batch: Batch) -> Longs:
    if set(map(type, stamps)) <= {int}:
        return np.array(stamps, dtype=np.int64)
    for row, stamp in zip(batch.rows, stamps, strict=True):
        if not isinstance(stamp, (int, np.integer)) or isinstance(stamp, bool):
            wrong = TypeMismatchError(
                f"the timestamp assigner returned {stamp!r} ({type(stamp).__name__}); it must "
                "return milliseconds since the epoch as a whole number"
            )
            raise ElementFailed(row) from wrong
    return np.array([int(stamp) for stamp in stamps], dtype=np.int64)


class InputGate:
    """The channels of one operator: their watermarks, and the merging of their records."""

    def __init__(self) -> None:
        self.marks: dict[str, int] = {}
        self.current = MIN_WATERMARK

    def merge(
        self, arrivals: list[Arrival], ends: dict[str, int]
    ) -> tuple[Batch | None, Longs | None]:
        """All records in order, with the combined watermark before each, and their ports.

        ``ends`` are the channels' watermarks at the end of this micro-batch.
        """
        whole, ports = None, None
        if arrivals:
            arrivals = sorted(arrivals, key=lambda arrival: arrival[:2])
            whole, owners, ports = self._in_order(arrivals)
            self._combine(whole, owners, sorted({a[0] for a in arrivals}), ends)
        for channel, mark in ends.items():
            self.marks[channel] = max(mark, self.marks.get(channel, MIN_WATERMARK))
        return whole, ports

    def settle(self) -> int:
        """The combined watermark once all records have been handled."""
        if self.marks:
            self.current = max(self.current, min(self.marks.values()))
        return self.current

    def _in_order(self, arrivals: list[Arrival]) -> tuple[Batch, Longs, Longs | None]:
        whole = concat([arrival[3] for arrival in arrivals])
        sizes = [arrival[3].size for arrival in arrivals]
        names = {channel: at for at, channel in enumerate(sorted({a[0] for a in arrivals}))}
        owners = np.repeat(np.array([names[a[0]] for a in arrivals], dtype=np.int64), sizes)
        ports = np.repeat(np.array([a[2] for a in arrivals], dtype=np.int64), sizes)
        order = _order(whole) if len(names) > 1 else None
        if order is not None:
            whole, owners, ports = whole.take(order), owners[order], ports[order]
        return whole, owners, ports if ports.any() else None

    def _combine(
        self, whole: Batch, owners: Longs, channels: list[str], ends: dict[str, int]
    ) -> None:
        quiet = [mark for name, mark in self._after(ends).items() if name not in channels]
        if (
            whole.wm is None
            and self.current == MIN_WATERMARK
            and not any(mark > MIN_WATERMARK for mark in self.marks.values())
        ):
            return
        own = np.full(whole.size, MIN_WATERMARK) if whole.wm is None else whole.wm.copy()
        floors = np.array([self.marks.get(name, MIN_WATERMARK) for name in channels])
        own = np.maximum(own, floors[owners])
        caps = np.full(whole.size + 1, MAX_WATERMARK, dtype=np.int64)
        if quiet:
            caps[0] = min(quiet)
        for at, name in enumerate(channels):
            last = int(np.flatnonzero(owners == at)[-1])
            end = self._after(ends).get(name, int(own[last]))
            caps[last + 1] = min(int(caps[last + 1]), end)
        combined = np.minimum(own, np.minimum.accumulate(caps)[:-1])
        whole.wm = np.maximum.accumulate(np.maximum(combined, self.current))

    def _after(self, ends: dict[str, int]) -> dict[str, int]:
        """The channels' watermarks once this micro-batch's reports have come in."""
        after = dict(self.marks)
        for channel, mark in ends.items():
            after[channel] = max(mark, after.get(channel, MIN_WATERMARK))
        return after


def _order(whole: Batch) -> Longs | None:
    """The permutation that sorts by place, None if the records are in order already."""
    if whole.tick is None:
        return None
    pos = np.zeros(whole.size, dtype=np.int64) if whole.pos is None else whole.pos
    later = (pos[1:] > pos[:-1]) | ((pos[1:] == pos[:-1]) & (whole.tick[1:] >= whole.tick[:-1]))
    if later.all():
        return None
    return np.lexsort((whole.tick, pos))
