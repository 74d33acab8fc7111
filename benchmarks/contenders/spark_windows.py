"""Spark's own window aggregates: ``groupBy(window(...))`` or ``session_window``, in append mode.

Spark lets a window out one batch after its watermark has passed the window. So that the last ones
come out as well, files with a single event of a far future follow the input.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from benchmarks.contenders import _spark
from benchmarks.contenders._protocol import Measurement, Options

_FUTURE = 10**12
_WINDOWS = {
    "tumbling": lambda: F.window("time", "10 seconds"),
    "sliding": lambda: F.window("time", "60 seconds", "10 seconds"),
    "session": lambda: F.session_window("time", "1 second"),
}


def with_future(data: Path, work: Path, files: int) -> Path:
    """The input, and ``files`` files after it that close all windows."""
    view = work / "input"
    view.mkdir(parents=True)
    for file in sorted(data.iterdir()):
        os.link(file, view / file.name)
    closing = pa.table({"key": [-1], "value": [0], "ts": [_FUTURE]})
    for at in range(files):
        pq.write_table(closing, view / f"zz-{at:05d}.parquet")
        os.utime(view / f"zz-{at:05d}.parquet", (2_000_000_000 + at, 2_000_000_000 + at))
    return view


def main(kind: str) -> None:
    """Run the query and report."""
    parser = Options()
    parser.add_argument("--files-per-batch", type=int, default=5)
    options = parser.parse_args()
    measurement = Measurement()
    spark = _spark.session(options.parallelism)
    closing = 2 * options.files_per_batch
    view = with_future(options.data, options.work, closing)
    frame = (
        _spark.stream(spark, view, options.files_per_batch)
        .withColumn("time", F.timestamp_millis("ts"))
        .withWatermark("time", "0 seconds")
        .groupBy("key", _WINDOWS[kind]())
        .agg(F.count("*").alias("count"), F.sum("value").alias("sum"))
        .select((F.col("count") + F.col("sum")).alias("total"))
    )
    query = _spark.start(frame, options.work, "total")
    _spark.follow(query, measurement, counts=True, extra_events=closing, row_per_event=False)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv.pop())
