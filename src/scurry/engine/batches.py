"""The commit protocol of micro-batches whose checkpoint the engine itself commits.

Where Spark keeps the state, Spark commits a micro-batch, and the plan has to be durable before
anything is executed: :mod:`scurry.engine.protocol`. Where journals are files and their heads are in
the epoch, the epoch commits. So a micro-batch is a single round that is marked
(:mod:`scurry.engine.rounds`): plans are written nowhere, and what sinks have prepared becomes
durable with the epoch, before they commit it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scurry.checkpoint.file_journal import StoredHead
from scurry.engine.rounds import RoundProtocol
from scurry.runtime.envelope import CELLS, Envelope
from scurry.runtime.ingress import TaskPlan


class BatchProtocol(RoundProtocol):
    """The driver's side of a job whose micro-batches are one round each."""

    def plan_batch(self, now: int | None = None) -> tuple[int, list[TaskPlan]] | None:
        """The number of the next micro-batch and what its tasks read, None if there is nothing to
        do yet. ``now`` is processing time, by default the clock's."""
        self.watch.lap("wait")
        tasks = self.plan_round(now=now)
        if tasks is None:
            return None
        for task in tasks:
            # it is the only one
            task.turn = -1
        batch = self.mark()
        self.watch.lap("plan")
        return batch, tasks

    def end_batch(
        self, batch: int, envelopes: Sequence[Envelope], journals: Mapping[str, StoredHead]
    ) -> None:
        """Micro-batch ``batch`` was executed: ``envelopes`` are what has reached the driver,
        ``journals`` the journals of all slots. When this returns, it is committed."""
        self.take_round([each for each in envelopes if each.kind == CELLS], ())
        ending = self.gather(batch, envelopes, journals)
        self.planner.wake_at(ending.epoch.wake)
        self.commit(ending)
        self.conclude(ending)
        last = self._progress
        read = [count for name, count in last.last.items() if name.startswith("read:")]
        most = max(read, default=0)
        self.planner.max_records = self._pace.after(most, last.last_seconds, last.phases)
