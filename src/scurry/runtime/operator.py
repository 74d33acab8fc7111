"""The contract of operators, and the wiring between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from scurry.common.spelling import nearest
from scurry.functions.contexts import FunctionContext, KeyedStateStore, RuntimeContext
from scurry.functions.output_tag import OutputTag
from scurry.runtime.batch import MIN_WATERMARK, Batch, Longs
from scurry.runtime.checkpointed import InstanceCheckpoint, checkpointed
from scurry.runtime.conform import conform
from scurry.runtime.failures import NO_ELEMENT, function_error
from scurry.runtime.handover import Consumer
from scurry.runtime.meters import Meter
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.state.layout import StateLayout

if TYPE_CHECKING:
    from scurry.runtime.event_time import Mark

T = TypeVar("T")
_first = itemgetter(0)


@dataclass
class Clock:
    """The two times an operator sees."""

    now: int = 0
    watermark: int = MIN_WATERMARK


class Operator:
    """Turns batches into batches.

    ``open`` is called once per instance. In each micro-batch the head of a chain is first told to
    ``begin``, with the watermark the last batch ended at. Then ``process`` is called for the
    batches of records in order, and for the head ``advance`` with the watermark at the end of the
    input. Operators that hold records back are told to ``flush`` when a channel (a source
    partition, or a slot) has no more; then ``finish`` is called for all. ``close`` is called after
    the last micro-batch.

    An operator with ``two_inputs`` is always the head of a chain. Instead of ``process`` its
    ``process_ports`` is called: with the records of both inputs, merged into their order.

    Each class declares how its operators lay out what they keep: a kind and a version, and the
    lowest version that it still reads. A change of the stored format raises ``state_version``; the
    class that reads the format before as well leaves ``reads_from`` where it is.
    """

    state_kind: ClassVar[str] = "operator state"
    state_version: ClassVar[int] = 1
    reads_from: ClassVar[int] = 1

    two_inputs = False
    #: whether records are emitted later than they came; then ``flush`` has a meaning
    holds_back = False
    #: by how many milliseconds watermarks behind the operator, which is the head of a chain, stay
    #: behind its own, because the rows it emits may be that much older than what caused them
    delay = 0
    #: whether watermarks behind the operator are its own; then ``mark`` has a meaning
    makes_watermarks = False

    def __init__(self, spec: OperatorSpec) -> None:
        self.spec = spec
        self.context: TaskContext
        self._consumers: list[Consumer] = []
        self._side: dict[str, list[Consumer]] = {}
        self._checkpoint: InstanceCheckpoint | None = None
        #: counts what the operator does, for the metrics of the job
        self.meter = Meter()

    @classmethod
    def state_layout(cls, *arguments: Any) -> StateLayout:
        """How an operator made with ``arguments`` lays out its state; asked on the driver."""
        return StateLayout(cls.state_kind, cls.state_version, {}, cls.reads_from)

    def wire(self, consumers: list[Consumer], side: dict[str, list[Consumer]]) -> None:
        """Connect the outputs."""
        self._consumers = consumers
        self._side = side

    def open(self, context: TaskContext) -> None:
        """Prepare for the first batch."""
        self.context = context

    def start_function(self, function: Any, runtime: RuntimeContext) -> None:
        """Start a user function: its operator state first, if it has any, then ``open``."""
        try:
            keyed = None if isinstance(runtime, FunctionContext) else runtime
            self.start_checkpointed(function, keyed)
            self.open_function(function, runtime)
        except Exception as failure:
            raise self.failed(failure) from failure

    def open_function(self, function: Any, runtime: RuntimeContext) -> None:
        """Call ``open``."""
        function.open(runtime)

    def start_checkpointed(self, function: Any, keyed: KeyedStateStore | None = None) -> None:
        """Give ``function`` its operator state, if it has any."""
        inner = checkpointed(function)
        if inner is not None:
            states = self.context.state.operators
            self._checkpoint = InstanceCheckpoint(
                self.spec.name, self.spec.uid, inner, states, keyed
            )
            self._checkpoint.initialize()

    @property
    def checkpointed(self) -> bool:
        """Whether the operator's function has operator state."""
        return self._checkpoint is not None

    def snapshot(self) -> None:
        """The micro-batch is over: keep the function's operator state, if it has any."""
        if self._checkpoint is not None:
            try:
                self._checkpoint.snapshot(self.context.batch, self.context.now)
            except Exception as failure:
                raise self.failed(failure) from failure

    def begin(self, watermark: int) -> None:
        """Called for the head of a chain at the start of a micro-batch, with the watermark at the
        end of the last one."""

    def process(self, batch: Batch, port: int = 0) -> None:
        """Handle records, in order."""
        raise AssertionError(f"{type(self).__name__} takes no records")

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        """Handle records of two inputs, in order; ``ports[i]`` says which input record i is of. Who
        works on columns takes the records of each input with ``batch.of_port``: inputs of different
        schemas have no columns in common, and yet each has its own."""
        raise AssertionError(f"{type(self).__name__} has one input only")

    def process_combined(self, blobs: Sequence[bytes]) -> int:
        """Handle partials that records were combined into on their way here. Called at the start of
        a micro-batch; returns how many records they stand for."""
        raise AssertionError(f"{type(self).__name__} takes single records only")

    def advance(self, watermark: int) -> None:
        """Called for the head of a chain after the last record of a micro-batch, with the watermark
        at the end of the input."""

    def flush(self) -> bool:
        """Emit the results of the current channel that were held back; True if there were any."""
        return False

    def mark(self) -> Mark:
        """Where the current channel stands after the last record seen of it. Called at the end of
        each channel of an operator that makes watermarks of its own."""
        raise AssertionError(f"{type(self).__name__} makes no watermarks")

    def finish(self) -> None:
        """The micro-batch is over."""

    def prepare(self) -> bytes | None:
        """The message that the driver commits this micro-batch with, None if there is nothing to
        commit. Called after ``finish``."""
        return None

    def close(self) -> None:
        """There will be no more micro-batches. What it raises is told as the operator's failure."""

    def emit(self, batch: Batch) -> None:
        """Send records downstream."""
        if batch.size:
            self.meter.records_out += batch.size
            for consumer in self._consumers:
                consumer(batch)

    def emit_side(self, tag: str, batch: Batch) -> None:
        """Send records to the side output ``tag``; if nothing reads it, they are dropped."""
        consumers = self._side.get(tag)
        if consumers:
            self.meter.records_out += batch.size
            for consumer in consumers:
                consumer(batch)

    @property
    def _emits_own(self) -> bool:
        """Whether what is emitted is in nobody else's hands."""
        return False

    def emit_tagged(self, batch: Batch, untagged: bool = False) -> None:
        """Send records downstream, those of the form ``(OutputTag, value)`` to side outputs, unless
        it is known that there are none."""
        rows = batch.rows
        if untagged or not any_tagged(rows):
            self._emit_conforming(batch)
            return
        main: list[int] = []
        tagged: dict[str, list[int]] = {}
        for at, row in enumerate(rows):
            if is_tagged(row):
                tagged.setdefault(row[0].tag_id, []).append(at)
            else:
                main.append(at)
        for tag, places in tagged.items():
            if tag in self._side:
                self.emit_side(tag, batch.spread([rows[at][1] for at in places], longs(places)))
            elif self._side:
                self._warn_of_misspelling(tag)
        self._emit_conforming(batch.spread([rows[at] for at in main], longs(main)))

    def _warn_of_misspelling(self, tag: str) -> None:
        """Nothing reads the side output ``tag``, which is as it should be unless the program asks
        for one of nearly that name."""
        near = nearest(tag, self._side)
        if near is not None:
            self.context.report.warn(
                f"{self.spec.name!r} ({self.spec.location}) sends elements to the side output "
                f"{tag!r}, which nothing reads, so they are dropped; the program reads "
                f"{near!r} instead. Use one OutputTag object in both places: yield it with the "
                "value, and pass it to get_side_output(...)."
            )

    def _emit_conforming(self, batch: Batch) -> None:
        if self.spec.type_info is not None:
            try:
                batch = batch.rewritten(conform(batch.rows, self.spec.type_info, self._emits_own))
            except Exception as failure:
                raise self.failed(failure) from failure
        self.emit(batch)

    def failed(self, failure: BaseException, element: Any = NO_ELEMENT) -> BaseException:
        """The error to raise when user code failed."""
        spec = self.spec
        return function_error(spec.name, spec.uid, spec.location, element, failure)


def by_port(ports: Longs, first: T, second: T) -> list[T]:
    """``first`` for each record of the first input, ``second`` for each of the second."""
    if not ports.any():
        return [first] * len(ports)
    return [second if port else first for port in ports.tolist()]


def is_tagged(row: Any) -> bool:
    """Whether ``row`` is PyFlink's ``yield tag, value``."""
    return isinstance(row, tuple) and len(row) == 2 and isinstance(row[0], OutputTag)


def any_tagged(rows: list[Any]) -> bool:
    """Whether any of ``rows`` goes to a side output, at C speed for rows that all look alike."""
    kinds = set(map(type, rows))
    if tuple not in kinds:
        return False
    if kinds == {tuple}:
        try:
            return any(issubclass(kind, OutputTag) for kind in set(map(type, map(_first, rows))))
        except IndexError:
            pass
    return any(map(is_tagged, rows))


def longs(places: list[int]) -> Longs:
    """Numbers of records as an index."""
    return np.array(places, dtype=np.int64)
