"""Starting a compiled job on Spark, as the configuration says."""

from __future__ import annotations

from collections.abc import Callable

from scurry.common.configuration import Configuration
from scurry.common.restart_strategy import RestartStrategyConfiguration
from scurry.common.state_recovery import IGNORE_UNCLAIMED_STATE, IGNORE_UNCLAIMED_STATE_OLDER
from scurry.engine.job import Job
from scurry.engine.progress import Progress
from scurry.engine.restarts import restarts_of
from scurry.engine.spark.dependencies import provide
from scurry.engine.spark.runner import SparkJob
from scurry.engine.spark.session import obtain_session

_DEFAULT_RECORDS = 500_000


def launch(
    job: Job,
    configuration: Configuration,
    strategy: RestartStrategyConfiguration | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> SparkJob:
    """Start ``job``; returns at once."""
    settings = configuration.to_dict()
    for_spark = {key: value for key, value in settings.items() if key.startswith("spark.")}
    session = obtain_session(for_spark)
    dependencies = provide(session.sparkContext, configuration)
    interval = configuration.get_duration("execution.checkpointing.interval", None)
    running = SparkJob(
        session,
        job,
        directory=settings.get("execution.checkpointing.dir")
        or settings.get("state.checkpoints.dir"),
        max_records=int(configuration.get_integer("scurry.batch.max-records", _DEFAULT_RECORDS)),
        local_dir=settings.get("scurry.state.local-dir", ""),
        restarts=restarts_of(strategy, configuration),
        trigger=None if interval is None else f"{interval} milliseconds",
        on_progress=on_progress,
        dependencies=dependencies,
        allow_non_restored_state=_allows_non_restored_state(configuration),
    )
    running.start()
    return running


def _allows_non_restored_state(configuration: Configuration) -> bool:
    older = configuration.get_boolean(IGNORE_UNCLAIMED_STATE_OLDER, False)
    return bool(configuration.get_boolean(IGNORE_UNCLAIMED_STATE, older))
