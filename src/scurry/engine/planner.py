"""The driver's side of the sources: what each micro-batch reads.

The planner asks the sources what there is to read, and says after each micro-batch where the job
stands: an :class:`~scurry.checkpoint.epochs.Epoch`, from which another planner can go on.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from scurry.checkpoint.epochs import Epoch, OperatorStates, PartitionState
from scurry.functions.history import History
from scurry.functions.source import ReadPlan, SourceEnumerator
from scurry.runtime.event_time import cells_of
from scurry.runtime.ingress import PartitionPlan, TaskPlan
from scurry.runtime.report import OperatorReport
from scurry.runtime.specs import JobSpec
from scurry.state.inventory import OPERATOR_STATE, Inventory, StateType, described
from scurry.state.table_forms import TableForm

_log = logging.getLogger("scurry.engine")
#: Milliseconds by which the clock may be set back before processing time goes back with it.
_SMALL_STEP = 60_000


def planned_for(tasks: Sequence[TaskPlan], job: JobSpec) -> list[TaskPlan]:
    """``tasks``, which an earlier version of the program planned, as ``job`` can execute them:
    without sources and operators that ``job`` does not have, or drops in its first micro-batch."""
    gone = job.forgetting.by_stage.get(0, frozenset())
    sources = {source.uid for source in job.sources} - gone
    dropped = frozenset[str]().union(*job.forgetting.by_stage.values())
    operators, united = job.operators.keys() - gone, job.operators.keys() - dropped
    return [
        msgspec.structs.replace(
            task,
            partitions=[part for part in task.partitions if part.source in sources],
            states={uid: held for uid, held in task.states.items() if uid in operators},
            unions={uid: held for uid, held in task.unions.items() if uid in united},
        )
        for task in tasks
    ]


def deal_again(tasks: Sequence[TaskPlan], job: JobSpec, after: Epoch) -> list[TaskPlan]:
    """The plan of a micro-batch that reads what ``tasks`` do, by the tasks that ``job`` has."""
    partitions = [p for task in planned_for(tasks, job) for p in task.partitions]
    first = tasks[0]
    return _tasks_of(job, first.batch, first.now, partitions, first.final, after.operators)


def _tasks_of(
    job: JobSpec,
    batch: int,
    now: int,
    partitions: Sequence[PartitionPlan],
    final: bool,
    operators: OperatorStates,
) -> list[TaskPlan]:
    """Partitions, dealt out to tasks."""
    shares: dict[int, list[PartitionPlan]] = {0: []}
    tasks = {source.uid: source.tasks for source in job.sources}
    used: dict[str, int] = {}
    for partition in sorted(partitions, key=lambda partition: partition.rank):
        number = used[partition.source] = used.get(partition.source, -1) + 1
        shares.setdefault(number % tasks[partition.source], []).append(partition)
    return [
        TaskPlan(
            *(batch, task, len(shares), now, shares[task], final, operators.of_task(task)),
            operators.tokens.get(f"0:{task}", ""),
            operators.all_unions(),
        )
        for task in sorted(shares)
    ]


def earliest_wish(reports: Sequence[Mapping[str, Any]]) -> int | None:
    """When tasks wish for a micro-batch at the earliest, None if they do not."""
    wishes = [report["wake"] for report in reports if report.get("wake") is not None]
    return min(wishes, default=None)


class BatchPlanner:
    """Plans the micro-batches of a job, one after the other, and knows where the job stands.

    For each micro-batch the driver calls :meth:`next`. After it was executed, and before it is
    committed, the driver hands over what the tasks report (``remember``, ``remember_operators``,
    ``take_wishes``, ``take_inventory``, ``observe``) and writes the :meth:`epoch`. It calls
    :meth:`committed` once the micro-batch is durable.
    """

    def __init__(
        self,
        job: JobSpec,
        max_records: int,
        epoch: Epoch | None = None,
        last: int | None = None,
    ) -> None:
        """Go on after ``epoch``. If the micro-batch of ``epoch`` is only planned and has to be run
        again, ``last`` is the last committed one, which came before it."""
        self._job = job
        #: the batches so far, and those to come
        self.history = History()
        if epoch is not None:
            self.history = History(epoch.history, epoch.batch, last)
        #: the most records the next micro-batch reads of each source
        self.max_records = max_records
        known_splits = {} if epoch is None else epoch.splits
        # a source may cut its input into as many partitions as it has tasks, so it is told the
        # same number for ever; with more or fewer tasks these read the partitions there are
        self._splits = {s.uid: known_splits.get(s.uid, s.tasks) for s in job.sources}
        self._enumerators: dict[str, SourceEnumerator] = {
            source.uid: source.source.enumerator(self._splits[source.uid]) for source in job.sources
        }
        self._positions: dict[str, Any] = {}
        #: where the sources stood before the last planned batch
        self._partitions: dict[tuple[str, str], PartitionState] = {}
        self._finished: set[str] = set()
        self._announced_end = False
        self._draining = False
        self._now = 0
        self._wake: int | None = None
        self._warned: set[str] = set()
        #: by stage and slot: records and bytes of each table
        self._sizes: dict[tuple[int, int], dict[str, tuple[int, int]]] = {}
        self._operators = OperatorStates()
        self._inventory: Inventory = {
            uid: msgspec.structs.replace(
                record, states=dict(record.states), stages=[], types={}, forms={}
            )
            for uid, record in job.inventory.items()
        }
        if epoch is not None:
            self._resume(epoch)
        for uid, enumerator in self._enumerators.items():
            if uid not in self._positions:
                self._positions[uid] = enumerator.initial_position()

    def _resume(self, epoch: Epoch) -> None:
        """Go on where ``epoch`` says, with what this program has of it."""
        self._now, self._wake = epoch.now, epoch.wake
        self._operators = epoch.operators
        self._operators.keep(self._job.operators)
        self._operators.fit(self._job.ingress_tasks)
        known = self._enumerators
        self._positions = {uid: at for uid, at in epoch.positions.items() if uid in known}
        self._partitions = {
            (p.source, p.partition): p for p in epoch.partitions if p.source in known
        }
        for state in self._partitions.values():
            state.cells = cells_of(self._job.operators, state.cells)
        for uid in self._inventory.keys() & epoch.inventory.keys():
            before = epoch.inventory[uid]
            for stage in before.stages:
                self._inventory[uid].add(stage, before.states)
            self._inventory[uid].sizes = dict(before.sizes)
            self._inventory[uid].types = dict(before.types)
            self._inventory[uid].forms = dict(before.forms)
        self._finished = {uid for uid in epoch.finished if uid in known and not self._goes_on(uid)}
        for state in self._partitions.values():
            if state.source in epoch.finished and state.source not in self._finished:
                state.ended = False
        self._announced_end = self._finished >= known.keys()

    def _goes_on(self, uid: str) -> bool:
        """Whether a source that had ended has more to read, because the program has changed."""
        source = next(source.source for source in self._job.sources if source.uid == uid)
        return self._enumerators[uid].goes_on(self._positions[uid], source.bounded)

    @property
    def done(self) -> bool:
        """Whether every source has ended and the end has been planned."""
        return self._announced_end

    @property
    def now(self) -> int:
        """Processing time of the last planned micro-batch."""
        return self._now

    def wake_up(self) -> None:
        """Plan the next micro-batch at once, whether there is something to read or not."""
        self._wake = self._now

    def drain(self) -> None:
        """From the next micro-batch on, the input of all sources ends where it is."""
        self._draining = True

    def next(
        self, batch: int, now: int | None = None, force: bool = False
    ) -> list[TaskPlan] | None:
        """The tasks of micro-batch ``batch``, None if there is nothing to do yet, unless ``force``
        says that tasks are to run all the same. A micro-batch of several rounds is planned by
        several calls.

        Processing time is the clock. It stands still while the clock makes up for a small step
        back, and follows a large one: a clock that was years ahead for a moment would otherwise
        stop it for years.
        """
        if self._announced_end:
            return None
        held_back = self._held_back()
        reads = {
            uid: self._read(uid, enumerator)
            for uid, enumerator in self._enumerators.items()
            if uid not in self._finished and (uid not in held_back or self._draining)
        }
        ending = {uid for uid, read in reads.items() if read.finished}
        clock = int(time.time() * 1000) if now is None else now
        set_back = self._now - clock > _SMALL_STEP
        now = clock if set_back else max(self._now, clock)
        # idle sources count from the clock as it was, so they are asked again once it is set back
        due = self._wake is not None and (self._wake <= now or set_back)
        if not (due or ending or force or any(read.ranges for read in reads.values())):
            return None
        if set_back:
            _log.warning(
                "the clock was set back by %.0f s, and processing time with it: timers and windows "
                "set meanwhile wait until the clock comes there again",
                (self._now - clock) / 1000,
            )
        self._now, self._wake = now, None
        for uid, read in reads.items():
            self._positions[uid] = read.position
        self._finished |= ending
        self._announced_end = len(self._finished) == len(self._enumerators)
        self.history.plan(batch)
        return self._tasks(batch, now, reads, ending)

    def _read(self, uid: str, enumerator: SourceEnumerator) -> ReadPlan:
        if self._draining:
            return ReadPlan(self._positions[uid], finished=True)
        return enumerator.plan(self._positions[uid], self.max_records)

    def _held_back(self) -> set[str]:
        """The sources that are too far ahead of their alignment group."""
        groups: dict[str, dict[str, tuple[int, int]]] = {}
        for uid, aligned in self._job.alignment.items():
            marks = [
                state.cells[aligned.cell]
                for (source, _), state in self._partitions.items()
                if source == uid and aligned.cell in state.cells and not state.ended
            ]
            if marks:
                groups.setdefault(aligned.group, {})[uid] = (min(marks), aligned.drift)
        return {
            uid
            for members in groups.values()
            for uid, (mark, drift) in members.items()
            if mark > min(least for least, _ in members.values()) + drift
        }

    def _tasks(
        self, batch: int, now: int, reads: dict[str, ReadPlan], ending: set[str]
    ) -> list[TaskPlan]:
        ranges: dict[tuple[str, str], list[Any]] = {}
        for uid, read in reads.items():
            for item in read.ranges:
                place = (uid, item.partition)
                ranges.setdefault(place, []).append(item.what)
                self._partitions.setdefault(place, PartitionState(*place))
        for uid, enumerator in self._enumerators.items():
            for partition in enumerator.partitions():
                place = (uid, partition)
                self._partitions.setdefault(place, PartitionState(*place))
        planned: list[PartitionPlan] = []
        for rank, place in enumerate(sorted(self._partitions)):
            state = self._partitions[place]
            ended = place[0] in ending or (place[0] in reads and place[1] in reads[place[0]].ended)
            state.ended = state.ended or ended
            planned.append(
                PartitionPlan(*place, rank, ranges.get(place, []), dict(state.cells), state.ended)
            )
        return _tasks_of(self._job, batch, now, planned, self._announced_end, self._operators)

    def remember(self, source: str, partition: str, cells: dict[str, Any]) -> None:
        """Take over what the cells of a source partition have become, as the ingress reports it."""
        self._partitions[source, partition].cells = cells

    def refresh(self, tasks: Sequence[TaskPlan]) -> None:
        """Have ``tasks``, which were planned before all others were over, begin with the cells that
        those have left."""
        for task in tasks:
            for part in task.partitions:
                part.cells = dict(self._partitions[part.source, part.partition].cells)

    def take_inventory(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Take over which states tasks have written to for the first time, and their sizes."""
        changed = [report for report in reports if report["sizes"] is not None]
        for report in changed:
            self._sizes[report["stage"], report["index"]] = report["sizes"]
        if changed:
            self._take_sizes()
        for report in reports:
            for table, kind in report["written"].items():
                uid, _, state = table.partition("\x1f")
                if uid in self._inventory:
                    self._inventory[uid].add(report["stage"], described(state, kind))
            for table, (schema, version) in report.get("types", {}).items():
                uid, _, state = table.partition("\x1f")
                if uid in self._inventory:
                    self._inventory[uid].types[state] = StateType(schema, version)
            for table, form in report.get("forms", {}).items():
                uid, _, state = table.partition("\x1f")
                if uid in self._inventory:
                    (name,) = described(state, "")
                    self._inventory[uid].forms[name] = msgspec.convert(form, TableForm)

    def _take_sizes(self) -> None:
        """Put the sizes that slots have told together, by operator and state."""
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for tables in self._sizes.values():
            for table, (entries, size) in tables.items():
                uid, _, state = table.partition("\x1f")
                (name,) = described(state, "")
                states = found.setdefault(uid, {})
                before = states.get(name, (0, 0))
                states[name] = (before[0] + entries, before[1] + size)
        for uid in found.keys() & self._inventory.keys():
            self._inventory[uid].sizes = found[uid]

    def take_wishes(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Take over the tasks' wishes for a micro-batch at a certain time, of which the earliest
        counts, and give their warnings to the user."""
        self.warn(reports)
        self.wake_at(earliest_wish(reports))

    def warn(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Give the warnings of tasks to the user, each once."""
        for text in sorted({text for report in reports for text in report["warnings"]}):
            if text not in self._warned:
                self._warned.add(text)
                warnings.warn(text, RuntimeWarning, stacklevel=2)

    def wake_at(self, time: int | None) -> None:
        """Something is to be planned at processing time ``time``, whether there is something to
        read then or not; None if that is not needed."""
        self._wake = time

    def remember_operators(self, report: OperatorReport) -> None:
        """Take over what the operator states of a task have become."""
        self._operators.take(report)
        for told in (report.states, report.unions):
            for uid, states in told.items():
                if uid in self._inventory and states:
                    self._inventory[uid].add(report.place[0], dict.fromkeys(states, OPERATOR_STATE))

    def epoch(self, batch: int) -> Epoch:
        """Where the job stands after ``batch``."""
        return Epoch(
            batch,
            dict(self._positions),
            list(self._partitions.values()),
            sorted(self._finished),
            self._now,
            self._wake,
            operators=self._operators,
            splits=self._splits,
            inventory=self._inventory,
            history=self.history.branches,
        )

    def observe(self, counters: Mapping[str, int]) -> None:
        """Tell the sources how many records and bytes the last planned micro-batch has read."""
        for uid, enumerator in self._enumerators.items():
            records = counters.get(f"read:{uid}", 0) + counters.get(f"rejected:{uid}", 0)
            enumerator.observed(records, counters.get(f"read_bytes:{uid}", 0))

    def gauges(self) -> dict[str, int]:
        """What the sources show of themselves, as ``name:<uid>``."""
        return {
            f"{name}:{uid}": value
            for uid, enumerator in self._enumerators.items()
            for name, value in enumerator.gauges().items()
        }

    def committed(self, positions: Mapping[str, Any] | None = None) -> None:
        """Tell the sources that everything before ``positions`` is durable, by default all that
        was planned."""
        reached = self._positions if positions is None else positions
        for uid, enumerator in self._enumerators.items():
            enumerator.committed(reached[uid])

    def close(self) -> None:
        """Close the enumerators of the sources. Called when the job has ended."""
        for enumerator in self._enumerators.values():
            enumerator.close()
