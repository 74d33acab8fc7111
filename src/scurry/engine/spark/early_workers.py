"""Python workers that are there before the first micro-batch asks for them.

A worker takes a second to appear: Spark starts a daemon, the daemon imports what workers need and
forks. A new session has nothing else to do while the first query is planned, so an empty job makes
Spark do it then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

_SCHEMA = StructType([StructField("id", LongType())])


def start_workers(session: SparkSession) -> None:
    """Have Spark start a worker for each core, beside what this thread goes on to do.

    ``session`` must have the settings of the queries to come: Spark keeps workers apart by some of
    them.
    """
    cores = session.sparkContext.defaultParallelism

    def run() -> None:
        try:
            numbers = session.range(0, cores, 1, cores)
            numbers.mapInArrow(_unchanged, _SCHEMA).write.format("noop").mode("append").save()
        except Exception:
            return  # the session was stopped meanwhile, or the first query will say what is wrong

    threading.Thread(target=run, name="scurry-early-workers", daemon=True).start()


def start_live_workers(context: SparkContext) -> None:
    """As :func:`start_workers`, for jobs of the live engine, which need none of Spark's SQL: to
    load that takes seconds."""
    cores = context.defaultParallelism

    def run() -> None:
        try:
            context.parallelize(range(cores), cores).mapPartitions(iter).collect()
        except Exception:
            return  # as above

    threading.Thread(target=run, name="scurry-early-workers", daemon=True).start()


def _unchanged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
