"""A table of NEXMark as a source of columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ProgramError
from scurry.connectors.nexmark.shape import NexmarkShape
from scurry.connectors.nexmark.tables import TABLES, rows_among, rows_of
from scurry.functions.source import (
    LAG,
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

_READ_ROWS = 65_536
#: The number of events of a source that does not end.
_ENDLESS = 1 << 60


class NexmarkSource(Source):
    """The table ``person``, ``auction`` or ``bid`` of the first ``events`` events, without an end
    if that is None. Rows come in the order of event time, cut into as many partitions as the source
    has tasks, in turn. With ``rate`` they come no faster than that many events, of all tables
    together, a second of the clock."""

    columnar = True
    changelog = ChangelogMode.INSERT_ONLY

    def __init__(
        self,
        table: str,
        events: int | None = None,
        shape: NexmarkShape | None = None,
        rate: float | None = None,
    ) -> None:
        if table not in TABLES:
            raise ProgramError(f"NEXMark has the tables {', '.join(TABLES)}, and not {table!r}.")
        if events is not None and events < 0:
            raise ProgramError(f"NexmarkSource: events must not be negative, got {events}.")
        if rate is not None and rate <= 0:
            raise ProgramError(f"NexmarkSource: rate must be positive, got {rate}.")
        self.bounded = events is not None
        self.relation: pa.Schema = TABLES[table][0]
        self._table = table
        self._events = _ENDLESS if events is None else events
        self._shape = replace(shape) if shape is not None else NexmarkShape()
        self._rate = rate

    @property
    def position_form(self) -> str:
        return f"{type(self).__name__} {self._table}"

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Rows(self._table, self._events, parallelism, self._rate)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        first, end, lane, lanes = what
        for at in range(first, end, _READ_ROWS):
            rows = rows_of(self._table, at, min(at + _READ_ROWS, end), self._shape)
            if lanes > 1:
                mine = np.arange((lane - at) % lanes, rows.num_rows, lanes)
                rows = rows.take(pa.array(mine))
            yield SourceBatch(columns=rows)


class _Rows(SourceEnumerator):
    """Numbers of rows, up to those that ``events`` events have, no faster than ``rate``."""

    def __init__(
        self,
        table: str,
        events: int,
        lanes: int,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._count = rows_among(table, events)
        self._lanes = lanes
        self._rate = rate
        self._clock = clock
        self._began: tuple[float, int] | None = None
        #: None where there is no end and no rate, so that nothing can be behind
        self._left: int | None = None

    def partitions(self) -> list[str]:
        return [str(lane) for lane in range(self._lanes)]

    def initial_position(self) -> Json:
        return 0

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        there = min(self._count, self._allowed(position))
        end = max(position, min(there, position + max_records))
        if there < rows_among(self._table, _ENDLESS):
            self._left = max(0, there - end)
        ranges = [
            ReadRange(str(lane), [position, end, lane, self._lanes])
            for lane in range(self._lanes)
            if end > position
        ]
        return ReadPlan(end, ranges, finished=end >= self._count)

    def _allowed(self, position: int) -> int:
        """Up to which row the rate lets us go now."""
        if self._rate is None:
            return self._count
        now = self._clock()
        if self._began is None:
            self._began = now, position
        began, first = self._began
        return first + rows_among(self._table, int((now - began) * self._rate))

    def gauges(self) -> dict[str, int]:
        return {} if self._left is None else {LAG: self._left}
