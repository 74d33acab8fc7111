"""Settings shared by all tests: how hard hypothesis tries, and servers to test against.

``HYPOTHESIS_PROFILE`` picks the profile by name: ``usual``, or ``long`` for many more examples.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.datastream.unstarted import forget
from scurry.testing.servers import PostgresServer, RabbitMQServer, RedisServer

settings.register_profile(
    "usual",
    derandomize=False,
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", parent=settings.get_profile("usual"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


#: In the live engine there is a checkpoint in nearly every round, as every micro-batch is one.
LIVE_EVERYWHERE = {"execution.engine": LIVE, "execution.checkpointing.interval": "1 ms"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        choices=[MICRO_BATCH, LIVE],
        default=MICRO_BATCH,
        help="runs all jobs on Spark that do not say otherwise; see SCURRY_CONF",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--engine") == LIVE:
        os.environ["SCURRY_CONF"] = json.dumps(LIVE_EVERYWHERE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/servers" in str(item.path):
            item.add_marker(pytest.mark.servers)
            item.add_marker(pytest.mark.xdist_group("servers"))


def pytest_collection_finish() -> None:
    """What was imported and collected stays, so the garbage collector need not look at it."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Tests build programs that they never start."""
    forget()


def _installed(name: str, there: bool) -> None:
    """Skip the test where a server is not installed; fail it where that must not happen."""
    if there:
        return
    reason = f"{name} is not installed: run scripts/install_servers.sh, or install it by hand"
    if os.environ.get("SCURRY_REQUIRE_SERVERS"):
        pytest.fail(reason, pytrace=False)
    print(f"\n*** NOT TESTED: {reason}", file=sys.__stderr__, flush=True)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres_installed() -> None:
    """Skips, or fails, where there is no Postgres to be had."""
    _installed("Postgres", PostgresServer.installed())


@pytest.fixture(scope="session")
def postgres_server(postgres_installed: None) -> Iterator[PostgresServer]:
    """A Postgres of our own; a test that stops it starts it again."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis of our own."""
    _installed("Redis", RedisServer.installed())
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def rabbitmq_installed() -> None:
    """Skips, or fails, where there is no RabbitMQ to be had."""
    _installed("RabbitMQ", RabbitMQServer.installed())


@pytest.fixture(scope="session")
def rabbitmq_server(rabbitmq_installed: None) -> Iterator[RabbitMQServer]:
    """A RabbitMQ of our own; a test that stops it starts it again."""
    with RabbitMQServer() as server:
        yield server
