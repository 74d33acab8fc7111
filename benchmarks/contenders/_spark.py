"""What the plain PySpark contenders share: a session, and following a query to its end.

The session has as many cores and as much driver memory as the one Scurry makes for itself.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from benchmarks.contenders._protocol import Measurement

SCHEMA = "key long, value long, ts long"
_POLL_SECONDS = 0.25
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(cores: int, **more: str) -> SparkSession:
    """A local session with ``cores`` cores and as many shuffle partitions, and ``more`` settings,
    which have ``_`` for ``.``."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    builder = builder.master(f"local[{cores}]").appName("benchmark")
    for key, value in settings.items():
        builder = builder.config(key, value)
    made: SparkSession = builder.getOrCreate()
    return made


def stream(spark: SparkSession, data: Path, files_per_batch: int) -> DataFrame:
    """The Parquet files of ``data`` as a file stream."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_per_batch)
    return reader.parquet(data.absolute().as_uri())


def start(frame: DataFrame, work: Path, counted: str | None) -> StreamingQuery:
    """Run ``frame`` into the noop sink until the input is used up.

    Spark counts the output rows on their way, and adds up the column ``counted`` if there is one.
    """
    total = F.sum(counted) if counted else F.lit(None).cast("long")
    observed = frame.observe("output", F.count(F.lit(1)).alias("rows"), total.alias("total"))
    location = (work / "checkpoint").absolute().as_uri()
    writer = observed.writeStream.format("noop").option("checkpointLocation", location)
    return writer.trigger(availableNow=True).start()


def follow(
    query: StreamingQuery,
    measurement: Measurement,
    counts: bool,
    extra_events: int = 0,
    row_per_event: bool = True,
) -> None:
    """Wait for the end of ``query`` and report it; its batches are the marks.

    ``extra_events`` rows of the input do not count as events and give no output. Progress is
    taken from the rows that came out, or without ``row_per_event`` from those that went in.
    """
    while query.isActive:
        measurement.show(sum(progress["numInputRows"] for progress in query.recentProgress))
        time.sleep(_POLL_SECONDS)
    query.awaitTermination()
    events = rows = checksum = 0
    total = sum(progress["numInputRows"] for progress in query.recentProgress) - extra_events
    for progress in query.recentProgress:
        output = progress["observedMetrics"].get("output")
        if output is None:
            continue
        events += progress["numInputRows"]
        rows += output["rows"]
        checksum += output["total"] or 0
        measurement.mark(rows if row_per_event else min(events, total), _end_of(progress))
    measurement.finish(
        events=events - extra_events, output_rows=rows, checksum=checksum if counts else None
    )


def _end_of(progress: Any) -> float:
    began = datetime.fromisoformat(progress["timestamp"]).timestamp()
    return began + float(progress["durationMs"]["triggerExecution"]) / 1000
