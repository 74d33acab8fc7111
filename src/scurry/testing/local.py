"""Whole programs without a JVM: the same ingress, hosts and journals, called in turn."""

from __future__ import annotations

import copy
import itertools
import pickle
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import cloudpickle
import msgspec

from scurry.checkpoint.claims import Standing, claim_state
from scurry.checkpoint.epochs import Epoch, after_forgetting, decode_epoch, rescaled
from scurry.compile.job import CompiledJob
from scurry.datastream.data_stream import DataStream
from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
from scurry.engine.histories import start_sinks
from scurry.engine.planner import BatchPlanner, deal_again
from scurry.runtime.envelope import CELLS, COMMIT, DRIVER, OPERATORS, REPORT, Envelope
from scurry.runtime.host import SlotHost
from scurry.runtime.ingress import IngressTask, decode_plan, encode_plan
from scurry.runtime.metrics import MetricTotals
from scurry.runtime.report import decode_operators, decode_report
from scurry.runtime.rescaling import rescale_in_memory, rule_of
from scurry.runtime.specs import JobSpec
from scurry.state.journal import MemoryJournal
from scurry.state.local.store import Store
from scurry.state.rescaling import Deal
from scurry.testing.sinks import ListSink

_PLENTY = 1 << 40


@dataclass(frozen=True)
class CheckpointCopy:
    """A copy of the checkpoint of a :class:`LocalJob`."""

    epoch: bytes
    journals: dict[tuple[int, int], MemoryJournal]
    #: the plan of a micro-batch that was not executed yet
    lines: list[bytes]


class LocalJob:
    """A compiled job, run micro-batch by micro-batch in this process.

    ``clock`` is processing time in milliseconds; it stands still unless changed between batches.
    """

    def __init__(self, job: CompiledJob, clock: int = 0) -> None:
        self.clock = clock
        self.batch = -1
        self._job = job
        self._content = cloudpickle.dumps(replace(job.spec, run_id="local"))
        self._sinks = {each.uid: each for each in job.sinks}
        self._planner = BatchPlanner(job.spec, _PLENTY)
        self._checkpoint_id = uuid.uuid4().hex
        self._start_sinks()
        self._journals: dict[tuple[int, int], MemoryJournal] = {}
        self._stores: dict[tuple[int, int], Store] = {}
        self._hosts: dict[tuple[int, int], SlotHost] = {}
        self._ingress: dict[int, IngressTask] = {}
        self._metrics = MetricTotals()
        self._lines: list[bytes] = []
        #: whether the last planned micro-batch waits to be executed
        self._pending = False
        self._directory = tempfile.TemporaryDirectory(prefix="scurry-local-")

    def _start_sinks(self) -> None:
        history = self._planner.history
        start_sinks(self._sinks.values(), self._checkpoint_id, history, "the local checkpoint")

    def __enter__(self) -> LocalJob:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def done(self) -> bool:
        """Whether all sources have ended and all their records were processed."""
        return self._planner.done

    def step(self, max_records: int = _PLENTY) -> bool:
        """Run one micro-batch of at most so many records per source; False if there is nothing."""
        if not self._pending and not self._plan(max_records):
            return False
        self._pending = False
        self._commit(self._execute())
        return True

    def plan_step(self, max_records: int = _PLENTY) -> bool:
        """Plan a micro-batch, which the next :meth:`step` executes; False if there is nothing."""
        self._pending = self._plan(max_records)
        return self._pending

    def copy_checkpoint(self) -> CheckpointCopy:
        """What a copy of the job's checkpoint, made now, would hold."""
        return CheckpointCopy(
            msgspec.json.encode(self.epoch()),
            {place: copy.deepcopy(journal) for place, journal in self._journals.items()},
            list(self._lines) if self._pending else [],
        )

    def go_back(self, to: CheckpointCopy, job: CompiledJob | None = None) -> None:
        """Restart from a copy of the checkpoint, perhaps as ``job``, the program built anew; the
        sinks still hold what they have been given since the copy was made."""
        self.restart(lose_local_state=True)
        self._planner.close()
        self._job = job or self._job
        self._content = cloudpickle.dumps(replace(self._job.spec, run_id="local"))
        self._sinks = {each.uid: each for each in self._job.sinks}
        self._journals = copy.deepcopy(to.journals)
        self._lines, self._pending = list(to.lines), bool(to.lines)
        epoch = decode_epoch(to.epoch)
        self.batch = epoch.batch
        last = epoch.batch - self._pending
        self._planner = BatchPlanner(self._job.spec, _PLENTY, epoch, last)
        self._start_sinks()

    def crash_step(self, max_records: int = _PLENTY) -> bool:
        """Run a micro-batch whose commit never happens, then run it again as after a crash."""
        if not self._plan(max_records):
            return False
        before = {place: copy.deepcopy(journal) for place, journal in self._journals.items()}
        self._execute()
        self._journals = before
        self.restart()
        self._commit(self._execute())
        return True

    def rescale(self, job: CompiledJob) -> None:
        """Restart as ``job``, the same program compiled with another parallelism."""
        self._move_to(job, rescaled(self.epoch(), job.spec), self.batch)

    def crash_and_rescale_step(self, job: CompiledJob, max_records: int = _PLENTY) -> bool:
        """Run a micro-batch whose commit never happens, and run it again as ``job``."""
        if not self._plan(max_records):
            return False
        before = {place: copy.deepcopy(journal) for place, journal in self._journals.items()}
        self._execute()
        self._journals = before
        planned = rescaled(self.epoch(), job.spec)
        plans = deal_again([decode_plan(line) for line in self._lines], job.spec, planned)
        self._move_to(job, planned, self.batch - 1)
        self._lines = [encode_plan(plan) for plan in plans]
        self._commit(self._execute())
        return True

    def continue_as(self, job: CompiledJob, allow_non_restored_state: bool = False) -> None:
        """Restart as ``job``, a changed program, as a job on Spark does on its checkpoint."""
        before, after = self._job.spec, job.spec
        if len(before.stages) != len(after.stages):
            raise ValueError(
                f"A job of {len(before.stages)} stages cannot go on as one of {len(after.stages)}: "
                "a checkpoint keeps its number of stages."
            )
        standing = Standing("memory", self.epoch(), self.batch + 1)
        after = claim_state(after, standing, allow_non_restored_state)
        self._sinks = {each.uid: each for each in job.sinks}
        epoch = after_forgetting(self.epoch(), after)
        if before.parallelism == after.parallelism:
            self._go_on(replace(job, spec=after), epoch, self.batch)
        else:
            self._move_to(replace(job, spec=after), rescaled(epoch, after), self.batch)

    def _move_to(self, job: CompiledJob, epoch: Epoch, last: int) -> None:
        before, after = self._job.spec, job.spec
        deal = Deal(after.parallelism, after.max_parallelism, after.degrees, rule_of)
        held, self._journals = self._journals, {}
        for stage in range(1, len(after.stages) + 1):
            journals = {slot: held[at, slot] for at, slot in sorted(held) if at == stage}
            for slot, journal in enumerate(rescale_in_memory(journals, deal, before.degrees)):
                self._journals[stage, slot] = journal
        self._go_on(job, epoch, last)

    def _go_on(self, job: CompiledJob, epoch: Epoch, last: int) -> None:
        self.restart(lose_local_state=True)
        self._planner.close()
        self._job = job
        self._content = cloudpickle.dumps(replace(job.spec, run_id="local"))
        self._planner = BatchPlanner(job.spec, _PLENTY, epoch, last)
        self._start_sinks()

    def _plan(self, max_records: int) -> bool:
        self._planner.max_records = max_records
        tasks = self._planner.next(self.batch + 1, self.clock)
        if tasks is None:
            return False
        self.batch += 1
        self._lines = [encode_plan(task) for task in tasks]
        return True

    def restart(self, lose_local_state: bool = False) -> None:
        """Throw away all that workers hold in memory, and if told so their local stores."""
        self._ingress.clear()
        self._hosts.clear()
        if lose_local_state:
            for store in self._stores.values():
                store.reset()

    def epoch(self) -> Epoch:
        """Where the sources stand."""
        return self._planner.epoch(self.batch)

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """What functions counted and measured, as ``JobClient.get_metrics`` gives it."""
        return self._metrics.by_operator(self._job.spec.operators)

    def state(self, uid: str, name: str) -> dict[Any, Any]:
        """All keys and values of a state, as of the last micro-batch."""
        found: dict[Any, Any] = {}
        for host in self._hosts.values():
            host.store.local.begin()
            found.update(host.store.table(uid, name).items())
            host.store.local.end()
        return found

    def _execute(self) -> list[Envelope]:
        envelopes: list[Envelope] = []
        for line in self._lines:
            plan = decode_plan(line)
            task = self._ingress.get(plan.task)
            if task is None or task.stale(plan):
                task = self._ingress[plan.task] = IngressTask(self._load(), plan.task)
            envelopes.extend(task.run(plan))
        for stage in range(1, len(self._job.spec.stages) + 1):
            envelopes = list(self._run_stage(stage, envelopes))
        return envelopes

    def _load(self) -> JobSpec:
        job: JobSpec = pickle.loads(self._content)
        return job

    def _run_stage(self, stage: int, envelopes: list[Envelope]) -> Iterator[Envelope]:
        slots = self._job.spec.parallelism
        for slot in range(slots):
            mine = [envelope for envelope in envelopes if envelope.slot % slots == slot]
            journal = self._journals.setdefault((stage, slot), MemoryJournal())
            # the order in which Spark delivers envelopes is not defined
            yield from self._host(stage, slot).run(reversed(mine), journal)

    def _host(self, stage: int, slot: int) -> SlotHost:
        place = (stage, slot)
        if place not in self._hosts:
            job = self._load()
            if place not in self._stores:
                path = Path(self._directory.name) / f"{stage}-{slot}"
                self._stores[place] = job.state.local_store(path)
            store = job.state.slot_store(self._stores[place], job.max_parallelism)
            self._hosts[place] = SlotHost(job, stage, slot, store)
        return self._hosts[place]

    def _commit(self, envelopes: list[Envelope]) -> None:
        messages: dict[str, list[Any]] = {uid: [] for uid in self._sinks}
        reports: list[dict[str, Any]] = []
        for envelope in envelopes:
            assert envelope.stage == DRIVER, envelope
            if envelope.kind == COMMIT:
                messages[envelope.dest].append(pickle.loads(envelope.payload))
            elif envelope.kind == CELLS:
                self._planner.remember(*decode_report(envelope.payload))
            elif envelope.kind == OPERATORS:
                self._planner.remember_operators(decode_operators(envelope.payload))
            elif envelope.kind == REPORT:
                reports.append(decode_report(envelope.payload))
        self._planner.take_wishes(reports)
        self._planner.take_inventory(reports)
        self._metrics.take(reports)
        for uid, sink in self._sinks.items():
            sink.commit(self.batch, messages[uid])
        counted = Counter[str]()
        for report in reports:
            counted.update(report["counters"])
        self._planner.observe(counted)
        self._planner.committed()

    def close(self) -> None:
        """Release files, and let the sinks know that the job has ended."""
        self._planner.close()
        for store in self._stores.values():
            store.close()
        for each in self._sinks.values():
            each.sink.close()
        self._directory.cleanup()


def run_local(
    environment: StreamExecutionEnvironment,
    cuts: int | Iterable[int] | None = None,
    crash: Iterable[int] = (),
    restart: Iterable[int] = (),
    rescale: Mapping[int, int] | None = None,
) -> None:
    """Run the environment's program to the end of its bounded sources.

    ``cuts`` are the sizes of the micro-batches (one number for all, or one after the other, the
    last repeating); batches numbered in ``crash`` are run, lost and run again; before those in
    ``restart`` all memory and all local state is thrown away. Before the batches that ``rescale``
    names the job is restarted with the parallelism given there; if such a batch is one of
    ``crash``, between the run that is lost and the one that counts.
    """
    crashing, restarting, degrees = set(crash), set(restart), rescale or {}
    with LocalJob(environment._compile(None)) as job:
        for size in _sizes(cuts):
            batch = job.batch + 1
            if batch in restarting:
                job.restart(lose_local_state=True)
            advance = job.crash_step if batch in crashing else job.step
            if batch in degrees and not job.done:
                other = environment.set_parallelism(degrees[batch])._compile(None)
                if batch in crashing:
                    advance = partial(job.crash_and_rescale_step, other)
                else:
                    job.rescale(other)
            if job.done or not advance(size):
                break
    environment.close()


def collect_local(
    stream: DataStream,
    cuts: int | Iterable[int] | None = None,
    crash: Iterable[int] = (),
    restart: Iterable[int] = (),
    rescale: Mapping[int, int] | None = None,
) -> list[Any]:
    """Run the program and return the elements of ``stream``; see :func:`run_local`."""
    sink = ListSink()
    stream.sink_to(sink)
    run_local(stream.get_execution_environment(), cuts, crash, restart, rescale)
    return sink.values


def _sizes(cuts: int | Iterable[int] | None) -> Iterator[int]:
    if cuts is None:
        return itertools.repeat(_PLENTY)
    if isinstance(cuts, int):
        return itertools.repeat(cuts)
    sizes = list(cuts)
    return itertools.chain(sizes, itertools.repeat(sizes[-1]))
