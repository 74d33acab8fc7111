"""Operators without state: they run inside whatever task feeds them, a whole batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.copies import own
from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.keys import check_texts, freeze, stable_hash
from scurry.functions.contexts import FunctionContext, TimerService
from scurry.functions.output_tag import OutputTag
from scurry.functions.process import ElementContext
from scurry.functions.transforms import Function
from scurry.runtime.batch import NO_TIMESTAMP, Batch, Longs, origins
from scurry.runtime.columns import ElementCodec, infer_columns
from scurry.runtime.conform import conform
from scurry.runtime.failures import apply_all
from scurry.runtime.operator import Clock, Operator, by_port
from scurry.runtime.poison import PoisonGuard, flat_map_guarded
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class FunctionOperator(Operator):
    """An operator that runs one user function with a life cycle."""

    context_kind = FunctionContext

    def __init__(self, spec: OperatorSpec, function: Function) -> None:
        super().__init__(spec)
        self.function = function

    def open(self, context: TaskContext) -> None:
        super().open(context)
        spec = self.spec
        runtime = self.context_kind(
            spec.name,
            spec.uid,
            context.place.index,
            spec.parallelism,
            context.place.max_parallelism,
            context.place.parameters,
            context.report.metrics.group(spec),
        )
        self.start_function(self.function, runtime)

    def close(self) -> None:
        self.function.close()


class MapOperator(FunctionOperator):
    """One record for each record."""

    def process(self, batch: Batch, port: int = 0) -> None:
        function: Any = self.function
        if self.spec.dead_letters:
            declared = self.spec.type_info
            own = self.context.handover.own
            flat_map_guarded(self, batch, lambda row: conform([own(function.map(row))], declared))
            return
        try:
            apply = self.context.handover.apply
            rows = conform(apply(function.map, batch.rows), self.spec.type_info)
        except Exception as failure:
            raise self.failed(failure) from failure
        self.emit(batch.with_rows(rows))


class FilterOperator(FunctionOperator):
    """The records for which the function is true."""

    def process(self, batch: Batch, port: int = 0) -> None:
        function: Any = self.function
        if self.spec.dead_letters:
            flat_map_guarded(self, batch, lambda row: (row,) if function.filter(row) else ())
            return
        try:
            kept = apply_all(function.filter, batch.rows)
            places = np.flatnonzero(np.fromiter(map(bool, kept), dtype=bool, count=len(kept)))
        except Exception as failure:
            raise self.failed(failure) from failure
        if len(places) == batch.size:
            self.emit(batch)
        elif len(places):
            self.emit(batch.take(places))


class FlatMapOperator(FunctionOperator):
    """Any number of records for each record."""

    def process(self, batch: Batch, port: int = 0) -> None:
        function: Any = self.function
        call = function.flat_map
        if self.spec.dead_letters:
            flat_map_guarded(self, batch, self._called)
            return
        rows: list[Any] = []
        ends: list[int] = []
        take = self.context.handover.take
        row = None
        try:
            for row in batch.rows:
                result = call(row)
                if result is not None:
                    take(rows, iterate(result, "flat_map"))
                ends.append(len(rows))
            rows = conform(rows, self.spec.type_info)
        except Exception as failure:
            raise self.failed(failure, row) from failure
        self.emit(batch.spread(rows, origins(ends)))

    def _called(self, row: Any) -> list[Any]:
        function: Any = self.function
        result = function.flat_map(row)
        found: list[Any] = []
        if result is not None:
            self.context.handover.take(found, iterate(result, "flat_map"))
        return conform(found, self.spec.type_info)


class KeyGuardOperator(Operator):
    """Lets records pass whose key can be computed; the others are dead letters."""

    def __init__(self, spec: OperatorSpec, select: Callable[[Any], Any]) -> None:
        super().__init__(spec)
        self._select = select

    def process(self, batch: Batch, port: int = 0) -> None:
        flat_map_guarded(self, batch, self._checked)

    def _checked(self, row: Any) -> tuple[Any]:
        key = freeze(self._select(row))
        stable_hash(key)
        check_texts(key)
        return (row,)


def iterate(result: Any, what: str | Callable[..., Any]) -> Iterable[Any]:
    """``result`` if it can be iterated, as a text can, by its characters; says what a function must
    return if it cannot. ``what`` is the function that returned it, or its name."""
    if isinstance(result, Iterable):
        return result
    name = what if isinstance(what, str) else what.__name__
    raise TypeMismatchError(
        f"{name} returned {result!r} ({type(result).__name__}); it must yield its results, or "
        "return a list of them, or None for nothing"
    )


class ClockService(TimerService):
    """Clocks for functions that have no key and therefore no timers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def current_processing_time(self) -> int:
        return self._clock.now

    def current_watermark(self) -> int:
        return self._clock.watermark

    def _refuse(self, timestamp: int) -> None:
        raise ProgramError(
            "Timers belong to a key: call key_by(...) before the function that sets them."
        )

    register_event_time_timer = register_processing_time_timer = _refuse
    delete_event_time_timer = delete_processing_time_timer = _refuse


class PlainContext(ElementContext):
    """Context of a :class:`ProcessFunction`; one object for all calls."""

    def __init__(self, clock: Clock) -> None:
        self._service = ClockService(clock)
        self.current: int | None = None
        self.values: list[Any] = []
        self.own: Callable[[Any], Any] = own

    def timer_service(self) -> TimerService:
        return self._service

    def timestamp(self) -> int | None:
        return self.current

    def output(self, tag: OutputTag, value: Any) -> None:
        if not isinstance(tag, OutputTag):
            raise ProgramError(f"ctx.output needs an OutputTag as its first argument, got {tag!r}.")
        self.values.append((tag, self.own(value)))


class ProcessOperator(FunctionOperator):
    """Runs a :class:`ProcessFunction` on a stream without keys."""

    function: Any

    def open(self, context: TaskContext) -> None:
        self._clock = Clock()
        self._context = self._make_context(context)
        self._context.own = context.handover.own
        super().open(context)

    def _make_context(self, context: TaskContext) -> PlainContext:
        return PlainContext(self._clock)

    def begin(self, watermark: int) -> None:
        self._clock.watermark = watermark

    def process(self, batch: Batch, port: int = 0) -> None:
        self._run(batch, [self.function.process_element] * batch.size)

    def _run(self, batch: Batch, calls: list[Callable[[Any, Any], Any]]) -> None:
        """Call ``calls[i]`` with record i and the context, for all records in order."""
        context, clock = self._context, self._clock
        if self.spec.dead_letters:
            calls = self._guarded(calls)
        clock.now = self.context.now
        take = self.context.handover.take
        values: list[Any] = []
        context.values = values
        ends: list[int] = []
        stamps = [NO_TIMESTAMP] * batch.size if batch.ts is None else batch.ts.tolist()
        watermarks = [clock.watermark] * batch.size if batch.wm is None else batch.wm.tolist()
        row = None
        try:
            for row, stamp, watermark, call in zip(
                batch.rows, stamps, watermarks, calls, strict=True
            ):
                context.current = None if stamp == NO_TIMESTAMP else stamp
                clock.watermark = watermark
                result = call(row, context)
                if result is not None:
                    take(values, iterate(result, call))
                ends.append(len(values))
        except Exception as failure:
            raise self.failed(failure, row) from failure
        self.emit_tagged(batch.spread(values, origins(ends)))

    def _guarded(self, calls: list[Callable[[Any, Any], Any]]) -> list[Callable[[Any, Any], Any]]:
        guard, context = PoisonGuard(self.spec, self.context), self._context
        made = {
            call: guard.around(
                call,
                lambda: context.values,
                lambda value, failure: guard.letter(value, failure, context.current),
            )
            for call in set(calls)
        }
        return [made[call] for call in calls]


class CoProcessOperator(ProcessOperator):
    """Runs a function with a method for each of two inputs without keys."""

    two_inputs = True

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        function = self.function
        self._run(batch, by_port(ports, function.process_element1, function.process_element2))


class BatchesOperator(FunctionOperator):
    """Runs a function over Arrow batches, with no Python per record.

    Output with as many rows as the input keeps the records' times and kinds; other output takes the
    place of the last record it was made from, and cannot be made of anything but insertions.
    """

    def __init__(
        self, spec: OperatorSpec, function: Function, call: Callable[[pa.RecordBatch], Any]
    ) -> None:
        super().__init__(spec, function)
        self._call = call
        declared = spec.type_info
        self._codec = None if declared is None else ElementCodec.of_type(declared)

    def process(self, batch: Batch, port: int = 0) -> None:
        try:
            columns = batch.columns
            if columns is None:
                columns = batch.codec.to_columns(batch.rows) if batch.codec else None
            if columns is None:
                columns = infer_columns(batch.rows)
            for result in _record_batches(self._call(columns)):
                self._emit(batch, result)
        except Exception as failure:
            raise self.failed(failure) from failure

    def _emit(self, batch: Batch, columns: pa.RecordBatch) -> None:
        codec = self._codec or ElementCodec.of_schema(columns.schema)
        if columns.num_rows == batch.size:
            self.emit(batch.with_columns(columns, codec))
        elif columns.num_rows:
            if batch.kinds is not None:
                raise TypeMismatchError(_whose_kind(batch.size, columns.num_rows))
            last = np.full(columns.num_rows, batch.size - 1, dtype=np.int64)
            moved = batch.spread([None] * columns.num_rows, last)
            moved.ts = None
            self.emit(moved.with_columns(columns, codec))


def _whose_kind(came: int, went: int) -> str:
    return (
        f"{came} rows came, among them updates or deletions, and {went} were returned, so that "
        "nobody knows which of these are updates or deletions. Return a row for each row that "
        "came, or use filter and flat_map, which handle Rows one by one."
    )


def _record_batches(result: Any) -> Iterable[pa.RecordBatch]:
    if result is None:
        return
    if isinstance(result, pa.RecordBatch):
        yield result
    elif isinstance(result, pa.Table):
        yield from result.combine_chunks().to_batches()
    elif isinstance(result, Iterable) and not isinstance(result, (str, bytes, dict)):
        for part in result:
            yield from _record_batches(part)
    else:
        raise TypeMismatchError(
            f"a function over batches must return pyarrow RecordBatches or Tables, "
            f"got {type(result).__name__}"
        )
