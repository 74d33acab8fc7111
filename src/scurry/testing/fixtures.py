"""Fixtures for pytest: ``pytest_plugins = ["scurry.testing.fixtures"]`` in a ``conftest.py``.

``collect_cut`` runs a program on Spark, and a test that uses it runs several times: with the input
cut into micro-batches of a few records, and in the live engine, in rounds of a few records. Results
must not differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.datastream.data_stream import DataStream
from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
from scurry.testing.spark import collect_on_spark, local_session

Build = Callable[[StreamExecutionEnvironment], DataStream]


@pytest.fixture(scope="session")
def scurry_session() -> Iterator[SparkSession]:
    """A SparkSession on ``local[3]`` for the whole test run."""
    session = local_session(3)
    yield session
    session.stop()


@pytest.fixture(params=[MICRO_BATCH, LIVE])
def collect_cut(
    request: pytest.FixtureRequest, scurry_session: SparkSession
) -> Callable[..., list[Any]]:
    """Run ``build(env)`` on Spark and return the stream's elements, once for each engine."""

    def collect(build: Build, parallelism: int = 2) -> list[Any]:
        return collect_on_spark(build, 9, parallelism, execution_engine=request.param)

    return collect
