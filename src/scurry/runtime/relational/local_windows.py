"""Windows of points in time (TIMESTAMP_LTZ), in the time that clocks in the session's zone show.

A day of such windows is a day of the zone, of 23 or 25 hours where clocks are set, and
``window_start`` and ``window_end`` are TIMESTAMPs without a zone. So operators on windows work in
local time throughout: here watermarks become local before an operator sees them, and what it sends
stands at points in time again.

Where clocks are set back, local times occur twice: what happened in either hour is in the same
windows, and local time has passed such a time when its second occurrence has passed. Where they are
set forward, the local times that are left out pass all at once. Both as in Flink.
"""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.expressions.zones import to_local, to_utc, zone_name
from scurry.runtime.relational.relation import RelationalOperator
from scurry.runtime.relational.session_aggregate import SessionAggregateOperator
from scurry.runtime.relational.session_partials import SessionPartialsOperator
from scurry.runtime.relational.session_rows import SessionRowsOperator
from scurry.runtime.relational.window_aggregate import WindowAggregateOperator
from scurry.runtime.relational.window_join import WindowJoinOperator
from scurry.runtime.relational.window_rows import WindowRankOperator
from scurry.runtime.relational.window_table import WindowTableOperator
from scurry.runtime.specs import OperatorSpec

_UTC, _LOCAL = pa.timestamp("ms", "UTC"), pa.timestamp("ms")
#: the years 2 to 9998 in ms: watermarks beyond mean "before all" and "after all"
_FIRST, _LAST = -62_104_060_800_000, 253_370_764_800_000


class LocalClock:
    """What clocks in a zone show at points in time, and back; all in ms since 1970."""

    def __init__(self, zone: str) -> None:
        self._zone = zone

    def local(self, instants: Longs) -> Longs:
        """What clocks show."""
        return _within(
            instants, lambda some: _longs(to_local(pa.array(some).cast(_UTC), self._zone))
        )

    def instants(self, local: Longs) -> Longs:
        """When clocks show that, for the first time."""
        return _within(local, lambda some: _longs(to_utc(pa.array(some).cast(_LOCAL), self._zone)))

    def last_instants(self, local: Longs) -> Longs:
        """When clocks show that for the last time, or later for the first time."""
        return _within(local, self._last_instants)

    def _last_instants(self, local: Longs) -> Longs:
        column = pa.array(local).cast(_LOCAL)
        return _longs(
            pc.assume_timezone(
                column, zone_name(self._zone), ambiguous="latest", nonexistent="latest"
            )
        )

    def passed(self, watermarks: Longs) -> Longs:
        """The greatest local times that have passed for the last time."""
        return _within(watermarks, self._passed)

    def _passed(self, watermarks: Longs) -> Longs:
        found = self.local(watermarks)
        again = np.flatnonzero(self.last_instants(found) > watermarks)
        if len(again):
            found = found.copy()
            found[again] = [
                _before_repetition(self._zone, mark) for mark in watermarks[again].tolist()
            ]
        return found


def _longs(column: pa.Array) -> Longs:
    found: Longs = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


def _within(values: Longs, change: Any) -> Longs:
    """Those of the values changed that are times."""
    times = (values > _FIRST) & (values < _LAST)
    if times.all():
        found: Longs = change(values)
        return found
    made = values.copy()
    if times.any():
        made[times] = change(values[times])
    return made


@lru_cache(maxsize=10_000)
def _before_repetition(zone: str, mark: int) -> int:
    """The last local time before those that clocks, soon set back, show again after ``mark``."""
    clock = LocalClock(zone)

    def offset(at: int) -> int:
        return int(clock.local(np.array([at], dtype=np.int64))[0]) - at

    low, before = mark, offset(mark)
    high = int(clock.last_instants(np.array([mark + before], dtype=np.int64))[0])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(middle) == before else (low, middle)
    return high + offset(high) - 1


class LocalWindowTableOperator(WindowTableOperator):
    """Windows of rows in local time."""

    def __init__(self, spec: OperatorSpec, *arguments: Any) -> None:
        *others, zone = arguments
        super().__init__(spec, *others)
        self._clock = LocalClock(zone)

    def local_times(self, instants: Longs) -> Longs:
        return self._clock.local(instants)

    def instants_of(self, local: Longs) -> Longs:
        return self._clock.instants(local)


if TYPE_CHECKING:
    _Operator = RelationalOperator
else:
    _Operator = object


class LocalWindows(_Operator):
    """An operator on windows in event time, in local time."""

    def __init__(self, spec: OperatorSpec, *arguments: Any) -> None:
        *others, zone = arguments
        super().__init__(spec, *others)
        self._clock = LocalClock(zone)

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        *others, zone = arguments
        return {**super().layout_parameters(*others), "zone": zone}  # type: ignore[misc]

    def local_times(self, instants: Longs) -> Longs:
        return self._clock.local(instants)

    def instants_of(self, local: Longs) -> Longs:
        return self._clock.instants(local)

    def begin(self, watermark: int) -> None:
        super().begin(self._mark(watermark))

    def advance(self, watermark: int) -> None:
        super().advance(self._mark(watermark))

    def process(self, batch: Batch, port: int = 0) -> None:
        super().process(self._seen(batch), port)

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        super().process_ports(self._seen(batch), ports)

    def emit(self, batch: Batch) -> None:
        super().emit(self._placed(batch))

    def _mark(self, watermark: int) -> int:
        return int(self._clock.passed(np.array([watermark], dtype=np.int64))[0])

    def _seen(self, batch: Batch) -> Batch:
        if batch.wm is None:
            return batch
        found = copy(batch)
        found.wm = self._clock.passed(batch.wm)
        return found

    def _placed(self, batch: Batch) -> Batch:
        if batch.ts is not None:
            batch.ts = self._clock.instants(batch.ts)
        if batch.wm is not None:
            batch.wm = self._clock.last_instants(batch.wm + 1) - 1
        if batch.pos is not None:
            batch.pos = self._clock.last_instants(batch.pos)
        return batch


class LocalWindowAggregateOperator(LocalWindows, WindowAggregateOperator):
    """Aggregates of windows in local time; those of processing time follow the clock."""

    def begin(self, watermark: int) -> None:
        if self._event_time:
            super().begin(watermark)
        else:
            WindowAggregateOperator.begin(self, watermark)

    def local_now(self) -> int:
        return self._mark(self.context.now)

    def wake_for(self, local: int) -> int:
        return int(self._clock.last_instants(np.array([local], dtype=np.int64))[0])

    def _placed(self, batch: Batch) -> Batch:
        if self._event_time:
            return super()._placed(batch)
        batch.ts = None if batch.ts is None else self._clock.instants(batch.ts)
        return batch


class LocalSessionPartialsOperator(LocalWindows, SessionPartialsOperator):
    """Aggregates of sessions in local time."""


class LocalSessionAggregateOperator(LocalWindows, SessionAggregateOperator):
    """Aggregates of sessions in local time, whose rows are kept."""


class LocalSessionRowsOperator(LocalWindows, SessionRowsOperator):
    """Rows of sessions in local time."""


class LocalWindowJoinOperator(LocalWindows, WindowJoinOperator):
    """Joins of windows in local time."""


class LocalWindowRankOperator(LocalWindows, WindowRankOperator):
    """Top-N of windows in local time."""


class LocalBoundsOperator(SessionAggregateOperator):
    """Sessions of processing time: only their bounds are shown in local time."""

    def __init__(self, spec: OperatorSpec, *arguments: Any) -> None:
        *others, zone = arguments
        super().__init__(spec, *others)
        self._clock = LocalClock(zone)

    def shown_bounds(self, starts: Longs, ends: Longs) -> dict[str, Longs]:
        clock = self._clock
        return {"start": clock.local(starts), "end": clock.local(ends), "time": ends - 1}


class LocalRowBoundsOperator(LocalBoundsOperator, SessionRowsOperator):
    """The same for their rows."""
