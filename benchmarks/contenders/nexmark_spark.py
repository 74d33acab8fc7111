"""NEXMark in Spark's streaming SQL, of those queries that Spark accepts.

Results are appended where Spark can, otherwise updated. Micro-batches have a million rows; state is
in RocksDB with checkpoints after each of them. A query that Spark refuses says why.
"""

from __future__ import annotations

import json
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import LongType

from benchmarks.contenders import _nexmark, _spark

_FILES_PER_BATCH = 5
_COLUMNS = {"BIGINT": "long", "STRING": "string", "TIMESTAMP(3)": "timestamp_ntz"}


def declare(spark: SparkSession, options: Any) -> None:
    """The tables as streams of files, the fixed one as a table."""
    for name, columns in _nexmark.TABLES.items():
        place = str(options.data / name)
        if "dateTime" not in columns:
            spark.read.parquet(place).createOrReplaceTempView(name)
            continue
        pairs = [one.split() for one in columns.split(", ") if " AS " not in one]
        schema = ", ".join(f"{column} {_COLUMNS[kind]}" for column, kind in pairs)
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", _FILES_PER_BATCH)
        timed = reader.parquet(place).selectExpr("*", "CAST(`dateTime` AS TIMESTAMP) AS at")
        rows = timed.drop("dateTime").withColumnRenamed("at", "dateTime")
        rows.withWatermark("dateTime", "4 seconds").createOrReplaceTempView(name)


def run(spark: SparkSession, text: str, checkpoint: str) -> None:
    """Run a query into nothing, until its input is used up."""
    failure: Exception | None = None
    for mode in ("append", "update"):
        writer = spark.sql(text).writeStream.format("noop").outputMode(mode)
        writer = writer.option("checkpointLocation", f"{checkpoint}-{mode}")
        try:
            writer.trigger(availableNow=True).start().awaitTermination()
        except Exception as refused:
            failure = failure or refused
        else:
            return
    assert failure is not None
    raise failure


def main() -> None:
    """Run all queries."""
    options = _nexmark.options()
    spark = _spark.session(options.parallelism, spark_sql_session_timeZone="UTC")
    spark.udf.register("count_char", _nexmark.count_char, LongType())
    declare(spark, options)
    for name, text in json.loads(options.queries.read_text()).items():
        began = time.time()
        try:
            run(spark, text, str(options.work / name))
        except Exception as failure:
            said: dict[str, Any] = {"query": name, "failed": str(failure).splitlines()[0][:300]}
        else:
            said = {"query": name, "seconds": round(time.time() - began, 3)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
