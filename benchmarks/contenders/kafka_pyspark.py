"""Plain PySpark with the JVM's Kafka connector: the same job by ``transformWithState`` per key.

Parsing and writing JSON are Spark's own functions. Spark's Kafka sink writes at least once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from benchmarks.contenders import _spark
from benchmarks.contenders._kafka_options import arguments

_Output = Row("key", "sent", "count")


class Count(StatefulProcessor):
    """Counts the rows of each key; state is read and written once per key and micro-batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        found = self.count.get()
        count = 0 if found is None else found[0]
        for row in rows:
            count += 1
            yield _Output(key[0], row["sent"], count)
        self.count.update((count,))

    def close(self) -> None:
        pass


def main() -> None:
    """Run the query."""
    options = arguments()
    spark = _spark.session(options.parallelism, spark_jars=options.jars)
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", options.servers)
        .option("subscribe", options.input)
        .option("startingOffsets", "earliest")
    )
    if options.records_per_batch:
        reader = reader.option("maxOffsetsPerTrigger", options.records_per_batch)
    parsed = F.from_json(F.col("value").cast("string"), "key long, sent long")
    counted = (
        reader.load()
        .select(parsed.alias("event"))
        .select("event.key", "event.sent")
        .groupBy("key")
        .transformWithState(Count(), "key long, sent long, count long", "append", "none")
    )
    writer = (
        counted.select(F.to_json(F.struct("key", "sent", "count")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", options.servers)
        .option("topic", options.output)
        .option("checkpointLocation", f"{options.work}/checkpoint")
    )
    if options.bounded:
        writer = writer.trigger(availableNow=True)
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
