"""The live engine: the same results, through failures, changes of the engine and savepoints."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from scurry.common import Configuration, WatermarkStrategy
from scurry.common.errors import ConfigurationError, FunctionError, JobError
from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.common.typeinfo import Types
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing import ListSink

KEYS, EACH = 20, 250
EXPECTED = Counter((key, count) for key in range(KEYS) for count in range(1, EACH + 1))


class Count(KeyedProcessFunction):
    """How many numbers of a key there were; notes in which processes it runs."""

    def __init__(self, processes: Path | None = None) -> None:
        self._processes = processes

    def open(self, ctx: Any) -> None:
        self._count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))
        if self._processes is not None:
            (self._processes / str(os.getpid())).touch()

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        if value == -1:
            raise ValueError("a number that nobody wants")
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value % KEYS, count


def environment(
    root: Path, engine: str, parallelism: int = 2, **settings: str
) -> StreamExecutionEnvironment:
    configuration = Configuration.of(
        {
            "execution.engine": engine,
            "execution.checkpointing.dir": str(root / "ck"),
            "execution.checkpointing.interval": "20 ms",
            # copies of the tasks write all that they can
            "execution.live.snapshot-above": "0",
            "execution.checkpointing.savepoint-dir": str(root / "sp"),
            "scurry.batch.max-records": "100",
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
    )
    made = StreamExecutionEnvironment.get_execution_environment(configuration)
    return made.set_parallelism(parallelism)


def counting(env: StreamExecutionEnvironment, sink: ListSink, count: Count | None = None) -> Any:
    """Two keyed levels; the second one changes nothing but the slot."""
    numbers = NumberSequenceSource(0, KEYS * EACH - 1)
    stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    counts = stream.key_by(lambda n: n % KEYS).process(count or Count()).uid("count")
    again = counts.key_by(lambda pair: pair[1]).map(lambda pair: pair)
    again.sink_to(sink).uid("sink")
    return env


def run_until(env: StreamExecutionEnvironment, sink: ListSink, wanted: int) -> Any:
    """The job, when it has written so many records."""
    client = env.execute_async()
    deadline = time.monotonic() + 100
    while len(sink.values) < wanted and time.monotonic() < deadline:
        time.sleep(0.005)
    return client


def stopped(client: Any) -> None:
    client.cancel().result()
    client._job.wait()


def test_a_job_goes_on_in_the_other_engine_and_with_other_slots(tmp_path: Path) -> None:
    sink = ListSink()
    course = ((LIVE, 2), (MICRO_BATCH, 2), (LIVE, 1), (LIVE, 2))
    for number, (engine, parallelism) in enumerate(course, start=1):
        env = counting(environment(tmp_path, engine, parallelism), sink)
        assert f"{engine} engine" in env.explain()
        stopped(run_until(env, sink, number * 600))
        assert not Counter(sink.values) - EXPECTED, "nothing twice, at no time"
    at_once = {"scurry.batch.max-records": "5000"}
    counting(environment(tmp_path, MICRO_BATCH, **at_once), sink).execute()
    assert Counter(sink.values) == EXPECTED


def test_a_worker_that_is_killed_costs_nothing(tmp_path: Path) -> None:
    sink, processes = ListSink(), tmp_path / "processes"
    processes.mkdir()
    restarts = {
        "restart-strategy_type": "fixed-delay",
        "restart-strategy_fixed-delay_attempts": "3",
        "restart-strategy_fixed-delay_delay": "10 ms",
    }
    env = counting(environment(tmp_path, LIVE, **restarts), sink, Count(processes))
    client = run_until(env, sink, 500)
    victims = [int(path.name) for path in processes.iterdir()]
    os.kill(victims[0], signal.SIGKILL)
    client.get_job_execution_result().result(100)
    assert client.get_job_metrics().num_restarts == 1
    assert client.get_job_metrics().engine == LIVE
    assert len(list(processes.iterdir())) > len(victims)
    assert Counter(sink.values) == EXPECTED


def test_a_savepoint_ends_a_live_job_and_begins_another(tmp_path: Path) -> None:
    sink = ListSink()
    # so many rounds that the job is not over before it is asked, however slow the machine is
    slowly = environment(tmp_path, LIVE, **{"scurry.batch.max-records": "10"})
    client = run_until(counting(slowly, sink), sink, 500)
    first = client.trigger_savepoint().result(60)
    path = client.stop_with_savepoint(False).result(60)
    client._job.wait()
    held = Counter(sink.values)
    assert not held - EXPECTED
    assert held != EXPECTED
    for name, savepoint, engine in (("a", path, LIVE), ("b", first, MICRO_BATCH)):
        other = ListSink()
        env = environment(tmp_path / name, engine).from_savepoint(savepoint)
        counting(env, other).execute()
        found = Counter(other.values)
        assert not found - EXPECTED
        if savepoint == path:
            assert held + found == EXPECTED, "the job has done just what is in the savepoint"
        else:
            assert held + found >= EXPECTED


def test_a_failing_function_is_told_as_in_the_other_engine(tmp_path: Path) -> None:
    env = environment(tmp_path, LIVE)
    env.from_collection([1, -1, 2]).key_by(lambda n: n).process(Count()).name("picky").print()
    with pytest.raises(FunctionError, match=r"a number that nobody wants") as told:
        env.execute()
    assert "picky" in str(told.value)
    assert "-1" in str(told.value)


def test_more_tasks_than_slots_are_refused_at_once(tmp_path: Path) -> None:
    env = environment(tmp_path, LIVE, 64)
    env.from_collection([1]).key_by(lambda n: n).process(Count()).print()
    with pytest.raises(ConfigurationError, match=r"all 64 tasks .* has \d+ slots\. .*set_parall"):
        env.execute()


def test_a_slot_is_left_for_what_spark_does_beside(tmp_path: Path, session: SparkSession) -> None:
    """Else the tasks would have all slots, and wait for ever for what they are to read."""
    slots = int(session.sparkContext.defaultParallelism)
    env = environment(tmp_path, LIVE, slots)
    rows = env.from_data_frame(session.range(20)).uid("frame")
    rows.key_by(lambda row: row.id).process(Count()).print()
    more = "needs one more slot, in which Spark works for 'frame', and"
    told = rf"all {slots} tasks .* {more} .* parallelism of {slots - 1} or less"
    with pytest.raises(ConfigurationError, match=told):
        env.execute()


def test_a_job_whose_slots_others_have_says_so(tmp_path: Path, session: SparkSession) -> None:
    """One of the session's slots is taken for a while."""
    context, group = session.sparkContext, "others"
    slots = int(context.defaultParallelism)

    def others() -> None:
        context.setJobGroup(group, "somebody else's", interruptOnCancel=True)
        with suppress(Exception):
            context.parallelize(range(slots), slots).foreach(lambda _: time.sleep(60))

    def active() -> int:
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(number) for job in jobs if job for number in job.stageIds]
        return sum(stage.numActiveTasks for stage in stages if stage)

    taken = threading.Thread(target=others)
    taken.start()
    try:
        deadline = time.monotonic() + 60
        while active() < slots and time.monotonic() < deadline:
            time.sleep(0.01)
        env = environment(tmp_path, LIVE, **{"execution.live.wait-for-slots": "1 s"})
        env.from_collection([1]).key_by(lambda n: n).process(Count()).print()
        with pytest.raises(JobError, match=r"started 0 of the 2 tasks .* other jobs seem to have"):
            env.execute()
    finally:
        context.cancelJobGroup(group)
        taken.join()
