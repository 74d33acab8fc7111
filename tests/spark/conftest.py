"""Tests that need Spark share one local session, in one test process.

With SCURRY_CONF='{"execution.engine": "live"}' all jobs are run by the live engine that do not say
otherwise.
"""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from scurry.common.options.execution import LIVE
from scurry.testing.spark import local_session

if f'"{LIVE}"' in os.environ.get("SCURRY_CONF", ""):
    # the first session counts, and all tasks of a job need a slot at the same time
    local_session(9)

pytest_plugins = ["scurry.testing.fixtures"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark" in str(item.path):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def session(scurry_session: SparkSession) -> SparkSession:
    return scurry_session
