"""The ingress: reads the sources and runs the operators chained to them.

A micro-batch is described by a :class:`BatchPlan`, decided by the driver and written down before
anything is read. Every task of the ingress gets its share: for each source partition the ranges to
read, and the cells (highest timestamp seen and the like) as the last batch left them. What the
cells have become goes back to the driver, which puts them into the next plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from scurry.common.fault_points import fault_point
from scurry.functions.source import SourceBatch
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, RANK_SHIFT, Batch
from scurry.runtime.columns import ElementCodec
from scurry.runtime.envelope import CELLS, TICK, Envelope
from scurry.runtime.failures import NO_ELEMENT, function_error
from scurry.runtime.operator import Consumer, TaskContext
from scurry.runtime.report import Tick, encode_report
from scurry.runtime.specs import JobSpec, SourceSpec
from scurry.runtime.task import Task, report, to_driver


class PartitionPlan(msgspec.Struct):
    """What one micro-batch reads of one source partition."""

    source: str
    partition: str
    rank: int
    ranges: list[Any]
    cells: dict[str, int]
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


_plans = msgspec.json.Decoder(TaskPlan)


def encode_plan(plan: TaskPlan) -> bytes:
    """A task's plan as JSON."""
    return msgspec.json.encode(plan)


def decode_plan(content: bytes) -> TaskPlan:
    """The plan behind :func:`encode_plan`'s bytes."""
    return _plans.decode(content)


def plan_file(plans: str, batch: int, task: int) -> Path:
    """Where in the directory ``plans`` the plan of a task of a micro-batch lies."""
    return Path(plans, f"{batch:09d}", str(task))


class IngressTask:
    """One task of the ingress."""

    def __init__(self, job: JobSpec, index: int) -> None:
        self.job = job
        self.index = index
        self._sources = {source.uid: source for source in job.sources}
        self._context = TaskContext(
            index,
            job.parallelism,
            job.max_parallelism,
            parameters=job.parameters,
            guarantee=job.guarantee,
        )
        self._tasks: dict[str, tuple[Task, list[Consumer]]] = {}

    def _task(self, uid: str) -> tuple[Task, list[Consumer]]:
        if uid not in self._tasks:
            task = Task(self.job, self._context)
            consumers = task.add_source(self._sources[uid])
            task.open()
            self._tasks[uid] = (task, consumers)
        return self._tasks[uid]

    def run(self, plan: TaskPlan) -> Iterator[Envelope]:
        """One micro-batch."""
        self._context.now = plan.now
        self._context.batch = plan.batch
        for partition in plan.partitions:
            yield from self._run_partition(partition)
        for task, _ in self._tasks.values():
            yield from task.finish()
        yield report(self._context)
        if plan.task == 0 and self.job.stages:
            payload = encode_report(Tick(plan.now, plan.batch, plan.final))
            for slot in range(self.job.parallelism):
                yield Envelope(slot, 1, "", 0, "", 0, TICK, 0, payload)
        if plan.final:
            for task, _ in self._tasks.values():
                task.close()

    def _run_partition(self, plan: PartitionPlan) -> Iterator[Envelope]:
        source = self._sources[plan.source]
        task, consumers = self._task(plan.source)
        context = self._context
        context.cells = plan.cells
        task.start_channel(plan.partition)
        place = plan.rank << RANK_SHIFT
        for batch in self._read(source, plan.ranges):
            if self.job.options.get("ordered"):
                batch.tick = np.arange(place, place + batch.size, dtype=np.int64)
            place += batch.size
            context.count(f"read:{source.uid}", batch.size)
            for consumer in consumers:
                consumer(batch)
            yield from task.drain()
            fault_point("read")
        mark = MAX_WATERMARK if plan.ended else MIN_WATERMARK
        yield from task.finish_channel({source.uid: mark})
        cells = encode_report((plan.source, plan.partition, context.cells))
        yield to_driver(self.index, CELLS, "", cells)

    def _read(self, source: SourceSpec, ranges: list[Any]) -> Iterator[Batch]:
        codec = None if source.type_info is None else ElementCodec.of_type(source.type_info)
        for what in ranges:
            batches = source.source.read(what)
            while True:
                try:
                    read = next(batches, None)
                except Exception as failure:
                    name = f"source {source.name}"
                    raise function_error(name, source.uid, "", NO_ELEMENT, failure) from failure
                if read is None:
                    break
                yield self._batch(source, read, codec)

    def _batch(self, source: SourceSpec, read: SourceBatch, codec: ElementCodec | None) -> Batch:
        if read.columns is None:
            return Batch(read.rows or [], codec=codec, ts=read.timestamps)
        if codec is None:
            form = "tuples" if source.source.as_tuples else "rows"
            codec = ElementCodec.of_form(form, read.columns.schema)
        return Batch(None, columns=read.columns, codec=codec, ts=read.timestamps)
