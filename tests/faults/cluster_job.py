"""A keyed count on a standalone cluster, with its checkpoint in S3:
``python -m tests.faults.cluster_job MASTER URL OPTIONS``. It is run by each
engine, from the beginning. Prints the results of both."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from scurry.common import Configuration
from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    """How often a key has come, and which directory its process has for temporary files."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value(), os.environ["TMPDIR"]


def main(master: str, location: str, options: dict[str, str]) -> None:
    """Count 40 records of ten keys, by each engine."""
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder.config("spark.log.level", "FATAL").config("spark.executor.memory", "512m").getOrCreate()
    for engine in (MICRO_BATCH, LIVE):
        count(engine, f"{location}/{engine}", options)


def count(engine: str, location: str, options: dict[str, str]) -> None:
    """Count once."""
    settings = {
        "execution.engine": engine,
        "execution.checkpointing.dir": location,
        "scurry.batch.max-records": "8",
        **{f"scurry.checkpoint.store.{name}": value for name, value in options.items()},
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(2)
    numbers = env.from_collection([i % 10 for i in range(40)])
    counted = numbers.key_by(lambda e: e).process(Count()).uid("count")
    print("RESULT" + engine + " " + json.dumps(list(counted.execute_and_collect())))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
