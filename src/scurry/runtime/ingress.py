"""The ingress: reads the sources and runs the operators chained to them.

What a micro-batch reads is decided by the driver and written down before anything is read. Every
task of the ingress gets its share, a :class:`TaskPlan`: for each source partition the ranges to
read, and the cells (the highest timestamp seen and the like) as the last micro-batch left them.
When a task has read a partition, it sends its cells to the driver, which puts them into the next
plan.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from scurry.common.fault_points import fault_point
from scurry.functions.dead_letters import DEAD_LETTERS
from scurry.functions.source import SourceBatch
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, RANK_SHIFT, Batch
from scurry.runtime.channels import partition_place
from scurry.runtime.columns import ElementCodec
from scurry.runtime.envelope import CELLS, OPERATORS, TICK, Envelope
from scurry.runtime.event_time import Mark
from scurry.runtime.failures import NO_ELEMENT, function_error
from scurry.runtime.handover import COPYING, REUSING, Consumer
from scurry.runtime.report import OperatorReport, Tick, encode_report
from scurry.runtime.specs import JobSpec, SourceSpec
from scurry.runtime.task import Task, report, to_driver
from scurry.runtime.task_context import TaskContext, TaskPlace


class PartitionPlan(msgspec.Struct):
    """What one micro-batch reads of one source partition."""

    source: str
    partition: str
    rank: int
    ranges: list[Any]
    cells: dict[str, Any]
    #: nothing will ever come after this
    ended: bool = False


class TaskPlan(msgspec.Struct):
    """One ingress task's share of a micro-batch."""

    batch: int
    task: int
    tasks: int
    now: int
    partitions: list[PartitionPlan]
    final: bool = False
    #: the operator states of this task, the name of their version, the union lists of all tasks
    states: dict[str, dict[str, bytes]] = {}
    token: str = ""
    unions: dict[str, list[dict[str, bytes]]] = {}
    #: the number of the round, where a micro-batch has several; -1 if it is the only one
    turn: int = -1


_plans = msgspec.json.Decoder(TaskPlan)


def encode_plan(plan: TaskPlan) -> bytes:
    """A task's plan as JSON."""
    return msgspec.json.encode(plan)


def decode_plan(content: bytes) -> TaskPlan:
    """The plan behind :func:`encode_plan`'s bytes."""
    return _plans.decode(content)


class IngressTask:
    """One task of the ingress."""

    def __init__(self, job: JobSpec, index: int) -> None:
        self.job = job
        self.index = index
        self._sources = {source.uid: source for source in job.sources}
        self._context = TaskContext(
            TaskPlace(
                index, job.max_parallelism, parameters=job.parameters, guarantee=job.guarantee
            ),
            handover=REUSING if job.object_reuse else COPYING,
        )
        self._task = Task(job, self._context)
        #: what consumes the records of the sources read so far, by the tags of their outputs
        self._consumers: dict[str, dict[str, list[Consumer]]] = {}
        self._token = ""
        #: how many records have been read
        self.records = 0

    def stale(self, plan: TaskPlan) -> bool:
        """Whether functions here hold operator state other than the plan's, because another worker
        has run this task since. Such a task must not be used again."""
        return bool(self._consumers) and plan.token != self._token

    def _add(self, uid: str) -> None:
        """Make and open the chain behind a source, when it is first read here. Chains that meet
        behind a union share the operators from there on."""
        if uid not in self._consumers:
            self._consumers[uid] = self._task.add_source(self._sources[uid])
            self._task.open()

    def run(self, plan: TaskPlan) -> Iterator[Envelope]:
        """Run one micro-batch: read what ``plan`` says, run the chains behind the sources, and
        yield envelopes for the stages and the driver."""
        yield from self._context.report.clock.within(self._run(plan))

    def _run(self, plan: TaskPlan) -> Iterator[Envelope]:
        self._context.state.operators.held = plan.states
        yield from self._round(plan)
        yield from self._checkpoint()
        if plan.task == 0 and self.job.stages:
            payload = encode_report(Tick(plan.now, plan.batch, plan.final, plan.unions))
            for slot in range(self.job.parallelism):
                yield Envelope(slot, 1, "", 0, "", 0, TICK, 0, payload)
        if plan.final:
            self.close()

    def take_states(self, states: dict[str, dict[str, bytes]]) -> None:
        """Begin with the operator ``states`` of the last checkpoint. Called before the first
        :meth:`round`."""
        self._context.state.operators.held = states

    def round(self, plan: TaskPlan) -> Iterator[Envelope]:
        """Run one of the rounds of a micro-batch, which :meth:`checkpoint` ends: read what ``plan``
        says, run the chains behind the sources, and yield envelopes for the stages, and for the
        driver where event time stands."""
        self._context.report.wake = None
        yield from self._context.report.clock.within(self._round(plan))

    def checkpoint(self) -> Iterator[Envelope]:
        """End a micro-batch after its last round: what the driver has to know of it."""
        yield from self._context.report.clock.within(self._checkpoint())

    @property
    def wake(self) -> int | None:
        """When the last round has wished for another one, None if it did not."""
        return self._context.report.wake

    def _round(self, plan: TaskPlan) -> Iterator[Envelope]:
        began = time.perf_counter()
        self._context.now = plan.now
        self._context.batch = plan.batch
        self._context.turn = plan.batch if plan.turn < 0 else plan.turn
        self._context.state.operators.unions = plan.unions
        unfinished: list[PartitionPlan] = []
        for partition in plan.partitions:
            yield from self._feed(partition)
            if self._task.holds_back:
                # what is under way need not be over before the next partition is read
                unfinished.append(partition)
            else:
                yield from self._finish(partition)
        for partition in unfinished:
            self._enter(partition)
            yield from self._finish(partition)
        self._task.finish()
        self._context.report.spent("ingress", time.perf_counter() - began)

    def _checkpoint(self) -> Iterator[Envelope]:
        yield from self._task.prepare()
        yield from self._snapshot()
        yield report(self._context)

    def close(self) -> None:
        """Close the functions, unless that is done; nothing is run here after this."""
        self._task.close()

    def _snapshot(self) -> Iterator[Envelope]:
        if not self._task.checkpointed:
            return
        self._task.snapshot()
        self._token = uuid.uuid4().hex
        states = self._context.state.operators
        told = OperatorReport((0, self.index), self._token, states.held, states.own_unions)
        yield to_driver(self.index, OPERATORS, "", encode_report(told))

    def _enter(self, plan: PartitionPlan) -> None:
        """Make the partition of ``plan`` the current one: records, cells and channels are its own
        from now on."""
        self._add(plan.source)
        self._context.state.cells = plan.cells
        self._task.start_channel(plan.source, partition_place(plan.source, plan.partition))

    def _feed(self, plan: PartitionPlan) -> Iterator[Envelope]:
        source, context = self._sources[plan.source], self._context
        self._enter(plan)
        consumers = self._consumers[plan.source]
        meter, clock = context.report.meters[plan.source], context.report.clock
        clock.switch(meter)
        place = plan.rank << RANK_SHIFT
        ordered = self.job.ordered
        for batch, rejected in self._read(source, plan.ranges):
            if ordered:
                batch.tick = np.arange(place, place + batch.size, dtype=np.int64)
            if rejected is not None:
                meter.records_in += rejected.size
                if ordered:
                    rejected.tick = np.full(rejected.size, place, dtype=np.int64)
                for consumer in consumers.get(DEAD_LETTERS.tag_id, ()):
                    consumer(rejected)
                if DEAD_LETTERS.tag_id in consumers:
                    meter.records_out += rejected.size
            place += batch.size
            self.records += batch.size
            meter.records_in += batch.size
            meter.records_out += batch.size
            context.report.count(f"read:{source.uid}", batch.size)
            if batch.size:
                for consumer in consumers[""]:
                    consumer(batch)
            yield from self._task.drain()
        clock.switch(clock.task)

    def _finish(self, plan: PartitionPlan) -> Iterator[Envelope]:
        mark = Mark(MAX_WATERMARK if plan.ended else MIN_WATERMARK)
        self._task.flush()
        yield from self._task.finish_channel(plan.source, mark)
        cells = encode_report((plan.source, plan.partition, self._context.state.cells))
        yield to_driver(self.index, CELLS, "", cells)

    def _read(self, source: SourceSpec, ranges: list[Any]) -> Iterator[tuple[Batch, Batch | None]]:
        """The records of all ranges, and what the source rejected on the way."""
        codec = None if source.type_info is None else ElementCodec.of_type(source.type_info)
        for what in ranges:
            batches = source.source.read(what)
            while True:
                began = time.perf_counter()
                try:
                    read = next(batches, None)
                except Exception as failure:
                    name = f"source {source.name}"
                    raise function_error(name, source.uid, "", NO_ELEMENT, failure) from failure
                self._context.report.spent("read", time.perf_counter() - began)
                if read is None:
                    break
                fault_point("read")
                if read.bytes_read:
                    self._context.report.count(f"read_bytes:{source.uid}", read.bytes_read)
                rejected = None
                if read.rejected:
                    self._context.report.count(f"rejected:{source.uid}", len(read.rejected))
                    rejected = Batch(read.rejected)
                yield self._batch(source, read, codec), rejected

    def _batch(self, source: SourceSpec, read: SourceBatch, codec: ElementCodec | None) -> Batch:
        if read.columns is None:
            return Batch(read.rows or [], codec=codec, ts=read.timestamps)
        if codec is None:
            form = "tuples" if source.source.as_tuples else "rows"
            form = form if source.source.relation is None else "relation"
            codec = ElementCodec.of_form(form, read.columns.schema)
        return Batch(None, columns=read.columns, codec=codec, ts=read.timestamps, kinds=read.kinds)
