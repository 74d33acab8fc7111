"""Plain PySpark: ``transformWithState`` as its guide shows it, one processor call per user key.

The guide's way is to read the state once when a key's rows of a micro-batch arrive and to write it
once at their end, which is Spark's best. With ``--per-event`` state is read and written for every
event, which is what the other contenders do. The state store is RocksDB with changelog checkpoints,
as for Scurry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from benchmarks.contenders import _spark
from benchmarks.contenders._protocol import Measurement, Options, count_of, padded

_Output = Row("key", "count")


class Count(StatefulProcessor):
    """Counts the rows of each key and says the new count for every row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = self.stored()
        for _ in rows:
            count += 1
            yield _Output(key[0], count)
        self.count.update((count,))

    def stored(self) -> int:
        """The count so far."""
        found = self.count.get()
        return 0 if found is None else found[0]

    def close(self) -> None:
        pass


class CountPerEvent(Count):
    """The same, with one read and one write of state for every row."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for _ in rows:
            count = self.stored() + 1
            self.count.update((count,))
            yield _Output(key[0], count)


class CountInLargeValue(Count):
    """The same as :class:`Count`, with a value of ``size`` bytes for each key."""

    def __init__(self, size: int) -> None:
        self._size = size

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "held binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = self.stored()
        for _ in rows:
            count += 1
            yield _Output(key[0], count)
        self.count.update((padded(count, self._size),))

    def stored(self) -> int:
        found = self.count.get()
        return 0 if found is None else count_of(bytes(found[0]))


def main() -> None:
    """Run the query and report."""
    parser = Options()
    parser.add_argument("--files-per-batch", type=int, default=1)
    parser.add_argument("--per-event", action="store_true")
    parser.add_argument("--value-bytes", type=int, default=0, help="0: the count is the value")
    options = parser.parse_args()
    measurement = Measurement()
    spark = _spark.session(options.parallelism)
    frame = (
        _spark.stream(spark, options.data, options.files_per_batch)
        .groupBy("key")
        .transformWithState(
            _processor(options),
            "key long, count long",
            "append",
            "none",
        )
    )
    _spark.follow(_spark.start(frame, options.work, "count"), measurement, counts=True)
    spark.stop()


def _processor(options: Any) -> Count:
    if options.value_bytes:
        return CountInLargeValue(options.value_bytes)
    return CountPerEvent() if options.per_event else Count()


if __name__ == "__main__":
    main()
