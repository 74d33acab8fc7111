"""Every scenario of tests/sql on Spark: cut into small batches, stopped in the middle, and gone on
with from its checkpoint at another parallelism, in the live engine.

All queries are one job, with as many sinks: its micro-batches cost hardly more than those of one.
"""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.sql.scenario import Scenario, all_scenarios, change_text, table_text

from scurry.common.configuration import Configuration
from scurry.common.job_client import JobClient
from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.connectors.tables.driver_rows import CollectRows
from scurry.datastream.transformation import Transformation
from scurry.plan import nodes
from scurry.table import EnvironmentSettings, Table, TableEnvironment
from scurry.table.relations import row_type_of

# the first test runs both jobs
pytestmark = pytest.mark.timeout(900)
RUNNING = [one for one in all_scenarios() if one.refused is None]


def environment(directory: Path, engine: str) -> TableEnvironment:
    """A table environment with small micro-batches that keeps its checkpoint."""
    settings = {
        "execution.checkpointing.dir": str(directory / "checkpoint"),
        "scurry.batch.max-records": "5",
        "execution.engine": engine,
        "table.local-time-zone": "UTC",
    }
    configured = EnvironmentSettings.new_instance().with_configuration(Configuration.of(settings))
    return TableEnvironment.create(configured.build())


def query_of(env: TableEnvironment, scenario: Scenario, root: Path) -> Table:
    """The query of a scenario; its tables are in a database of their own."""
    directory = root / scenario.name
    directory.mkdir(exist_ok=True)
    scenario.write_files(directory)
    env.execute_sql(f"CREATE DATABASE `{scenario.name}`")
    env.use_database(scenario.name)
    for statement in scenario.definitions(directory):
        env.execute_sql(statement)
    return env.sql_query(scenario.query(directory))


def run(
    root: Path, engine: str, parallelism: int, stop_after: int | None = None
) -> dict[str, list[str]]:
    """The changes that each scenario gives, until the end or the end of a micro-batch."""
    env = environment(root, engine)
    sinks, steps = {}, []
    for scenario in RUNNING:
        query = query_of(env, scenario, root)
        sinks[scenario.name] = sink = CollectRows(row_type_of(query.relation))
        inputs = [env.jobs.relation_step(query.relation)]
        steps.append(Transformation(nodes.Sink, scenario.name, inputs, sink=sink))
    started: Future[JobClient] = Future()

    def stop(progress: Any) -> None:
        if progress.batches == stop_after:
            started.result().cancel()

    env.stream_environment.on_progress(stop)
    started.set_result(env.stream_environment.execute_steps(steps, "scenarios", parallelism))
    started.result().result()
    return {
        name: [change_text(str(row.get_row_kind()), list(row)) for row in sink.rows()]
        for name, sink in sinks.items()
    }


@pytest.fixture(scope="module")
def runs(
    scurry_session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """What all scenarios give before the job is stopped, and after it went on."""
    root = tmp_path_factory.mktemp("scenarios")
    before = run(root, MICRO_BATCH, parallelism=2, stop_after=1)
    return before, run(root, LIVE, parallelism=3)


@pytest.mark.parametrize("scenario", RUNNING, ids=lambda one: one.name)
def test_scenarios_give_flinks_tables(scenario: Scenario, runs: tuple[Any, Any]) -> None:
    before, after = (run[scenario.name] for run in runs)
    assert table_text(before + after) == scenario.table


def test_jobs_were_stopped_in_the_middle(runs: tuple[Any, Any]) -> None:
    before, after = runs
    assert before["projection_and_filter"]
    assert after["projection_and_filter"]
