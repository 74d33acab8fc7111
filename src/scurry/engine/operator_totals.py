"""The driver's sums of what operators report: by operator and slot, over all micro-batches.

Rates and shares of time are taken over the last minute: the sums of a minute ago, or of the start
of the job, are kept beside those of now.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scurry.runtime.batch import MIN_WATERMARK
from scurry.runtime.meters import TASK, Reading
from scurry.state.inventory import uid_of_table

#: Seconds over which rates are taken, and between two sums that are kept for that.
SPAN_SECONDS, _STEP_SECONDS = 60.0, 1.0


@dataclass
class SlotTotals:
    """One operator in one slot, or a task by itself."""

    records_in: int = 0
    records_out: int = 0
    busy_seconds: float = 0.0
    bytes_in: int = 0
    late_dropped: int = 0
    dead_letters: int = 0
    input_watermark: int = MIN_WATERMARK
    output_watermark: int = MIN_WATERMARK

    def add(self, reading: Reading) -> None:
        """Take in what one micro-batch has brought."""
        self.records_in += reading.records_in
        self.records_out += reading.records_out
        self.busy_seconds += reading.busy_seconds
        self.input_watermark = max(self.input_watermark, reading.input_watermark)
        self.output_watermark = max(self.output_watermark, reading.output_watermark)

    @property
    def flow(self) -> tuple[int, int, float]:
        """What rates are taken of."""
        return self.records_in, self.records_out, self.busy_seconds


#: Which counters of a task's report belong to which sum.
_COUNTERS = {
    "read_bytes": "bytes_in",
    "late_dropped": "late_dropped",
    "dead-letters": "dead_letters",
    "rejected": "dead_letters",
}
#: An operator's uid and a slot; or a stage and a slot, for the task as a whole.
Place = tuple[str | int, int]
Flows = dict[Place, tuple[int, int, float]]


@dataclass(frozen=True)
class Rates:
    """Per second, over the last minute or since the job was started."""

    records_in: float = 0.0
    records_out: float = 0.0
    busy: float = 0.0


@dataclass
class OperatorTotals:
    """The sums of a job."""

    operators: dict[tuple[str, int], SlotTotals] = field(default_factory=dict)
    tasks: dict[tuple[int, int], SlotTotals] = field(default_factory=dict)
    #: by stage and slot: records and bytes of each table
    sizes: dict[tuple[int, int], dict[str, tuple[int, int]]] = field(default_factory=dict)
    #: seconds in which there was nothing to read
    idle_seconds: float = 0.0
    #: sums at some moments of the last minute, with the idle seconds at that moment
    _trail: deque[tuple[float, float, Flows]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._trail.append((time.monotonic(), 0.0, {}))

    def take(self, reports: Iterable[Mapping[str, Any]], idle_seconds: float) -> None:
        """Add what the tasks of a micro-batch have reported."""
        self.idle_seconds += idle_seconds
        for report in reports:
            place = (report["stage"], report["index"])
            self._take_readings(place, msgspec.convert(report["readings"], dict[str, Reading]))
            self._take_counters(place[1], report["counters"])
            if report["sizes"] is not None:
                self.sizes[place] = report["sizes"]
        self._remember(time.monotonic())

    def _take_readings(self, place: tuple[int, int], readings: Mapping[str, Reading]) -> None:
        whole = self.tasks.setdefault(place, SlotTotals())
        for uid, reading in readings.items():
            whole.busy_seconds += reading.busy_seconds
            if uid != TASK:
                self.operators.setdefault((uid, place[1]), SlotTotals()).add(reading)

    def _take_counters(self, slot: int, counters: Mapping[str, int]) -> None:
        for name, count in counters.items():
            what, _, uid = name.partition(":")
            if what in _COUNTERS:
                totals = self.operators.setdefault((uid, slot), SlotTotals())
                kept = _COUNTERS[what]
                setattr(totals, kept, getattr(totals, kept) + count)

    def _remember(self, now: float) -> None:
        trail = self._trail
        if now - trail[-1][0] >= _STEP_SECONDS:
            trail.append((now, self.idle_seconds, self._flows()))
        # the last one that is older than the span is where the span begins
        while len(trail) > 1 and trail[1][0] <= now - SPAN_SECONDS:
            trail.popleft()

    def _flows(self) -> Flows:
        flows: Flows = {place: totals.flow for place, totals in self.operators.items()}
        return flows | {place: totals.flow for place, totals in self.tasks.items()}

    def rates(self, idle_so_far: float = 0.0) -> tuple[dict[Place, Rates], float]:
        """The rates of each operator and slot, and the share of time in which there was nothing to
        read. ``idle_so_far`` are the seconds since the last micro-batch that belong to that share
        and have not been added to it yet."""
        began, idle_before, before = self._trail[0]
        seconds = max(time.monotonic() - began, 1e-9)
        nothing = (0, 0, 0.0)
        rates = {
            place: _per_second(flow, before.get(place, nothing), seconds)
            for place, flow in self._flows().items()
        }
        idle = self.idle_seconds + idle_so_far - idle_before
        return rates, min(1.0, idle / seconds)

    def state_of(self, uid: str, stage: int, slot: int) -> tuple[int, int]:
        """Records and bytes that an operator's state has in one slot."""
        held = self.sizes.get((stage, slot), {})
        mine = [size for table, size in held.items() if uid_of_table(table) == uid]
        return sum(entries for entries, _ in mine), sum(size for _, size in mine)


def _per_second(
    now: tuple[int, int, float], before: tuple[int, int, float], seconds: float
) -> Rates:
    return Rates(*((a - b) / seconds for a, b in zip(now, before, strict=True)))
