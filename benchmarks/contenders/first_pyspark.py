"""The first result of a small job in plain PySpark: ``transformWithState`` over a stream."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from benchmarks.contenders import _spark
from benchmarks.contenders._first import EVENTS, KEYS, say_first
from benchmarks.contenders.pyspark_tws import Count


def main() -> None:
    """Count by key, and say when the first counts have arrived."""
    session = _spark.session(2)

    def arrived(frame: DataFrame, batch: int) -> None:
        if frame.collect():
            say_first()

    events: Any = session.readStream.format("rate-micro-batch").option("rowsPerBatch", EVENTS)
    query = (
        events.option("numPartitions", 2)
        .load()
        .selectExpr(f"value % {KEYS} as key")
        .groupBy("key")
        .transformWithState(Count(), "key long, count long", "append", "none")
        .writeStream.foreachBatch(arrived)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
