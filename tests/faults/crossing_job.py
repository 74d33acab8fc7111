"""A count on a cluster that goes from engine to engine by savepoints:
``python -m tests.faults.crossing_job MASTER DIRECTORY``.

The live engine's connections are encrypted. Prints the rows that each part of the way has written,
by the engine.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from scurry.common import Configuration, WatermarkStrategy
from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.state import ValueStateDescriptor
from scurry.engine.spark.class_archive import java_options
from scurry.testing import ListSink

KEYS, EACH = 20, 500
#: the engines, how many records a round or micro-batch reads, and after how many rows to stop
WAY = [(LIVE, 10, 500), (MICRO_BATCH, 1_000, 1), (LIVE, 1_000, None)]


class Count(KeyedProcessFunction):
    """How often a key has come."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value % KEYS, self.count.value()


def session(master: str) -> None:
    """Have Spark begin; processes of the cluster find the same modules as this one."""
    options = " ".join(["-XX:TieredStopAtLevel=1", *java_options()])
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "FATAL",
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.driver.extraJavaOptions": options,
        "spark.executor.extraJavaOptions": options,
    }
    SparkSession.builder.master(master).config(map=settings).getOrCreate()


def part(root: Path, engine: str, at_once: int, savepoint: str, enough: int | None) -> str:
    """Go on from ``savepoint``, if there is one, until ``enough`` rows are written or to the end;
    the next savepoint."""
    settings = {
        "execution.engine": engine,
        "execution.live.tls": "true",
        "execution.checkpointing.dir": str(root / f"checkpoint-{time.time_ns()}"),
        "execution.checkpointing.interval": "50 ms",
        "scurry.batch.max-records": str(at_once),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(2)
    if savepoint:
        env.from_savepoint(savepoint)
    sink = ListSink()
    every = NumberSequenceSource(0, KEYS * EACH - 1)
    numbers = env.from_source(every, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    counts = numbers.key_by(lambda n: n % KEYS).process(Count()).uid("count")
    # the second level changes nothing but the slot
    counts.key_by(lambda pair: pair[1]).map(lambda pair: pair).sink_to(sink).uid("sink")
    job = env.execute_async()
    if enough is not None:
        while len(sink.values) < enough:
            time.sleep(0.005)
        savepoint = job.stop_with_savepoint(False, str(root / "savepoints")).result(60)
    job.get_job_execution_result().result(60)
    print("RESULT" + json.dumps([engine, sink.values]), flush=True)
    return savepoint


def main(master: str, root: Path) -> None:
    """Go the whole way."""
    session(master)
    savepoint = ""
    for engine, at_once, enough in WAY:
        savepoint = part(root, engine, at_once, savepoint, enough)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
