"""PyFlink: tumbling windows of 10 s with a ``ProcessWindowFunction``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from pyflink.datastream import DataStream, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows

from benchmarks.contenders.pyflink import COUNTS, Tally, main


class TimeOfEvent(TimestampAssigner):
    """The third column."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[2])


class CountOfWindow(ProcessWindowFunction):
    """Counts the elements of a window."""

    def __init__(self, tallies: str) -> None:
        self.tally = Tally(tallies)

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterator[tuple[int, int]]:
        count = sum(1 for _ in elements)
        self.tally.add(count)
        yield key, count

    def close(self) -> None:
        self.tally.write()


def window_count(events: DataStream, tallies: str) -> DataStream:
    """The job."""
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfEvent())
    return (
        events.assign_timestamps_and_watermarks(in_order)
        .key_by(lambda event: event[0], key_type=Types.LONG())
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .process(CountOfWindow(tallies), output_type=COUNTS)
    )


if __name__ == "__main__":
    main(window_count)
