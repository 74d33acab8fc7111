"""The commit protocol: how a micro-batch becomes part of history, whatever engine executes it.

A micro-batch here is any stretch of input at whose end the engine makes state durable; its number
is its name. The driver goes through these steps, in this order:

====  ====================================  =====================================================
step  what happens                          what a crash right after it leads to
====  ====================================  =====================================================
1     the plan is written                   the micro-batch has to be run, and reads what the
                                            plan says; its place in history is fixed
2     the engine executes it: tasks prepare
      state and what sinks will write, and  nothing of that counts: the tasks start again from
      send the driver envelopes             the state of the micro-batch before
2½    the messages of sinks that ask for it  the sinks commit with these messages when the job
      are written: the pledge               starts; it is run again, for the sake of the state
                                            and of other sinks
3     each sink commits, one after the      it is run again; sinks that have its mark find a
      other, under the number and the       repetition and change nothing, the others commit
      branch of the micro-batch
4     the epoch is written, under the       it is run again, and the same epoch is written again:
      number of the micro-batch             nobody reads the epoch of an uncommitted micro-batch
5     progress is told, and the sources     nothing is lost: both start again at zero
      learn how much was read
6     **the engine commits**: from here on  the job goes on after it
      state and epoch of the micro-batch
      are those to go on from
7     the sources are told that all before  they are told with the next micro-batch, or when the
      their position is durable, and        job starts and finds nothing left to do; the view is
      queries see the micro-batch           filled again
====  ====================================  =====================================================

Step 6 is the engine's own: Spark writes its commit log when the callback of the micro-batch
returns. All other steps are here. Two things make the order safe. Plans are written before sinks
hear of a micro-batch, so what a sink may hold without the checkpoint is one micro-batch, with the
same records when it is repeated. And the epoch is written before the engine commits, so a committed
micro-batch always has one.

An engine calls :meth:`CommitProtocol.start` once, then for each micro-batch
:meth:`CommitProtocol.plan`, :meth:`CommitProtocol.finish_batch` and, when it has committed,
:meth:`CommitProtocol.committed`.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.ledger import Ledger, Pledge
from scurry.common.fault_points import fault_point
from scurry.engine.histories import start_sinks
from scurry.engine.job import Job
from scurry.engine.pace import Pace
from scurry.engine.planner import BatchPlanner
from scurry.engine.progress import Progress, StopWatch
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.queryable.view import watermarks_of
from scurry.engine.standing import starting_point
from scurry.functions.fencing import Fence
from scurry.runtime.envelope import CELLS, COMMIT, FEED, OPERATORS, REPORT, Envelope
from scurry.runtime.ingress import TaskPlan
from scurry.runtime.report import decode_operators, decode_report
from scurry.state.feeds import Feed, decode_feed

_log = logging.getLogger("scurry.engine")


class Outrun(Exception):
    """The previous driver was taken for dead, was alive, and has planned more while this driver
    took over. By now the sinks refuse the previous driver. So when this driver takes over once
    more, it finds all that the previous one has done."""


@dataclass
class _Received:
    """What the tasks of a micro-batch have sent to the driver."""

    #: for each sink, what its writers have prepared
    messages: dict[str, list[Any]]
    reports: list[dict[str, Any]] = field(default_factory=list)
    #: what slots tell of queryable states
    feeds: list[Feed] = field(default_factory=list)


class CommitProtocol:
    """The driver's side of a job, from one start of the job to its end or its next failure."""

    #: whether each writer writes again what it wrote when a micro-batch is run again
    _repeats = True

    def __init__(
        self,
        job: Job,
        ledger: Ledger,
        progress: Progress,
        pace: Pace,
        lease: Fence | None = None,
        views: ViewKeeper | None = None,
    ) -> None:
        """Find out where the job stands; ``pace`` says how many records of each source are planned
        for a micro-batch, at most. No step is begun once another driver has the ``lease``. What
        slots tell of queryable states goes to ``views``."""
        self._ledger = ledger
        self._lease = lease or Fence()
        self._progress = progress
        self._sinks = {each.uid: each for each in job.sinks}
        #: measures the phases of each micro-batch; see :data:`scurry.engine.progress.PHASES`
        self.watch = progress.watch = StopWatch()
        found = starting_point(ledger, job.spec)
        #: the last micro-batch planned, and the last one that only the engine has to commit
        self.planned, self.finished = found.planned, found.committed
        self.planner = BatchPlanner(job.spec, pace.limit, found.epoch, found.committed)
        self._pace = pace
        #: what a driver has pledged for the micro-batch that has to be run again
        self._pledged = ledger.pledge_of(self.planned) if self.pending else {}
        self._views = views

    def start(self, checkpoint_id: str, checkpoint: str) -> None:
        """Start the sinks, before anything is planned or executed; ``checkpoint`` names the
        checkpoint in messages. Raises if one of them holds what the checkpoint does not know, and
        :class:`Outrun` if the checkpoint has to be taken over again."""
        history, sinks = self.planner.history, self._sinks.values()
        promised = self._ledger.promises(history.last)
        self._lease.check()
        pledge = Pledge(self.planned, self._pledged)
        try:
            start_sinks(
                *(sinks, checkpoint_id, history, checkpoint, self._lease, promised, pledge),
                written_again=self._repeats,
            )
        finally:
            if self._ledger.outrun():
                raise Outrun
        if promised:
            self._ledger.drop_promises(history.last)
        self._ledger.settle()
        if self.settled and self.planned >= 0:
            _log.warning(
                "All sources of the job had ended when %s was made, so there is nothing left to "
                "do. To run the job from the beginning, give it an empty directory.",
                checkpoint,
            )
            self.committed()
        if self._views is not None:
            self._views.running()
            if self._views.empty and self.finished >= 0:
                # there may be nothing to read for long, and queries wait for what slots have
                self.planner.wake_up()

    @property
    def pending(self) -> bool:
        """Whether there is a micro-batch that has a plan and is not finished."""
        return self.planned > self.finished

    @property
    def settled(self) -> bool:
        """Whether all sources have ended, and all that was planned is finished."""
        return self.planner.done and not self.pending

    def plan(self, batch: int, now: int | None = None) -> list[TaskPlan] | None:
        """Plan micro-batch ``batch`` and write the plan down; None if there is nothing to do yet.
        ``now`` is processing time, by default the clock's."""
        self.watch.lap("wait")
        tasks = self.planner.next(batch, now)
        if tasks is None:
            return None
        self._lease.check()
        self._ledger.write_plan(batch, tasks, self.planner.epoch(batch))
        self.planned = batch
        self.watch.lap("plan")
        fault_point("planned")
        return tasks

    def finish_batch(self, batch: int, envelopes: Iterable[Envelope]) -> None:
        """Micro-batch ``batch`` was executed, and ``envelopes`` are what has reached the driver:
        all that is left after this is the engine's commit."""
        received = self._receive(envelopes)
        self.watch.lap("execute")
        if self._views is not None:
            told = watermarks_of(received.reports)
            self._views.offer(batch, self.planner.now, received.feeds, told)
        fault_point("before-sinks")
        self._pledge(batch, received.messages)
        # sinks may hear of it only when its plan, and what precedes it, cannot be lost
        self._ledger.sync()
        self._commit_sinks(batch, received.messages)
        self.planner.take_wishes(received.reports)
        self.planner.take_inventory(received.reports)
        self._lease.check()
        self._write_epoch(self.planner.epoch(batch))
        phases = self.watch.take()
        took = sum(phases.get(phase, 0.0) for phase in ("execute", "commit", "epoch"))
        self._progress.take(batch, received.reports, took, phases)
        self.planner.observe(self._progress.last)
        read = [count for name, count in self._progress.last.items() if name.startswith("read:")]
        self.planner.max_records = self._pace.after(max(read, default=0), took, phases)
        self._progress.gauges.update(self.planner.gauges())
        self.finished = batch
        self._pledged = {}

    def _commit_sinks(self, batch: int, messages: Mapping[str, list[Any]]) -> None:
        """Have each sink commit what its writers have prepared."""
        for uid, sink in self._sinks.items():
            self._lease.check()
            (sink.commit if self._repeats else sink.commit_what_is_left)(
                batch, messages.get(uid, [])
            )
            self.watch.lap(f"commit {uid}", "commit")
            fault_point("between-sinks")
        fault_point("after-sinks")

    def _write_epoch(self, epoch: Epoch) -> None:
        self._ledger.write_epoch(epoch)
        fault_point("after-epoch")
        self.watch.lap("epoch")

    def _pledge(self, batch: int, messages: dict[str, list[Any]]) -> None:
        """Make durable what sinks are going to commit, where they ask for that. What was promised
        before, when the micro-batch was run for the first time, still holds."""
        for uid, pledged in self._pledged.items():
            if uid in self._sinks:
                messages[uid] = self._sinks[uid].sink.repeated(batch, pledged, messages[uid])
        asking = [uid for uid, each in self._sinks.items() if each.sink.promises]
        wanted = {uid: messages[uid] for uid in asking if messages[uid]}
        made = {**self._pledged, **wanted}
        if made != self._pledged:
            self._lease.check()
            self._ledger.write_pledge(Pledge(batch, made))
            self._pledged = made
            self.watch.lap("promise", "commit")
            fault_point("promised")

    def _receive(self, envelopes: Iterable[Envelope]) -> _Received:
        """Hand the envelopes to whom they are meant for."""
        found = _Received({uid: [] for uid in self._sinks})
        for envelope in envelopes:
            if envelope.kind == COMMIT:
                found.messages[envelope.dest].append(pickle.loads(envelope.payload))
            elif envelope.kind == CELLS:
                self.planner.remember(*decode_report(envelope.payload))
            elif envelope.kind == OPERATORS:
                self.planner.remember_operators(decode_operators(envelope.payload))
            elif envelope.kind == REPORT:
                found.reports.append(decode_report(envelope.payload))
            elif envelope.kind == FEED:
                found.feeds.append(decode_feed(envelope.payload))
            else:
                raise AssertionError(f"not meant for the driver: {envelope}")
        return found

    def committed(self) -> None:
        """The engine has committed the last finished micro-batch, and no other one is planned."""
        # a source may delete what is behind its position: not what another driver reads again
        self._lease.check()
        self._ledger.sync()
        self.planner.committed()
        if self._views is not None:
            self._views.commit()

    def abort(self) -> None:
        """The job failed: sinks throw away what was prepared and not committed."""
        # what is promised has to be there for the next attempt
        kept = set(self._pledged)
        for batch in (self.finished, self.finished + 1):
            kept |= self._ledger.promises(batch).keys()
        for uid, each in self._sinks.items():
            if uid not in kept:
                each.sink.abort(self.finished + 1)

    def close(self) -> None:
        """The job has ended, or starts again with another protocol."""
        self.planner.close()
