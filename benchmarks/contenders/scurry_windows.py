"""Scurry: tumbling windows of 10 s with a ``ProcessWindowFunction``, written as for PyFlink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.contenders.scurry import main
from scurry.common import Time, WatermarkStrategy
from scurry.datastream import DataStream, ProcessWindowFunction
from scurry.datastream.window import TumblingEventTimeWindows


class CountOfWindow(ProcessWindowFunction):
    """Counts the elements of a window."""

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterator[tuple[int, int]]:
        yield key, sum(1 for _ in elements)


def window_count(events: DataStream) -> DataStream:
    """The job."""
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[2]
    )
    return (
        events.assign_timestamps_and_watermarks(in_order)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .process(CountOfWindow())
    )


if __name__ == "__main__":
    main(window_count)
