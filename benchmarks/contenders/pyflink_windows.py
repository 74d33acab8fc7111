"""PyFlink: tumbling windows of 10 s with a ``ProcessWindowFunction``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import DataStream, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows

from benchmarks.contenders.pyflink import COUNTS, Tally, main


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
    """The job; the table source has made timestamps and watermarks, in the JVM."""
    return (
        events.key_by(lambda event: event[0], key_type=Types.LONG())
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .process(CountOfWindow(tallies), output_type=COUNTS)
    )


if __name__ == "__main__":
    main(window_count, out_of_order_ms=0, metrics=True)
