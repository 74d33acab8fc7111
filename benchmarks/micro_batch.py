"""The floor of a micro-batch: how long one takes that has next to nothing to do.

Scurry's keyed count, also with files synced to disk before each commit, runs beside Spark's own
``groupBy(key).count()`` over the same files, 1000 events a batch, in the same process, on the same
Spark context, with as many shuffle partitions.
Spark's query runs once with Spark's defaults and once with the very settings Scurry gives to its
own queries. All take turns; only the last round counts, when the JVM has compiled what it will.

A batch is the time from one to the next, with everything in it: for Scurry from callback to
callback, for Spark's query from the start of one trigger to that of the next, as its progress says.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks import _data, _results
from benchmarks._memory import JVM, WORKERS, MemoryWatch
from benchmarks._results import DATA, OUT, Result
from benchmarks.contenders._spark import stream
from benchmarks.contenders.scurry import Count, SummingSink
from scurry.connectors.parquet import ParquetSource
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.spark.session import obtain_session, query_session

NAME = "micro_batch"
EVENTS = 1000
_KEYS = 10_000
_SLOTS = 2
_POLL_SECONDS = 0.01


@dataclass
class Run:
    """What one query showed: seconds of its batches, in order, and until the first was done."""

    batch_seconds: list[float]
    first_result_s: float
    rows: int


@dataclass(frozen=True)
class Contender:
    """A query over small files, and what to say about it."""

    name: str
    run: Callable[[SparkSession, Path, Path], Run]
    note: str


def scurry(session: SparkSession, data: Path, work: Path, synced: bool = False) -> Run:
    """Scurry's keyed count, one stage; ``session`` is active, so it takes that one."""
    marks: list[float] = []
    written = 0

    def on_progress(progress: Any) -> None:
        nonlocal written
        written = progress.records_written
        marks.append(time.perf_counter())

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(_SLOTS)
    settings = env.get_configuration()
    settings.set_string("scurry.batch.max-records", str(EVENTS))
    settings.set_string("execution.checkpointing.dir", str(work / "checkpoint"))
    settings.set_string("scurry.state.local-dir", str(work / "local"))
    settings.set_boolean("scurry.checkpoint.sync", synced)
    env.on_progress(on_progress)
    events = env.from_source(ParquetSource(data, element=tuple), None, "events")
    events.key_by(lambda event: event[0]).process(Count()).sink_to(SummingSink())
    began = time.perf_counter()
    env.execute("small batches")
    seconds = [after - before for before, after in pairwise(marks)]
    return Run([marks[0] - began, *seconds], marks[0] - began, written)


def native_defaults(session: SparkSession, data: Path, work: Path) -> Run:
    """Spark's aggregate with Spark's own defaults."""
    own = session.newSession()
    own.conf.set("spark.sql.shuffle.partitions", str(_SLOTS))
    return _aggregate(own, data, work)


def native(session: SparkSession, data: Path, work: Path) -> Run:
    """Spark's aggregate with the settings Scurry gives to its queries, and code made for it."""
    own = query_session(session, _SLOTS)
    own.conf.unset("spark.sql.codegen.wholeStage")
    return _aggregate(own, data, work)


def _aggregate(session: SparkSession, data: Path, work: Path) -> Run:
    session.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
    counts = stream(session, data, 1).groupBy("key").count()
    began = time.perf_counter()
    location = (work / "checkpoint").absolute().as_uri()
    writer = counts.writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", location).trigger(availableNow=True).start()
    first = 0.0
    while query.isActive:
        if not first and query.lastProgress is not None:
            first = time.perf_counter() - began
        time.sleep(_POLL_SECONDS)
    query.awaitTermination()
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    starts = [datetime.fromisoformat(batch["timestamp"]).timestamp() for batch in batches]
    seconds = [after - before for before, after in pairwise(starts)]
    seconds.append(batches[-1]["durationMs"]["triggerExecution"] / 1000)
    return Run(seconds, first, sum(batch["numInputRows"] for batch in batches))


CONTENDERS = (
    Contender("scurry", scurry, "from one progress callback to the next"),
    Contender("scurry_synced", partial(scurry, synced=True), "synced to disk before each commit"),
    Contender("spark_native", native, "from trigger to trigger; the settings of Scurry's queries"),
    Contender(
        "spark_native_defaults", native_defaults, "from trigger to trigger; Spark's defaults"
    ),
)


@click.command(help=__doc__.splitlines()[0])
@click.option("--batches", default=30, show_default=True, help="batches that are measured")
@click.option("--warm-up", default=5, show_default=True, help="batches before them")
@click.option("--rounds", default=3, show_default=True, help="turns, of which the last counts")
def main(batches: int, warm_up: int, rounds: int) -> None:
    """Measure all contenders in this process."""
    console = Console(stderr=True, highlight=False)
    data = _data.small_files(DATA, batches + warm_up, EVENTS, _SLOTS, _KEYS)
    session = obtain_session({"spark.master": f"local[{_SLOTS}]"})
    command = f"python -m benchmarks.{NAME} --batches {batches}"
    results: list[Result] = []
    for turn in range(rounds):
        results = []
        for contender in CONTENDERS:
            console.print(f"  round {turn + 1} of {rounds}: {contender.name} ...", end=" ")
            result = _measure(contender, session, data, batches + warm_up, warm_up)
            console.print(f"{result.median_batch_ms:.0f} ms")
            results.append(_results.stamp(result, command))
    order = [contender.name for contender in CONTENDERS]
    known = _results.save(NAME, results, order, partial=False)
    title = f"Micro-batches of {EVENTS} events, {_results.machine()}"
    _results.show(title, known, {})
    for other in known[1:]:
        times = (known[0].median_batch_ms or 0) / (other.median_batch_ms or 1)
        print(f"  A batch of Scurry takes {times:.2f} times as long as one of {other.contender}.")
    session.stop()


def _measure(
    contender: Contender, session: SparkSession, data: Path, expected: int, warm_up: int
) -> Result:
    work = OUT / "work" / NAME
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with MemoryWatch(os.getpid()) as watch:
        run = contender.run(session, data, work)
    shutil.rmtree(work, ignore_errors=True)
    if len(run.batch_seconds) != expected or run.rows != expected * EVENTS:
        raise SystemExit(
            f"{contender.name} took {len(run.batch_seconds)} batches for {run.rows} rows, "
            f"expected {expected} batches of {EVENTS}."
        )
    median = statistics.median(run.batch_seconds[warm_up:])
    return Result(
        contender=contender.name,
        events=run.rows,
        output_rows=run.rows,
        events_per_s=round(EVENTS / median),
        median_batch_ms=round(median * 1000, 1),
        peak_rss_mb=watch.peak_mb(),
        jvm_rss_mb=watch.peak_mb(JVM),
        worker_rss_mb=watch.peak_mb(WORKERS),
        first_result_s=round(run.first_result_s, 2),
        wall_s=round(sum(run.batch_seconds), 2),
        keys=_KEYS,
        note=contender.note,
    )


if __name__ == "__main__":
    main()
