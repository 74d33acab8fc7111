"""Scurry: count and sum of a field over windows, with built-in aggregates."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow.compute as pc

from benchmarks.contenders.scurry import SummingSink, main
from scurry.common import Time, WatermarkStrategy
from scurry.datastream import DataStream
from scurry.datastream import aggregates as agg
from scurry.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from scurry.functions.sink import Records, SinkWriter, WriterContext

_WINDOWS: dict[str, WindowAssigner[Any, Any]] = {
    "tumbling": TumblingEventTimeWindows.of(Time.seconds(10)),
    "sliding": SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(10)),
    "session": EventTimeSessionWindows.with_gap(Time.seconds(1)),
}


class ColumnSummingSink(SummingSink):
    """Discards records, having added up counts and sums, without making Python objects of them."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer()


class _Writer(SinkWriter):
    def __init__(self) -> None:
        self._sum = 0

    def write(self, rows: list[Any]) -> None:
        self._sum += sum(row[3] + row[4] for row in rows)

    def write_records(self, records: Records, now: int) -> None:
        columns = records.columns
        if columns is None:
            self.write(records.rows)
        else:
            self._sum += sum(pc.sum(columns.column(at)).as_py() or 0 for at in (3, 4))

    def prepare(self) -> int:
        total, self._sum = self._sum, 0
        return total


def aggregates(kind: str) -> Any:
    """The job over windows of that kind."""

    def job(events: DataStream) -> DataStream:
        in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda event, _: event[2]
        )
        keyed = events.assign_timestamps_and_watermarks(in_order).key_by(lambda event: event[0])
        return keyed.window(_WINDOWS[kind]).aggregate(agg.count(), agg.sum(1))

    return job


if __name__ == "__main__":
    main(aggregates(sys.argv.pop()), ColumnSummingSink())
