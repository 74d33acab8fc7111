"""Starting a compiled job on Spark, as the configuration says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import SparkSession

from scurry.common.any_paths import is_url
from scurry.common.configuration import Configuration
from scurry.common.descriptors import raise_descriptor_limit
from scurry.common.errors import ConfigurationError
from scurry.common.object_store import StoreSettings
from scurry.common.options import checkpoints, execution, state
from scurry.common.restart_strategy import RestartStrategyConfiguration
from scurry.engine.job import Job
from scurry.engine.pace import pause_between_batches
from scurry.engine.progress import Progress
from scurry.engine.restarts import restarts_of
from scurry.engine.spark.dependencies import Dependencies, provide
from scurry.engine.spark.runner import ClaimedCheckpoint, SparkJob
from scurry.engine.spark.session import obtain_session, renewed_session
from scurry.functions.sink import Sink
from scurry.functions.source import Source

#: A session, and what workers are to do in it.
Connection = tuple[SparkSession, Dependencies]


def launch(
    job: Job,
    configuration: Configuration,
    strategy: RestartStrategyConfiguration | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> SparkJob:
    """Start ``job``; returns at once."""
    raise_descriptor_limit()
    settings = configuration.to_dict()
    for_spark = {key: value for key, value in settings.items() if key.startswith("spark.")}
    live = job.spec.engine == execution.LIVE
    if live:
        # all tasks run for as long as the job does, and something else may be asked of the session
        needed = max(os.cpu_count() or 1, job.spec.parallelism, job.spec.ingress_tasks) + 1
        for_spark.setdefault("spark.master", f"local[{needed}]")

    def connect(obtain: Callable[[Mapping[str, str], bool], SparkSession]) -> Connection:
        session = obtain(for_spark, live)
        return session, provide(session.sparkContext, configuration)

    pause = pause_between_batches(configuration)
    location = checkpoints.CHECKPOINT_DIRECTORY.read(configuration)
    duration = checkpoints.LEASE_DURATION.read(configuration)
    # before Spark is started: a job that is refused should be refused at once
    savepoint = checkpoints.RECOVERY_PATH.read(configuration)
    _refuse_what_needs_a_file_system(location, job)
    store = StoreSettings.of(configuration)
    with ClaimedCheckpoint(location, job.spec.name, duration, savepoint, store) as claimed:
        claimed.directory.synced = checkpoints.SYNC.read(configuration)
        session, dependencies = connect(obtain_session)
        running = SparkJob(
            session,
            job,
            claimed,
            max_records=execution.BATCH_RECORDS.read(configuration),
            growing=not execution.BATCH_RECORDS.is_set(configuration),
            local_dir=state.LOCAL_DIRECTORY.read(configuration),
            restarts=restarts_of(strategy, configuration),
            trigger=None if pause is None else f"{pause} milliseconds",
            checkpoint_interval=checkpoints.CHECKPOINT_INTERVAL.read(configuration),
            on_progress=on_progress,
            dependencies=dependencies,
            allow_non_restored_state=checkpoints.IGNORE_UNCLAIMED_STATE.read(configuration),
            allow_dropped=checkpoints.ALLOW_DROPPED.read(configuration),
            configuration=configuration,
            renew=partial(connect, renewed_session),
        )
        running.start()
    return running


def _refuse_what_needs_a_file_system(location: str | None, job: Job) -> None:
    """Raise :class:`ConfigurationError` if the checkpoint is to be in an object store and the job
    has something that works with files only."""
    if location is None or not is_url(location):
        return
    owners: list[tuple[str, Source | Sink]] = [(s.uid, s.source) for s in job.spec.sources]
    owners += [(each.uid, each.sink) for each in job.sinks]
    keeping = [(uid, owner) for uid, owner in owners if owner.keeps_files]
    if keeping:
        uid, owner = keeping[0]
        raise ConfigurationError(
            f"{type(owner).__name__} (uid {uid!r}) keeps files in the checkpoint, and {location!r} "
            "is in an object store. Give a path that the driver and all executors share."
        )
