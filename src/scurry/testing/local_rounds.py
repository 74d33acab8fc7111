"""Whole programs in this process as the live engine runs them: in rounds.

See :mod:`scurry.engine.rounds` for what a round is. Tasks, hosts and journals are those of
:mod:`scurry.testing.local`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

from scurry.compile.job import CompiledJob
from scurry.engine.job import Job
from scurry.engine.live.copies import SlotCopy, can_be_copied
from scurry.engine.pace import Pace
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.rounds import RoundProtocol
from scurry.runtime.envelope import CELLS, DRIVER, Envelope
from scurry.runtime.host import SlotHost
from scurry.runtime.ingress import IngressTask, TaskPlan
from scurry.runtime.report import Tick
from scurry.state.journal import Journal, MemoryJournal
from scurry.state.rescaling import Place
from scurry.state.slot_parts import Outcome
from scurry.testing.local import LocalJob

_PLENTY = 1 << 40


class LocalRounds(LocalJob):
    """A compiled job as the live engine runs it: in ``rounds`` rounds a micro-batch, and sinks
    commit when the checkpoint is durable (:mod:`scurry.engine.rounds`).

    With ``copies`` a copy of this process writes the state, where that is possible, and slots learn
    of it as late as can be: before the last round of the next micro-batch
    (:mod:`scurry.engine.live.copies`).
    """

    _protocol: RoundProtocol

    def __init__(
        self,
        job: CompiledJob,
        clock: int = 0,
        after: LocalJob | None = None,
        rounds: int = 3,
        views: ViewKeeper | None = None,
        copies: bool = False,
    ) -> None:
        self._rounds = rounds
        self._copies = copies
        #: slots whose state a copy has written, and which do not know it yet
        self._late: dict[Place, _LateHost] = {}
        #: how often a copy has written a slot's state
        self.copied = 0
        #: the hosts that have begun with their state, and the tasks that read
        self._begun: set[Place] = set()
        #: what tasks tell the driver of a micro-batch that is not committed
        self._told: list[Envelope] | None = None
        super().__init__(job, clock, after, views)

    def _protocol_of(self, job: Job) -> RoundProtocol:
        self.checkpoint.commits_with_epoch = True
        pace = Pace(_PLENTY, None)
        given = job, self.checkpoint, self._progress, pace, self.lease, self._views
        return RoundProtocol(*given)

    @property
    def batch(self) -> int:
        """The last committed micro-batch."""
        return self._protocol.finished

    def plan_step(self, max_records: int = _PLENTY) -> bool:
        """Run the rounds of a micro-batch, which the next :meth:`step` commits, unless that has
        been done; False if there is nothing."""
        if self._told is None:
            self._told = self._run_rounds(max_records)
        return self._told is not None

    def step(self, max_records: int = _PLENTY) -> bool:
        if not self.plan_step(max_records):
            return False
        told, self._told = self._told, None
        assert told is not None
        self._protocol.finish(self.batch + 1, told, {})
        return True

    def crash_step(self, max_records: int = _PLENTY) -> bool:
        if self._run_rounds(max_records) is None:
            return False
        self.recover()
        return self.step(max_records)

    def crash_and_rescale_step(self, job: CompiledJob, max_records: int = _PLENTY) -> bool:
        runnable = self._claiming(job)
        if self._run_rounds(max_records) is None:
            return False
        self.checkpoint.roll_back()
        self._move_to(runnable)
        return self.step(max_records)

    def _close_functions(self) -> None:
        super()._close_functions()
        self._begun, self._told = set(), None
        self._late.clear()

    def state(self, uid: str, name: str) -> dict[Any, Any]:
        for place in list(self._late):
            self._late.pop(place).learn()
        return super().state(uid, name)

    def _run_rounds(self, max_records: int) -> list[Envelope] | None:
        """The rounds of a micro-batch; what tasks tell the driver at its end, None if there is
        nothing to do."""
        self.planner.max_records = max_records
        for number in range(self._rounds + 1):
            tasks = self._protocol.plan_round(force=number > 0, now=self.clock)
            if tasks is None:
                return None
            marked = number == self._rounds or self._protocol.ending
            if marked:
                self._protocol.mark()
            told = self._run_round(tasks, marked)
            if marked:
                return told
        raise AssertionError("no round was marked")

    def _run_round(self, tasks: list[TaskPlan], marked: bool) -> list[Envelope]:
        first = tasks[0]
        tick = Tick(first.now, first.batch, first.final, first.unions, first.turn)
        envelopes: list[Envelope] = []
        wishes: list[int | None] = []
        for plan in tasks:
            reader = self._reader(plan)
            envelopes.extend(reader.round(plan))
            wishes.append(reader.wake)
            if marked:
                envelopes.extend(reader.checkpoint())
                if plan.final:
                    reader.close()
        for place in itertools.starmap(Place, self._places()):
            envelopes.extend(self._run_host(place, envelopes, tick, marked, wishes))
        told = [envelope for envelope in envelopes if envelope.stage == DRIVER]
        cells = [envelope for envelope in told if envelope.kind == CELLS]
        self._protocol.take_round(cells, [wish for wish in wishes if wish is not None])
        return told

    def _reader(self, plan: TaskPlan) -> IngressTask:
        reader = self._ingress.get(plan.task)
        if reader is None:
            reader = self._ingress[plan.task] = IngressTask(self._load(), plan.task)
            reader.take_states(plan.states)
        return reader

    def _places(self) -> Iterator[tuple[int, int]]:
        spec = self._job.spec
        return itertools.product(range(1, len(spec.stages) + 1), range(spec.parallelism))

    def _run_host(
        self,
        place: Place,
        envelopes: list[Envelope],
        tick: Tick,
        marked: bool,
        wishes: list[int | None],
    ) -> list[Envelope]:
        slots, journal = self._job.spec.parallelism, self.checkpoint.journal(place)
        mine = [e for e in envelopes if e.stage == place.stage and e.slot % slots == place.slot]
        host = self._host(*place)
        if place not in self._begun:
            self._begun.add(place)
            host.begin(journal, tick)
        if marked and place in self._late:
            self._late.pop(place).learn()
        # the order in which envelopes come is not defined
        made = list(host.round(reversed(mine), tick))
        wishes.append(host.wake)
        if marked and self._copies and not tick.final:
            made.extend(host.prepare())
            made.extend(self._written(place, host, journal))
        elif marked:
            made.extend(host.checkpoint(journal, tick.final))
        return made

    def _written(self, place: Place, host: SlotHost, journal: MemoryJournal) -> list[Envelope]:
        """Have the state of a slot written, by a copy if that is possible."""
        late = _LateHost(host)
        # these stand for a host and for a journal of files
        given: tuple[Any, Any] = late, _SentJournal(journal)
        if not can_be_copied(*given, least=1):
            return list(host.finish(journal))
        self.copied += 1
        self._late[place] = late
        copy = SlotCopy(*given)
        while (told := copy.take()) is None:
            time.sleep(0.0005)
        return told


class _LateHost:
    """A host that a copy stands for, and that does not learn at once what the copy has done."""

    def __init__(self, host: SlotHost) -> None:
        self._host = host
        self.stage, self.slot, self.store = host.stage, host.slot, host.store
        self.write, self.freeze = host.write, host.freeze
        self._done: tuple[Journal, Outcome] | None = None

    def thaw(self, journal: _SentJournal, outcome: Outcome) -> None:
        """Keep in mind what the copy has done."""
        self._done = journal.journal, outcome

    def learn(self) -> None:
        """The host goes on with what the copy has written."""
        assert self._done is not None
        self._host.thaw(*self._done)


class _SentJournal(MemoryJournal):
    """A journal that a copy of this process writes to, and sends as a whole."""

    def __init__(self, journal: MemoryJournal) -> None:
        super().__init__(journal.runs)
        self.journal = journal
        self.adopt((journal.entries, journal._head))

    @property
    def stored(self) -> tuple[dict[int, bytes], bytes | None]:
        """What the journal holds."""
        return self.entries, self._head

    def adopt(self, stored: tuple[dict[int, bytes], bytes | None]) -> None:
        """The journal holds this."""
        for journal in (self, self.journal):
            journal.entries, journal._head = dict(stored[0]), stored[1]
