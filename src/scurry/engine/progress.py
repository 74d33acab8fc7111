"""How far a running job has come, summed over what its tasks report."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from scurry.common.waiting import Wait, WaitBoard
from scurry.engine.operator_totals import OperatorTotals
from scurry.runtime.metrics import MetricTotals

#: On the driver, one after the other: Spark's own work between two micro-batches; waiting until
#: there is something to read; planning it; executing the query; committing the sinks, each of them
#: also as ``commit <uid>``; writing the epoch. Within ``execute``, the longest over all tasks:
#: ``ingress`` and within it ``read``; ``stage <n>`` and within it ``state <n>``, the commit of
#: state. What is left of ``execute`` is Spark's, as ``spark``.
PHASES = ("engine", "wait", "plan", "execute", "commit", "epoch")
_IN_TASKS = ("ingress", "stage")


class StopWatch:
    """Measures the phases of a micro-batch, one after the other."""

    def __init__(self) -> None:
        self._at = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, *phases: str) -> None:
        """Add the time since the last call to each of ``phases``."""
        now = time.perf_counter()
        for phase in phases:
            self._laps[phase] = self._laps.get(phase, 0.0) + now - self._at
        self._at = now

    def so_far(self, phase: str) -> float:
        """The seconds that ``phase`` has taken since the last :meth:`take`."""
        return self._laps.get(phase, 0.0)

    def take(self) -> dict[str, float]:
        """The seconds of all phases since the last call; the next call begins at zero."""
        laps, self._laps = self._laps, {}
        return laps


@dataclass
class Rounds:
    """What the live engine tells of its rounds."""

    #: how many there were in this run, in attempts before this one and in this one
    before: int = 0
    now: int = 0
    #: the most records that the next one may read from a source
    limit: int = 0
    #: the share of the time since the last checkpoint but one for which sources had to wait
    held_up: float = 0.0

    @property
    def total(self) -> int:
        """All rounds of this run."""
        return self.before + self.now

    def take(self, now: int, limit: int, held_up: float) -> None:
        """What is so after a checkpoint; an attempt counts its rounds from 0."""
        if now < self.now:
            self.before += self.now
        self.now, self.limit, self.held_up = now, limit, held_up


@dataclass
class Progress:
    """A snapshot of a running job, renewed after every micro-batch, and while it has to wait."""

    batch: int = -1
    started: float = field(default_factory=time.time)
    #: totals since the start of this run: ``read:<uid>``, ``in:<uid>``, ``written:<uid>`` ...
    counters: dict[str, int] = field(default_factory=dict)
    #: the last micro-batch alone, and how long it took
    last: dict[str, int] = field(default_factory=dict)
    last_seconds: float = 0.0
    #: what the time of the last micro-batch went into, in seconds: see :data:`PHASES`
    phases: dict[str, float] = field(default_factory=dict)
    #: sizes as of the last micro-batch, such as ``state_entries``
    gauges: dict[str, int] = field(default_factory=dict)
    #: the lowest watermark of each operator that has one
    watermarks: dict[str, int] = field(default_factory=dict)
    #: what functions counted and measured themselves
    metrics: MetricTotals = field(default_factory=MetricTotals)
    #: what operators have done, by slot
    operators: OperatorTotals = field(default_factory=OperatorTotals)
    #: measures the phases of the micro-batch under way: see :data:`PHASES`
    watch: StopWatch = field(default_factory=StopWatch, repr=False)
    #: micro-batches finished in this run
    batches: int = 0
    #: the rounds of the live engine
    rounds: Rounds = field(default_factory=Rounds)

    #: how often the job started again, and the failure before the last time
    restarts: int = 0
    last_failure: str = ""

    #: the servers that the job waits for at this moment, each with what for, why, and since when
    waiting: list[Wait] = field(default_factory=list)
    #: where what runs on the driver says that it waits
    board: WaitBoard = field(default_factory=WaitBoard, repr=False)
    #: held while a micro-batch is added, and while a snapshot is made, in whatever thread
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def records_read(self) -> int:
        """Records read from all sources."""
        return self.total("read:")

    @property
    def records_written(self) -> int:
        """Records handed to all sinks."""
        return self.total("written:")

    def total(self, prefix: str) -> int:
        """The sum of all counters that begin with ``prefix``."""
        return sum(count for name, count in self.counters.items() if name.startswith(prefix))

    def restarted(self, failure: BaseException) -> None:
        """The job failed and starts again."""
        self.restarts += 1
        self.last_failure = str(failure)

    def take(
        self, batch: int, reports: list[dict[str, Any]], seconds: float, phases: dict[str, float]
    ) -> None:
        """Add what the tasks of a micro-batch reported."""
        with self.lock:
            self._take(batch, reports, seconds, phases)

    def _take(
        self, batch: int, reports: list[dict[str, Any]], seconds: float, phases: dict[str, float]
    ) -> None:
        self.batch = batch
        self.batches += 1
        self.phases = phases
        self.last, self.gauges, self.watermarks, self.last_seconds = {}, {}, {}, seconds
        for report in reports:
            for name, count in report["counters"].items():
                self.last[name] = self.last.get(name, 0) + count
            for name, longest in report["times"].items():
                phases[name] = max(longest, phases.get(name, 0.0))
            for name, size in report["gauges"].items():
                self.gauges[name] = self.gauges.get(name, 0) + size
            for name, mark in report["watermarks"].items():
                self.watermarks[name] = min(mark, self.watermarks.get(name, mark))
        inside = sum(t for name, t in phases.items() if name.partition(" ")[0] in _IN_TASKS)
        phases["spark"] = max(0.0, phases.get("execute", 0.0) - inside)
        self.metrics.take(reports)
        self.operators.take(reports, phases.get("wait", 0.0))
        for name, count in self.last.items():
            self.counters[name] = self.counters.get(name, 0) + count
