"""Starting a compiled job on Spark, as the configuration says."""

from __future__ import annotations

from collections.abc import Callable

from scurry.common.configuration import Configuration
from scurry.common.options import checkpoints, execution, state
from scurry.common.restart_strategy import RestartStrategyConfiguration
from scurry.engine.job import Job
from scurry.engine.progress import Progress
from scurry.engine.restarts import restarts_of
from scurry.engine.spark.dependencies import provide
from scurry.engine.spark.runner import SparkJob
from scurry.engine.spark.session import obtain_session


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
    interval = checkpoints.CHECKPOINT_INTERVAL.read(configuration)
    running = SparkJob(
        session,
        job,
        directory=checkpoints.CHECKPOINT_DIRECTORY.read(configuration),
        max_records=execution.BATCH_RECORDS.read(configuration),
        local_dir=state.LOCAL_DIRECTORY.read(configuration),
        restarts=restarts_of(strategy, configuration),
        trigger=None if interval is None else f"{interval} milliseconds",
        on_progress=on_progress,
        dependencies=dependencies,
        allow_non_restored_state=checkpoints.IGNORE_UNCLAIMED_STATE.read(configuration),
    )
    running.start()
    return running
