"""The same programs on a local Spark, cut into micro-batches in different ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from scurry.common.configuration import Configuration
from scurry.common.options.execution import BATCH_RECORDS
from scurry.datastream.data_stream import DataStream
from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
from scurry.engine.spark.session import obtain_session
from scurry.testing.sinks import ListSink


def local_session(cores: int = 2) -> SparkSession:
    """A session on ``local[cores]`` with the settings Scurry uses, or the one that is active."""
    return obtain_session({"spark.master": f"local[{cores}]"})


def collect_on_spark(
    build: Callable[[StreamExecutionEnvironment], DataStream],
    max_records: int | None = None,
    parallelism: int = 2,
    **settings: str,
) -> list[Any]:
    """Build a program in a fresh environment, run it on Spark, return its stream's elements.

    ``max_records`` cuts the input into micro-batches of that many records per source;
    ``settings`` are configuration keys with ``_`` for ``.``.
    """
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("_", "."), value)
    if max_records is not None:
        BATCH_RECORDS.write(configuration, max_records)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(parallelism)
    local_session()
    sink = ListSink()
    build(environment).sink_to(sink)
    environment.execute()
    return sink.values
