"""A keyed count on a standalone cluster, with its checkpoint in S3:
``python -m tests.faults.cluster_job MASTER URL OPTIONS``. It is run by each
engine, from the beginning. Prints the results of both. Then it goes on from a savepoint of a job on
one machine, which ``python -m tests.faults.cluster_job local[2] URL OPTIONS`` has made before, and
prints the results of that."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from scurry.common import Configuration
from scurry.common.object_store import ObjectStore, StoreSettings
from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor

#: Where it is written which savepoint to go on from.
SAVEPOINT = "made"


class Count(KeyedProcessFunction):
    """How often a key has come, and which directory its process has for temporary files."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value(), os.environ["TMPDIR"]


def main(master: str, location: str, options: dict[str, str]) -> None:
    """Count 40 records of ten keys, by each engine."""
    if master.startswith("local["):
        leave_savepoint(location, options)
        return
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder.config("spark.log.level", "FATAL").config("spark.executor.memory", "512m").getOrCreate()
    for engine in (MICRO_BATCH, LIVE):
        count(engine, f"{location}/{engine}", options)
    count(MICRO_BATCH, f"{location}/on", options, savepoint=f"{location}/{SAVEPOINT}")


def leave_savepoint(location: str, options: dict[str, str]) -> None:
    """Count some of the records, with a checkpoint in a directory, and end with a savepoint in the
    store. It holds the state in Spark's form."""
    with tempfile.TemporaryDirectory() as directory:
        env = environment(MICRO_BATCH, directory, options)
        numbers(env).map(slowly).print()
        batches: list[int] = []
        env.on_progress(lambda progress: batches.append(progress.batch))
        job = env.execute_async()
        while len(batches) < 2:
            time.sleep(0.01)
        made = job.stop_with_savepoint(False, location).result(60)
        job.get_job_execution_result().result(60)
        ObjectStore("s3", StoreSettings(options)).write(
            f"{location.removeprefix('s3://')}/{SAVEPOINT}", made.encode()
        )


def slowly(value: Any) -> Any:
    """The value, after a while."""
    time.sleep(0.05)
    return value


def environment(engine: str, location: str, options: dict[str, str]) -> StreamExecutionEnvironment:
    """That of a job with its checkpoint at ``location``."""
    settings = {
        "execution.engine": engine,
        "execution.checkpointing.dir": location,
        "scurry.batch.max-records": "8",
        **{f"scurry.checkpoint.store.{name}": value for name, value in options.items()},
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    return env.set_parallelism(2)


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    """The records, counted by key."""
    given = env.from_collection([i % 10 for i in range(40)]).uid("given")
    return given.key_by(lambda e: e).process(Count()).uid("count")


def count(engine: str, location: str, options: dict[str, str], savepoint: str = "") -> None:
    """Count once; from a savepoint what is left."""
    env = environment(engine, location, options)
    if savepoint:
        store = ObjectStore("s3", StoreSettings(options))
        env.from_savepoint(store.read(savepoint.removeprefix("s3://")).decode())
    name = "savepoint" if savepoint else engine
    print("RESULT" + name + " " + json.dumps(list(numbers(env).execute_and_collect())))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
