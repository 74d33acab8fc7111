"""A small engine of its own: whole programs in this process, without a JVM.

Ingress, hosts and journals are those of every engine, called in turn, and micro-batches are
committed by the same protocol (:mod:`scurry.engine.protocol`), into a checkpoint in memory.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from scurry.checkpoint.claims import claim_state, moved
from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.lease import World, claim
from scurry.checkpoint.lease_files import LeaseFiles, MemoryLeaseFiles
from scurry.checkpoint.ledger import standing_of
from scurry.common.job_metrics import JobMetrics
from scurry.compile.job import CompiledJob
from scurry.datastream.data_stream import DataStream
from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
from scurry.engine.job import Job
from scurry.engine.pace import Pace
from scurry.engine.planner import BatchPlanner
from scurry.engine.progress import Progress
from scurry.engine.protocol import CommitProtocol, Outrun
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.snapshot import take_snapshot
from scurry.engine.standing import carry_over
from scurry.engine.unpicklable import pickled
from scurry.runtime.envelope import Envelope
from scurry.runtime.host import SlotHost
from scurry.runtime.ingress import IngressTask, TaskPlan
from scurry.runtime.rescaling import deal_for, redeal_in_memory
from scurry.runtime.specs import JobSpec
from scurry.state.local.store import Store
from scurry.state.rescaling import Place
from scurry.testing.local_checkpoint import MemoryCheckpoint
from scurry.testing.sinks import ListSink

_PLENTY = 1 << 40
#: Where every process but the own one has died.
_RUTHLESS = World(beginning=lambda pid: uuid.uuid4().hex)


class LocalJob:
    """A compiled job, run micro-batch by micro-batch in this process.

    ``clock`` is processing time in milliseconds; it stands still unless changed between batches.
    With ``after`` this is another driver on the checkpoint of that job, which it takes for dead.
    Queryable states go to ``views``, if given.
    """

    def __init__(
        self,
        job: CompiledJob,
        clock: int = 0,
        after: LocalJob | None = None,
        views: ViewKeeper | None = None,
    ) -> None:
        self.clock = clock
        self._views = views
        self.checkpoint: MemoryCheckpoint
        self.checkpoint = MemoryCheckpoint() if after is None else after.checkpoint.after()
        self._checkpoint_id: str = uuid.uuid4().hex if after is None else after._checkpoint_id
        self._leases: LeaseFiles = MemoryLeaseFiles() if after is None else after._leases
        self.lease = claim(self._leases, "The local checkpoint", job.spec.name, world=_RUTHLESS)
        self._stores: dict[Place, Store] = {}
        self._hosts: dict[Place, SlotHost] = {}
        self._ingress: dict[int, IngressTask] = {}
        self._progress = Progress()
        self._directory = tempfile.TemporaryDirectory(prefix="scurry-local-")
        try:
            self._begin(job.runnable)
        except BaseException:
            self._directory.cleanup()
            raise

    def _begin(self, job: Job) -> None:
        """Start ``job`` from what is durable."""
        self._job = job
        rooms = Path(self._directory.name) / "rooms"
        job.take_rooms(lambda uid, anywhere: rooms / quote(uid, safe=""))
        last, view = self.checkpoint.last_epoch(), ""
        if self._views is not None:
            view = self._views.begin(-1 if last is None else last.batch, None)
        self._program = pickled(replace(job.spec, run_id="local", view=view))
        while True:
            self._protocol = self._protocol_of(job)
            try:
                self._protocol.start(self._checkpoint_id, "the local checkpoint")
                return
            except Outrun:
                self.checkpoint.take_over()

    def _protocol_of(self, job: Job) -> CommitProtocol:
        pace = Pace(_PLENTY, None)
        given = job, self.checkpoint, self._progress, pace, self.lease, self._views
        return CommitProtocol(*given)

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
    def batch(self) -> int:
        """The last planned micro-batch."""
        return self._protocol.planned

    @property
    def planner(self) -> BatchPlanner:
        """The driver's side of the sources."""
        return self._protocol.planner

    @property
    def done(self) -> bool:
        """Whether all sources have ended and all their records were processed."""
        return self._protocol.settled

    def step(self, max_records: int = _PLENTY) -> bool:
        """Run one micro-batch of at most so many records per source; False if there is nothing."""
        if not self.plan_step(max_records):
            return False
        self._protocol.finish_batch(self.batch, self._execute())
        self.checkpoint.commit(self.batch)
        self._protocol.committed()
        return True

    def plan_step(self, max_records: int = _PLENTY) -> bool:
        """Plan a micro-batch, which the next :meth:`step` executes, unless that has been done;
        False if there is nothing."""
        self.planner.max_records = max_records
        pending = self._protocol.pending
        return pending or self._protocol.plan(self.batch + 1, self.clock) is not None

    def copy_checkpoint(self) -> MemoryCheckpoint:
        """What a copy of the job's checkpoint, made now, would hold."""
        return self.checkpoint.copied()

    def go_back(self, to: MemoryCheckpoint, job: CompiledJob | None = None) -> None:
        """Restart from a copy of the checkpoint, perhaps as ``job``, the program built anew; the
        sinks still hold what they have been given since the copy was made."""
        self.checkpoint = to.copied()
        self._start_again(self._job if job is None else job.runnable)

    def recover(self) -> None:
        """Start again after a failure of the driver, from what is durable."""
        self.checkpoint.roll_back()
        self.restart()
        self._protocol.close()
        self._begin(self._job)

    def crash_step(self, max_records: int = _PLENTY) -> bool:
        """Run a micro-batch whose commit never happens, then run it again as after a crash."""
        if not self.plan_step(max_records):
            return False
        self._execute()
        self.recover()
        return self.step(max_records)

    def rescale(self, job: CompiledJob) -> None:
        """Restart as ``job``, the same program compiled with another parallelism; refused, as on
        Spark, if state would be where its operator no longer runs."""
        self._move_to(self._claiming(job))

    def crash_and_rescale_step(self, job: CompiledJob, max_records: int = _PLENTY) -> bool:
        """Run a micro-batch whose commit never happens, and run it again as ``job``."""
        runnable = self._claiming(job)
        if not self.plan_step(max_records):
            return False
        self._execute()
        self.checkpoint.roll_back()
        self._move_to(runnable)
        return self.step(max_records)

    def continue_as(
        self,
        job: CompiledJob,
        allow_non_restored_state: bool = False,
        allow_dropped: Collection[str] = (),
    ) -> None:
        """Restart as ``job``, a changed program, as a job on Spark does on its checkpoint."""
        runnable = self._claiming(job, allow_non_restored_state, allow_dropped)
        before, after, epoch = self._job.spec, runnable.spec, self.checkpoint.last_epoch()
        same = before.parallelism == after.parallelism and len(before.stages) == len(after.stages)
        same = same and before.max_parallelism == after.max_parallelism
        if same and (epoch is None or not moved(after, epoch)):
            self._start_again(runnable)
        else:
            self._move_to(runnable)

    def _claiming(
        self,
        job: CompiledJob,
        allow_non_restored_state: bool = False,
        allow_dropped: Collection[str] = (),
    ) -> Job:
        """``job``, if it may go on with the state that there is."""
        after = job.spec
        standing = standing_of(self.checkpoint, "memory")
        if standing is not None:
            after = claim_state(after, standing, allow_non_restored_state, allow_dropped)
        return replace(job.runnable, spec=after)

    def _move_to(self, job: Job) -> None:
        """Start again with another parallelism, or with other stages."""
        before, after = self._job.spec, job.spec
        held = dict(sorted(self.checkpoint.journals.items()))
        dealt = redeal_in_memory(held, deal_for(after, before.max_parallelism), before.degrees)
        self.checkpoint.move(dealt, carry_over(self.checkpoint, after))
        self._start_again(job)

    def _start_again(self, job: Job) -> None:
        self.restart(lose_local_state=True)
        self._protocol.close()
        self._begin(job)

    def restart(self, lose_local_state: bool = False) -> None:
        """Throw away all that workers hold in memory, and if told so their local stores; functions
        are closed."""
        self._close_functions()
        if lose_local_state:
            for store in self._stores.values():
                store.reset()

    def epoch(self) -> Epoch:
        """Where the sources stand."""
        return self.planner.epoch(self.batch)

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """What functions counted and measured, as ``JobClient.get_metrics`` gives it."""
        return self._progress.metrics.by_operator(self._job.spec.operators)

    @property
    def job_metrics(self) -> JobMetrics:
        """All metrics, as ``JobClient.get_job_metrics`` gives them."""
        return take_snapshot(self._progress, self._job)

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
        for plan in self.checkpoint.tasks_of_plan(self.batch):
            envelopes.extend(self._reader(plan).run(plan))
        for stage in range(1, len(self._job.spec.stages) + 1):
            envelopes = list(self._run_stage(stage, envelopes))
        return envelopes

    def _reader(self, plan: TaskPlan) -> IngressTask:
        """The task of the ingress that ``plan`` is for."""
        task = self._ingress.get(plan.task)
        if task is not None and task.stale(plan):
            task.close()
            task = None
        if task is None:
            task = self._ingress[plan.task] = IngressTask(self._load(), plan.task)
        return task

    def _load(self) -> JobSpec:
        job: JobSpec = self._program.load()[0]
        return job

    def _run_stage(self, stage: int, envelopes: list[Envelope]) -> Iterator[Envelope]:
        slots = self._job.spec.parallelism
        for slot in range(slots):
            mine = [envelope for envelope in envelopes if envelope.slot % slots == slot]
            journal = self.checkpoint.journal(Place(stage, slot))
            # the order in which Spark delivers envelopes is not defined
            yield from self._host(stage, slot).run(reversed(mine), journal)

    def _host(self, stage: int, slot: int) -> SlotHost:
        place = Place(stage, slot)
        if place not in self._hosts:
            job = self._load()
            if place not in self._stores:
                path = Path(self._directory.name) / f"{stage}-{slot}"
                self._stores[place] = job.state.local_store(path)
            store = job.state.slot_store(self._stores[place], job.max_parallelism)
            self._hosts[place] = SlotHost(job, stage, slot, store)
        return self._hosts[place]

    def _close_functions(self) -> None:
        """Close all instances of functions; what they raise after a failure is of no interest."""
        tasks: list[IngressTask | SlotHost] = [*self._ingress.values(), *self._hosts.values()]
        for task in tasks:
            with contextlib.suppress(Exception):
                task.close()
        self._ingress.clear()
        self._hosts.clear()

    def close(self) -> None:
        """Close functions, release files, and let the sinks know that the job has ended."""
        self._close_functions()
        self._protocol.close()
        for store in self._stores.values():
            store.close()
        for each in self._job.sinks:
            each.sink.close()
        self._directory.cleanup()


def run_local(
    environment: StreamExecutionEnvironment,
    cuts: int | Iterable[int] | None = None,
    crash: Iterable[int] = (),
    restart: Iterable[int] = (),
    rescale: Mapping[int, int] | None = None,
    rounds: int = 0,
) -> None:
    """Run the environment's program to the end of its bounded sources.

    ``cuts`` are the sizes of the micro-batches (one number for all, or one after the other, the
    last repeating); batches numbered in ``crash`` are run, lost and run again; before those in
    ``restart`` all memory and all local state is thrown away. Before the batches that ``rescale``
    names the job is restarted with the parallelism given there; if such a batch is one of
    ``crash``, between the run that is lost and the one that counts.

    With ``rounds`` the program is run as the live engine runs it: so many rounds are a micro-batch,
    and ``cuts`` are the sizes of rounds.
    """
    crashing, restarting, degrees = set(crash), set(restart), rescale or {}
    from scurry.testing.local_rounds import LocalRounds

    compiled = environment._compile(None)
    with LocalRounds(compiled, rounds=rounds) if rounds else LocalJob(compiled) as job:
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
    rounds: int = 0,
) -> list[Any]:
    """Run the program and return the elements of ``stream``; see :func:`run_local`."""
    sink = ListSink()
    stream.sink_to(sink)
    environment = stream.get_execution_environment()
    run_local(environment, cuts, crash, restart, rescale, rounds)
    return sink.values


def _sizes(cuts: int | Iterable[int] | None) -> Iterator[int]:
    if cuts is None:
        return itertools.repeat(_PLENTY)
    if isinstance(cuts, int):
        return itertools.repeat(cuts)
    sizes = list(cuts)
    return itertools.chain(sizes, itertools.repeat(sizes[-1]))
