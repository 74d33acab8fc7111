"""The commit protocol of an engine whose micro-batches have several rounds.

In a *round* every task reads what there is and hands on what comes of it; nothing is made durable.
Every now and then a round is *marked*: the micro-batch ends with it, and what the tasks have then
is a checkpoint. Rounds after it, which belong to the next micro-batch, may be under way before the
checkpoint is complete.

What a round reads is not written down before, so a round that is run again after a crash need not
read the same records, nor are its results the same. That is why the order of steps is another one
than in :mod:`scurry.engine.protocol`: what sinks have prepared is made durable together with the
epoch, and only then do they commit it.

====  ====================================  =====================================================
step  what happens                          what a crash right after it leads to
====  ====================================  =====================================================
1     rounds are planned and executed       nothing of them counts: the job goes on after the last
                                            checkpoint
2     a round is marked: tasks write state
      and sinks prepare what they were      nothing of that counts, and sinks throw away what they
      given, and tell the driver            have prepared
3     what sinks have prepared is written   the same
4     **the epoch is written**: from here   the job goes on after it, and sinks are told to commit
      on the checkpoint counts, and         what they had prepared
      queries see it
5     each sink commits, one after the      those that have the mark of the micro-batch find a
      other, under its number and branch    repetition and change nothing, the others commit
6     what they had prepared is deleted;    nothing: the sources are told with the next one
      the sources are told that all before
      their positions in it is durable
====  ====================================  =====================================================

An engine calls :meth:`RoundProtocol.start` once, then :meth:`RoundProtocol.plan_round` for each
round, :meth:`RoundProtocol.mark` after planning one that is to be the last of its micro-batch, and
:meth:`RoundProtocol.finish` when all tasks have told what they have to tell of that one. Or it
calls the three parts of ``finish`` by themselves, the middle one in another thread, so that rounds
go on while disks and sinks take their time.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from scurry.checkpoint.epochs import Epoch, decode_epoch
from scurry.checkpoint.file_journal import StoredHead
from scurry.checkpoint.ledger import Ledger, Promises
from scurry.common.fault_points import fault_point
from scurry.engine.job import Job
from scurry.engine.pace import Pace
from scurry.engine.planner import earliest_wish
from scurry.engine.progress import Progress
from scurry.engine.protocol import CommitProtocol
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.queryable.view import watermarks_of
from scurry.functions.fencing import Fence
from scurry.runtime.envelope import CELLS, COMMIT, FEED, OPERATORS, REPORT, Envelope
from scurry.runtime.ingress import TaskPlan
from scurry.runtime.report import decode_operators, decode_report
from scurry.state.feeds import Feed, decode_feed


@dataclass(frozen=True)
class Ending:
    """What tasks have told of a micro-batch that has to be committed."""

    epoch: Epoch
    #: what sinks have prepared
    prepared: Promises
    reports: list[dict[str, Any]]
    #: what slots tell of queryable states
    feeds: list[Feed]


class RoundProtocol(CommitProtocol):
    """The driver's side of a job of rounds, from one start of the job to its end or its next
    failure."""

    # what an engine of micro-batches has planned is run again in rounds, by other writers
    _repeats = False

    def __init__(
        self,
        job: Job,
        ledger: Ledger,
        progress: Progress,
        pace: Pace,
        lease: Fence | None = None,
        views: ViewKeeper | None = None,
    ) -> None:
        super().__init__(job, ledger, progress, pace, lease, views)
        #: the micro-batch that rounds are planned for
        self.batch = self.finished + 1
        #: whether this round is the plan of an earlier engine, which sinks may have committed
        self._repeat = self.pending
        self._must_mark = False
        self._turn = 0
        self._marked: dict[int, Epoch] = {}

    def start(self, checkpoint_id: str, checkpoint: str) -> None:
        super().start(checkpoint_id, checkpoint)
        # an attempt that ended before its epoch was written has promised what nobody is to commit;
        # the next epoch of that number may be one for which sinks prepare nothing
        if self._ledger.promises(self.batch):
            self._ledger.drop_promises(self.batch)

    @property
    def ending(self) -> bool:
        """Whether the last round that was planned has to be marked, because nothing follows it, or
        because it is what an earlier engine had planned as a whole micro-batch."""
        return self.planner.done or self._must_mark

    def plan_round(self, force: bool = False, now: int | None = None) -> list[TaskPlan] | None:
        """What tasks read in the next round, None if there is nothing to do yet; with ``force``
        there is a round all the same. ``now`` is processing time, by default the clock's."""
        self._must_mark = False
        if self._repeat:
            self._repeat, self._must_mark = False, True
            tasks: list[TaskPlan] | None = self._ledger.tasks_of_plan(self.batch)
        else:
            tasks = self.planner.next(self.batch, now, force)
        if tasks is None:
            return None
        self._turn += 1
        for task in tasks:
            task.turn = self._turn
        self.planned = self.batch
        return tasks

    def mark(self) -> int:
        """The round that was planned last is the last one of its micro-batch; the number of the
        micro-batch."""
        batch = self.batch
        self._marked[batch] = decode_epoch(msgspec.json.encode(self.planner.epoch(batch)))
        self.batch += 1
        return batch

    def take_round(self, envelopes: Iterable[Envelope], wishes: Iterable[int]) -> None:
        """A round is over everywhere: where event time stands in the source partitions, and when
        tasks wish for another round."""
        for envelope in envelopes:
            self.planner.remember(*decode_report(envelope.payload))
        self.planner.wake_at(min(wishes, default=None))

    def finish(
        self, batch: int, envelopes: Iterable[Envelope], journals: Mapping[str, StoredHead]
    ) -> None:
        """All tasks are done with the marked round of micro-batch ``batch``: ``envelopes`` are what
        they tell the driver, ``journals`` the journals of all slots."""
        ending = self.gather(batch, envelopes, journals)
        self.commit(ending)
        self.conclude(ending)

    def gather(
        self, batch: int, envelopes: Iterable[Envelope], journals: Mapping[str, StoredHead]
    ) -> Ending:
        """The first part of :meth:`finish`: what has to be committed."""
        epoch = self._marked.pop(batch)
        prepared, reports, feeds = self._told(envelopes, epoch)
        self.planner.warn(reports)
        self.planner.take_inventory(reports)
        now = self.planner.epoch(batch)
        epoch.operators, epoch.inventory = now.operators, now.inventory
        epoch.wake = earliest_wish(reports)
        epoch.journals = dict(journals)
        self.watch.lap("execute")
        return Ending(epoch, prepared, reports, feeds)

    def commit(self, ending: Ending) -> None:
        """The second part of :meth:`finish`, which waits for disks and sinks. It touches nothing
        that planning needs, so rounds may be planned in another thread meanwhile."""
        epoch, prepared, batch = ending.epoch, ending.prepared, ending.epoch.batch
        if self._views is not None:
            told = watermarks_of(ending.reports)
            self._views.offer(batch, epoch.now, ending.feeds, told)
        self._lease.check()
        if prepared:
            # two files, one after the other, of which the disk makes one piece of work
            self._ledger.draft_epoch(epoch)
            self._ledger.write_promises(batch, prepared)
        fault_point("before-epoch")
        self._ledger.sync()
        self._write_epoch(epoch)
        self._ledger.sync()
        if self._views is not None:
            self._views.commit()
        messages = {uid: [pickle.loads(each) for each in held] for uid, held in prepared.items()}
        self._commit_sinks(batch, messages)
        self._ledger.drop_promises(batch)
        # a source may delete what is behind its position: not what another driver reads again
        self._lease.check()

    def conclude(self, ending: Ending) -> None:
        """The last part of :meth:`finish`: sources and progress learn of what is committed."""
        self.planner.committed(ending.epoch.positions)
        self._tell(ending.epoch.batch, ending.reports)
        self.finished = ending.epoch.batch

    def _told(
        self, envelopes: Iterable[Envelope], epoch: Epoch
    ) -> tuple[Promises, list[dict[str, Any]], list[Feed]]:
        """Hand the envelopes to whom they are meant for; cells are those of ``epoch``."""
        prepared: Promises = {}
        reports: list[dict[str, Any]] = []
        feeds: list[Feed] = []
        partitions = {(each.source, each.partition): each for each in epoch.partitions}
        for envelope in envelopes:
            if envelope.kind == COMMIT:
                prepared.setdefault(envelope.dest, []).append(envelope.payload)
            elif envelope.kind == CELLS:
                source, partition, cells = decode_report(envelope.payload)
                partitions[source, partition].cells = cells
            elif envelope.kind == OPERATORS:
                self.planner.remember_operators(decode_operators(envelope.payload))
            elif envelope.kind == REPORT:
                reports.append(decode_report(envelope.payload))
            elif envelope.kind == FEED:
                feeds.append(decode_feed(envelope.payload))
            else:
                raise AssertionError(f"not meant for the driver: {envelope}")
        return prepared, reports, feeds

    def _tell(self, batch: int, reports: list[dict[str, Any]]) -> None:
        phases = self.watch.take()
        took = sum(phases.get(phase, 0.0) for phase in ("execute", "commit", "epoch"))
        self._progress.take(batch, reports, took, phases)
        self.planner.observe(self._progress.last)
        self._progress.gauges.update(self.planner.gauges())
