"""Timestamps and watermarks of a stream.

A watermark strategy is applied to the records of one source partition at a time. The watermark in
force before each record is a running maximum, computed for the whole batch at once; the highest
timestamp seen survives to the next batch in a cell. A generator of the user's is asked after every
record instead, and is itself kept in a cell.

A partition from which nothing has come for a while can be declared *idle*: its watermark is then
left out wherever channels meet. Time here is processing time, which the plan of a micro-batch
fixes, so a batch that is run again finds the same partitions idle.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Container
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.common.errors import TypeMismatchError
from scurry.common.pickling import dumps
from scurry.common.watermark_strategy import (
    FunctionTimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from scurry.functions.dead_letters import DeadLetter
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch, Longs
from scurry.runtime.failures import ElementFailed
from scurry.runtime.operator import Operator, longs
from scurry.runtime.poison import PoisonGuard, emit_letters, stamp_at
from scurry.runtime.running import running_max
from scurry.runtime.selectors import picked_field
from scurry.runtime.specs import OperatorSpec

#: Seconds since 1970 in the years 2001 to 2096; as milliseconds they are of early 1970.
_SECONDS = (1_000_000_000, 4_000_000_000)


class Mark(NamedTuple):
    """What a channel says at the end of a micro-batch: how far its event time has come, and
    whether others should wait for it."""

    watermark: int
    idle: bool = False


def delayed(watermarks: Longs, delay: int) -> Longs:
    """Watermarks that stay behind others, until the input ends."""
    behind = np.maximum(watermarks, MIN_WATERMARK + delay) - delay
    return np.where(watermarks == MAX_WATERMARK, watermarks, behind)


def mark_cell(uid: str) -> str:
    """The cell in which the strategy ``uid`` shows the planner how far a partition has come."""
    return f"{uid}|mark"


class TimestampsOperator(Operator):
    """Assigns event timestamps and generates watermarks."""

    makes_watermarks = True

    def __init__(self, spec: OperatorSpec, strategy: WatermarkStrategy) -> None:
        Operator.__init__(self, spec)
        # in batch execution event time stands still until the input ends
        still = replace(strategy, kind="none", idleness_ms=None, alignment=None)
        self._strategy = still if spec.batch else strategy
        #: the field that is the timestamp, if the assigner only picks one
        self._field: str | int | None = None
        if isinstance(strategy.assigner, FunctionTimestampAssigner):
            extract = strategy.assigner.extract_timestamp
            self._field = picked_field(lambda element: extract(element, NO_TIMESTAMP))

    def _cell(self, name: str) -> str:
        return f"{self.spec.uid}|{name}"

    def process(self, batch: Batch, port: int = 0) -> None:
        strategy, cells = self._strategy, self.context.state.cells
        batch = batch.alias()
        if strategy.assigner is not None and self.spec.dead_letters:
            batch = self._assign_guarded(batch)
        elif strategy.assigner is not None:
            try:
                batch.ts = self._assign(batch)
            except Exception as failure:
                raise self.failed(failure) from failure
        if batch.ts is not None:
            self._look_at(batch.ts)
            batch = self._without_future(batch)
        if strategy.idleness_ms is not None:
            cells[self._cell("active")] = self.context.now
        if strategy.kind == "generator":
            batch.wm = batch.pos = self._generate(batch)
        elif strategy.kind == "bounded" and batch.ts is not None:
            before = cells.get(self._cell("max"), MIN_WATERMARK)
            running = running_max(np.concatenate(([before], batch.ts)))
            # what earlier strategies decided no longer orders these records
            batch.wm = batch.pos = self._watermarks(running[:-1])
            cells[self._cell("max")] = int(running[-1])
        elif strategy.kind == "none":
            # this strategy stands in place of any before it, and has no watermarks
            batch.wm = None
        self.emit(batch)

    def _assign(self, batch: Batch) -> Longs:
        assert self._strategy.assigner is not None
        column = batch.column(self._field)
        if column is not None and column.type == pa.int64() and column.null_count == 0:
            picked: Longs = column.to_numpy(zero_copy_only=False)
            return picked
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

    def _look_at(self, stamps: Longs) -> None:
        """Warn of timestamps that are seconds where milliseconds are meant."""
        if len(stamps) and _SECONDS[0] <= int(stamps.min()) and int(stamps.max()) < _SECONDS[1]:
            self.context.report.warn(
                f"The timestamps of {self.spec.name!r} ({self.spec.location}) look like seconds: "
                f"{int(stamps[0])} milliseconds are in January or February 1970. Scurry's event "
                "time is milliseconds since 1970; multiply by 1000."
            )

    def _without_future(self, batch: Batch) -> Batch:
        """The records that are not too far ahead of the clock; the others go aside."""
        if self._strategy.future_bound is None:
            return batch
        assert batch.ts is not None
        ahead, tag = self._strategy.future_bound
        beyond = batch.ts > self.context.now + ahead
        if not beyond.any():
            return batch
        self.context.report.count(f"future:{self.spec.uid}", int(beyond.sum()))
        self.emit_side(tag, batch.take(np.flatnonzero(beyond)))
        return batch.take(np.flatnonzero(~beyond))

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

    def _generate(self, batch: Batch) -> Longs:
        """The watermark before each record, by the user's generator."""
        output = self._output()
        generator = self._generator()
        stamps = [NO_TIMESTAMP] * batch.size if batch.ts is None else batch.ts.tolist()
        watermarks: list[int] = []
        for row, stamp in zip(batch.rows, stamps, strict=True):
            watermarks.append(output.watermark)
            try:
                generator.on_event(row, stamp, output)
                generator.on_periodic_emit(output)
            except Exception as failure:
                raise self.failed(failure, row) from failure
        self._keep(generator, output)
        return np.array(watermarks, dtype=np.int64)

    def _output(self) -> _Output:
        cells = self.context.state.cells
        watermark = cells.get(self._cell("watermark"), MIN_WATERMARK)
        return _Output(watermark, bool(cells.get(self._cell("idle"), 0)))

    def _generator(self) -> WatermarkGenerator:
        held = self.context.state.cells.get(self._cell("generator"))
        if held is not None:
            generator: WatermarkGenerator = pickle.loads(base64.b64decode(held))
            return generator
        assert self._strategy.generator_factory is not None
        return self._strategy.generator_factory()

    def _keep(self, generator: WatermarkGenerator, output: _Output) -> None:
        cells = self.context.state.cells
        cells[self._cell("watermark")] = output.watermark
        cells[self._cell("idle")] = int(output.idle)
        cells[self._cell("generator")] = base64.b64encode(dumps(generator)).decode()

    def mark(self) -> Mark:
        """Where the current channel stands after the last record seen of it."""
        mark = self._mark()
        if self._strategy.alignment is not None:
            cell = mark_cell(self.spec.uid)
            if mark.idle or mark.watermark == MIN_WATERMARK:
                self.context.state.cells.pop(cell, None)
            else:
                self.context.state.cells[cell] = mark.watermark
        return mark

    def _mark(self) -> Mark:
        strategy, cells = self._strategy, self.context.state.cells
        idle = self._silent()
        if strategy.kind == "generator":
            output, generator = self._output(), self._generator()
            try:
                generator.on_periodic_emit(output)
            except Exception as failure:
                raise self.failed(failure) from failure
            self._keep(generator, output)
            return Mark(output.watermark, idle or output.idle)
        if strategy.kind != "bounded":
            return Mark(MIN_WATERMARK, idle)
        highest = cells.get(self._cell("max"), MIN_WATERMARK)
        return Mark(int(self._watermarks(np.array([highest], dtype=np.int64))[0]), idle)

    def _silent(self) -> bool:
        """Whether nothing has come for as long as the strategy allows."""
        patience = self._strategy.idleness_ms
        if patience is None:
            return False
        now, cells, cell = self.context.now, self.context.state.cells, self._cell("active")
        # a clock that was ahead and is right again must not put off idleness until it is there
        active = cells[cell] = min(cells.get(cell, now), now)
        if now - active >= patience:
            return True
        self.context.report.wake_at(active + patience)
        return False


def cells_of(operators: Container[str], cells: dict[str, Any]) -> dict[str, Any]:
    """The cells of strategies that are among ``operators``; others are of a program that has been
    changed since. Watermarks are not state: a strategy that is new begins without."""
    return {name: held for name, held in cells.items() if name.rpartition("|")[0] in operators}


def redistribute_cells(slots: list[dict[str, Any]]) -> dict[str, Any]:
    """The cells that a strategy in a stage has in every slot from now on, made of those it had in
    each slot before: the slot that is furthest behind decides how far time has come."""
    names = dict.fromkeys(name for cells in slots for name in cells)
    everywhere = [name for name in names if all(name in cells for cells in slots)]
    made: dict[str, Any] = {}
    for name in names:
        uid, _, kind = name.rpartition("|")
        held = [cells[name] for cells in slots if name in cells]
        if kind == "active":
            made[name] = max(held)
        elif name not in everywhere:
            continue
        elif kind == "generator":
            watermarks = [cells[f"{uid}|watermark"] for cells in slots]
            made[name] = held[watermarks.index(min(watermarks))]
        else:
            made[name] = min(held)
    return made


class _Output(WatermarkOutput):
    """Keeps the highest watermark a generator has emitted."""

    def __init__(self, watermark: int, idle: bool) -> None:
        self.watermark = watermark
        self.idle = idle

    def emit_watermark(self, timestamp: int) -> None:
        self.watermark = max(self.watermark, int(timestamp))
        self.idle = False

    def mark_idle(self) -> None:
        self.idle = True

    def mark_active(self) -> None:
        self.idle = False


def _whole_numbers(stamps: list[Any], batch: Batch) -> Longs:
    if set(map(type, stamps)) <= {int}:
        try:
            return np.array(stamps, dtype=np.int64)
        except OverflowError:
            pass
    for row, stamp in zip(batch.rows, stamps, strict=True):
        if not isinstance(stamp, (int, np.integer)) or isinstance(stamp, bool):
            wrong = TypeMismatchError(
                f"the timestamp assigner returned {stamp!r} ({type(stamp).__name__}); it must "
                "return milliseconds since the epoch as a whole number"
            )
            raise ElementFailed(row) from wrong
        if not MIN_WATERMARK < stamp <= MAX_WATERMARK:
            beyond = TypeMismatchError(
                f"the timestamp assigner returned {stamp}, which no 64 bits can hold; it must "
                "return milliseconds since the epoch"
            )
            raise ElementFailed(row) from beyond
    return np.array([int(stamp) for stamp in stamps], dtype=np.int64)
