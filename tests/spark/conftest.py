"""Tests that need Spark share one local session, in one test process.

With ``--engine live`` all jobs are run by the live engine that do not say otherwise; so they are
with SCURRY_CONF='{"execution.engine": "live"}'. Tests of what only micro-batches have are marked
``micro_batch``, with a reason, and left out then.
"""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from scurry.common.options.execution import LIVE
from scurry.testing.spark import local_session

pytest_plugins = ["scurry.testing.fixtures"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark" in str(item.path):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
            about = item.get_closest_marker("micro_batch")
            if about is not None and _is_live():
                item.add_marker(pytest.mark.skip(reason=about.args[0]))


def _is_live() -> bool:
    return f'"{LIVE}"' in os.environ.get("SCURRY_CONF", "")


@pytest.fixture(scope="session", autouse=True)
def session(request: pytest.FixtureRequest) -> SparkSession:
    if _is_live():
        # the first session counts, and all tasks of a job need a slot at the same time
        local_session(9)
    found: SparkSession = request.getfixturevalue("scurry_session")
    return found
