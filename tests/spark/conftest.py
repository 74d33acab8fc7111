"""Tests that need Spark share one local session, in one test process."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

pytest_plugins = ["scurry.testing.fixtures"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark" in str(item.path):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def session(scurry_session: SparkSession) -> SparkSession:
    return scurry_session
