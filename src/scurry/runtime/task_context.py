"""What the operators of one task share, by duty.

A :class:`TaskContext` lives as long as its task. It has the task's :class:`TaskPlace`, which never
changes; the micro-batch that is under way; :class:`TaskState`, what survives from one micro-batch
to the next; and a :class:`TaskReport`, in which the task gathers what the driver is told at the end
of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scurry.functions.sink import EXACTLY_ONCE
from scurry.runtime.checkpointed import OperatorStates
from scurry.runtime.handover import COPYING, Handover
from scurry.runtime.meters import TASK, Meter, Reading, TaskClock
from scurry.runtime.metrics import MetricRegistry
from scurry.state.table_forms import TableForm

if TYPE_CHECKING:
    from scurry.state.slot_store import SlotStore


@dataclass(frozen=True)
class TaskPlace:
    """Which task of which job."""

    #: the number of the task in the ingress, or the slot
    index: int
    max_parallelism: int
    #: the stage, 0 for the ingress
    stage: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)
    #: what the job promises about its output
    guarantee: str = EXACTLY_ONCE


@dataclass
class TaskState:
    """What survives from micro-batch to micro-batch."""

    #: keyed state; the ingress has none
    store: SlotStore | None = None
    #: small values, such as the highest timestamp seen
    cells: dict[str, Any] = field(default_factory=dict)
    #: what instances of functions keep that belongs to no key
    operators: OperatorStates = field(default_factory=OperatorStates)


@dataclass
class TaskReport:
    """What a task has to tell the driver about a micro-batch."""

    counters: dict[str, int] = field(default_factory=dict)
    gauges: dict[str, int] = field(default_factory=dict)
    watermarks: dict[str, int] = field(default_factory=dict)
    #: what the task's time went into, in seconds
    times: dict[str, float] = field(default_factory=dict)
    #: what functions count and measure themselves
    metrics: MetricRegistry = field(default_factory=MetricRegistry)
    #: tables that this task has written to, and what kind of state each is
    written: dict[str, str] = field(default_factory=dict)
    #: what those of them hold that are states of functions
    types: dict[str, tuple[Any, int]] = field(default_factory=dict)
    #: how those of them can be read that are tables of operators on relations
    forms: dict[str, TableForm] = field(default_factory=dict)
    #: what the user should be told
    warnings: list[str] = field(default_factory=list)
    _warned: set[str] = field(default_factory=set)
    #: records and bytes of each table, None if they are as they were in the last report
    sizes: dict[str, tuple[int, int]] | None = None
    #: what operators and sources do, by uid, and whose time it is
    meters: dict[str, Meter] = field(default_factory=dict)
    clock: TaskClock = field(default_factory=TaskClock)
    #: when the next micro-batch is due even if there is nothing to read
    wake: int | None = None

    def warn(self, text: str) -> None:
        """Tell the user something, once per job."""
        if text not in self._warned:
            self._warned.add(text)
            self.warnings.append(text)

    def wake_at(self, time: int) -> None:
        """Ask for a micro-batch at processing time ``time``, whether there are records or not."""
        self.wake = time if self.wake is None else min(self.wake, time)

    def count(self, name: str, amount: int) -> None:
        """Add to a counter that the driver sums over all tasks."""
        self.counters[name] = self.counters.get(name, 0) + amount

    def spent(self, phase: str, seconds: float) -> None:
        """Add to the time of a phase, of which the driver takes the longest over all tasks."""
        self.times[phase] = self.times.get(phase, 0.0) + seconds

    def readings(self) -> dict[str, Reading]:
        """What operators and sources have done since the last report, and the task itself."""
        self.clock.settle()
        taken = {uid: meter.take() for uid, meter in self.meters.items()}
        return {TASK: self.clock.task.take(), **taken}

    def take(self, stage: int, index: int = 0) -> dict[str, Any]:
        """What there is to report of this micro-batch; counters start again at zero."""
        counters, self.counters = self.counters, {}
        times, self.times = self.times, {}
        wake, self.wake = self.wake, None
        warnings, self.warnings = self.warnings, []
        sizes, self.sizes = self.sizes, None
        return {
            "counters": counters,
            "times": times,
            "gauges": self.gauges,
            "watermarks": self.watermarks,
            "wake": wake,
            "warnings": warnings,
            "metrics": self.metrics.report(),
            "stage": stage,
            "index": index,
            "readings": self.readings(),
            "written": self.written,
            "types": self.types,
            "forms": self.forms,
            "sizes": sizes,
        }


@dataclass
class TaskContext:
    """A task and the micro-batch that it is in."""

    place: TaskPlace
    state: TaskState = field(default_factory=TaskState)
    report: TaskReport = field(default_factory=TaskReport)
    #: how values that user code emits are taken
    handover: Handover = COPYING
    #: processing time, fixed when the micro-batch was planned
    now: int = 0
    #: the number of the micro-batch
    batch: int = 0
    #: a number that is another one each time that records are handled: that of the micro-batch, or
    #: of the round where a micro-batch has several
    turn: int = 0
    #: the source partition whose records are handled, or the slot
    channel: str = ""
