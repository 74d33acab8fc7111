"""Fixtures for pytest: ``pytest_plugins = ["scurry.testing.fixtures"]`` in a ``conftest.py``.

``collect_cut`` runs a program on Spark, and a test that uses it runs several times: with the input
cut into micro-batches of a few records, and not cut at all. Results must not differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from scurry.datastream.data_stream import DataStream
from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
from scurry.testing.spark import collect_on_spark, local_session

Build = Callable[[StreamExecutionEnvironment], DataStream]


@pytest.fixture(scope="session")
def scurry_session() -> Iterator[SparkSession]:
    """A SparkSession on ``local[2]`` for the whole test run."""
    session = local_session(2)
    yield session
    session.stop()


@pytest.fixture(params=[9, None], ids=lambda size: f"cut-{size or 'none'}")
def collect_cut(
    request: pytest.FixtureRequest, scurry_session: SparkSession
) -> Callable[..., list[Any]]:
    """Run ``build(env)`` on Spark and return the stream's elements, once per way of cutting."""

    def collect(build: Build, parallelism: int = 2) -> list[Any]:
        return collect_on_spark(build, request.param, parallelism)

    return collect
