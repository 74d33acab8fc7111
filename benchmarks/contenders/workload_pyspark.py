"""Plain PySpark: the workloads with ``transformWithState``.

Its best is to read state once when a key's rows of a micro-batch arrive and to write it once at
their end; with ``--per-event`` state is used for every event, as in the other engines. A timer
counts one event in either form: Spark calls ``handleExpiredTimer`` for each.

Spark has no broadcast state. Its rules are a constant that is sent to the workers once: they could
not change while the query runs. ``--map-in-pandas`` checks them without grouping by key at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from benchmarks.contenders import _spark
from benchmarks.contenders._protocol import Measurement, Options
from benchmarks.contenders._shapes import (
    OUT_OF_ORDER_MS,
    RULES,
    TIMER_DELAY_MS,
    amount_of,
    entry_of,
    reads_list,
)

_Output = Row("key", "count")
_OUTPUT = "key long, count long"
#: The key of the event that ends the input: the watermark passes all timers before it.
_END_KEY = -1
_FAR_MS = 10**12


class Processor(StatefulProcessor):
    """What all have in common."""

    def close(self) -> None:
        pass


class CountByEntry(Processor):
    """Counts the events of each key by entry; each entry is read and written once a batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.counts = handle.getMapState("counts", "entry long", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        counts: dict[int, int] = {}
        for row in rows:
            entry = entry_of(row.ts)
            count = counts[entry] = (counts.get(entry) or self.stored(entry)) + 1
            yield _Output(key[0], count)
        for entry, count in counts.items():
            self.counts.updateValue((entry,), (count,))

    def stored(self, entry: int) -> int:
        """The count so far."""
        found = self.counts.getValue((entry,)) if self.counts.containsKey((entry,)) else None
        return 0 if found is None else int(found[0])


class CountByEntryPerEvent(CountByEntry):
    """The same, with one read and one write of state for every row."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for row in rows:
            entry = entry_of(row.ts)
            count = self.stored(entry) + 1
            self.counts.updateValue((entry,), (count,))
            yield _Output(key[0], count)


class Buffer(Processor):
    """Appends a key's rows of a batch to its list together."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.held = handle.getListState("held", "value long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        added: list[Any] = []
        for row in rows:
            total = 0
            added.append((row.value,))
            if reads_list(key[0], row.ts):
                total = self.stored() + sum(value for (value,) in added)
                self.held.clear()
                added.clear()
            yield _Output(key[0], total)
        if added:
            self.held.appendList(added)

    def stored(self) -> int:
        """The sum of the list."""
        return sum(value for (value,) in self.held.get())


class BufferPerEvent(Buffer):
    """Appends row by row."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for row in rows:
            total = 0
            self.held.appendValue((row.value,))
            if reads_list(key[0], row.ts):
                total = self.stored()
                self.held.clear()
            yield _Output(key[0], total)


class CountLater(Processor):
    """Sets a timer for every row, and counts when it fires."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        if key[0] != _END_KEY:
            for row in rows:
                self.handle.registerTimer(row.ts + TIMER_DELAY_MS)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        found = self.count.get()
        count = 1 if found is None else found[0] + 1
        self.count.update((count,))
        yield _Output(key[0], count)


class CheckRules(Processor):
    """Compares every row with its rule, a constant."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.rules = dict(RULES)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for row in rows:
            yield _Output(key[0], int(amount_of(row.ts) >= self.rules[row.value]))


def check_rules(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The same, one Python loop over each Arrow batch, in no order of keys."""
    for frame in frames:
        columns = zip(frame["value"].tolist(), frame["ts"].tolist(), strict=True)
        checked = [int(amount_of(ts) >= RULES[value]) for value, ts in columns]
        yield pd.DataFrame({"key": frame["key"], "count": checked})


#: For each workload the processor at its best, and with state used for every event.
PROCESSORS: dict[str, tuple[type[Processor], type[Processor]]] = {
    "map_state": (CountByEntry, CountByEntryPerEvent),
    "list_state": (Buffer, BufferPerEvent),
    "timers": (CountLater, CountLater),
    "broadcast_rules": (CheckRules, CheckRules),
}


def with_end(data: Path, work: Path) -> Path:
    """The same files and one more, whose only event lies so late that all timers become due.

    Spark's watermark follows the events it has seen, and it knows of no end of the input.
    """
    view = work / "input"
    view.mkdir()
    for file in sorted(data.iterdir()):
        os.link(file, view / file.name)
    pq.write_table(pa.table({"key": [_END_KEY], "value": [0], "ts": [_FAR_MS]}), view / "z.parquet")
    return view


def grouped(frame: DataFrame, options: Any) -> DataFrame:
    """The frame of what the workload's processor makes of ``frame``."""
    processor = PROCESSORS[options.workload][options.per_event]()
    mode = "none"
    if options.workload == "timers":
        behind = f"{OUT_OF_ORDER_MS} milliseconds"
        # Spark's watermark begins at 0, and an event that is not after it counts as late
        at = F.timestamp_millis(F.col("ts") + 1)
        frame = frame.withColumn("at", at).withWatermark("at", behind)
        mode = "eventTime"
    return frame.groupBy("key").transformWithState(processor, _OUTPUT, "append", mode)


def main() -> None:
    """Run the query and report."""
    parser = Options()
    parser.add_argument("--workload", choices=sorted(PROCESSORS), required=True)
    parser.add_argument("--files-per-batch", type=int, default=1)
    parser.add_argument("--per-event", action="store_true")
    parser.add_argument("--map-in-pandas", action="store_true")
    options = parser.parse_args()
    measurement = Measurement()
    spark = _spark.session(options.parallelism)
    data, extra = options.data, 0
    if options.workload == "timers":
        spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
        data, extra = with_end(data, options.work), 1
    frame = _spark.stream(spark, data, options.files_per_batch)
    if options.map_in_pandas:
        frame = frame.mapInPandas(check_rules, _OUTPUT)
    else:
        frame = grouped(frame, options)
    query = _spark.start(frame, options.work, "count")
    _spark.follow(query, measurement, counts=True, extra_events=extra)
    spark.stop()


if __name__ == "__main__":
    main()
