"""A job that is restarted on its checkpoint with another parallelism goes on as if it never was."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.spark.test_recovery import FileSink, environment

from scurry.cli.main import main
from scurry.common import Duration, Time, WatermarkStrategy
from scurry.common.errors import JobError
from scurry.common.fault_points import RESCALE_POINTS, VARIABLE
from scurry.common.job_status import JobStatus
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import KeyedProcessFunction
from scurry.datastream.functions import KeyedBroadcastProcessFunction
from scurry.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.state.local.disk import RUNS_ABOVE
from scurry.testing import ListSink, run_local

REPOSITORY = Path(__file__).parents[2]
DATA = [(f"k{i * 7 % 13}", i * 3 - i % 5) for i in range(150)]
RULES = MapStateDescriptor("rules")


class Numbered(FileSink):
    """Refuses a number that comes too late: a batch may be committed again, none before it."""

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        done = [int(file.stem) for file in self.directory.glob("*.json")]
        assert batch_id in (max(done, default=-1), max(done, default=-1) + 1), (batch_id, done)
        if batch_id not in done:
            super().commit(batch_id, messages)


class Alarm(KeyedProcessFunction):
    """Counts; a timer 20 ms after each event reports the count it then sees."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.times = runtime_context.get_list_state(ListStateDescriptor("times"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.times.add(value[1])
        ctx.timer_service().register_event_time_timer(value[1] + 20)
        yield "seen", value[0], value[1], self.count.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self.count.value(), sum(self.times.get())


class Ruled(KeyedBroadcastProcessFunction):
    """Multiplies by a factor that came with the first micro-batch, once it must be known."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value[1] > 100:
            yield "ruled", *value, value[1] * ctx.get_broadcast_state(RULES)["factor"]

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield from ()


def add_job(env: Any, sink: Any) -> None:
    """State, timers and windows of two stages, and broadcast state."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(5)
    ).with_timestamp_assigner(lambda event, _: event[1])
    source = env.from_collection(DATA).uid("events")
    keyed = source.assign_timestamps_and_watermarks(strategy).uid("times").key_by(lambda e: e[0])
    alarms = keyed.process(Alarm()).uid("alarm")
    sums = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(70)))
    totals = sums.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums")
    kinds = alarms.map(lambda row: (row[0], 1)).uid("ones").key_by(lambda row: row[0])
    wide = kinds.window(TumblingEventTimeWindows.of(Time.milliseconds(200)))
    counts = wide.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("counts")
    rules = env.from_collection([("factor", 2)]).uid("rules").broadcast(RULES)
    ruled = keyed.connect(rules).process(Ruled()).uid("ruled")
    alarms.union(
        totals.map(lambda row: ("sum", *row)).uid("named sums"),
        counts.map(lambda row: ("count", *row)).uid("named counts"),
        ruled,
    ).sink_to(sink).uid("sink")


def expected() -> Counter[tuple[Any, ...]]:
    """What one uninterrupted run without Spark gives."""
    env, sink = environment(Path("unused"), 1000, 1), ListSink()
    add_job(env, sink)
    run_local(env)
    assert Counter(row[0] for row in sink.values) > Counter(seen=149, timer=100, sum=40, count=2)
    return Counter(sink.values)


def run(
    root: Path,
    parallelism: int,
    batches: int | None = None,
    records: int = 25,
    runs_above: int = RUNS_ABOVE,
    groups: int = 128,
) -> list[int]:
    """Run the job, to its end or for so many micro-batches at least; the numbers of these."""
    env = environment(root / "ck", records, parallelism).set_max_parallelism(groups)
    env.get_configuration().set_integer("scurry.state.runs-above", runs_above)
    env.get_configuration().set_integer("scurry.state.files-above", 700)
    add_job(env, Numbered(root / "out"))
    seen: list[int] = []
    env.on_progress(lambda progress: seen.append(progress.batch))
    client = env.execute_async()
    while client.get_job_status().result() is JobStatus.RUNNING:
        if batches is not None and len(seen) >= batches:
            client.cancel().result()
            return seen
        time.sleep(0.01)
    client.get_job_execution_result().result()
    return seen


def results(root: Path) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, Numbered(root / "out").results()))


@pytest.mark.micro_batch("counts micro-batches")
@pytest.mark.parametrize("runs_above", [RUNS_ABOVE, 0], ids=["in the log", "in runs"])
def test_two_slots_become_three_and_then_one(tmp_path: Path, runs_above: int) -> None:
    (tmp_path / "out").mkdir()
    runs = [
        run(tmp_path, parallelism, batches, runs_above=runs_above, groups=groups)
        for parallelism, batches, groups in ((2, 2, 128), (3, 2, 7), (1, None, 300))
    ]
    assert any(tmp_path.glob("ck/generation-3/runs/*/*.keys")) == (runs_above == 0)
    assert any(tmp_path.glob("ck/generation-3/log/*/*"))
    numbers = [number for batches in runs for number in batches]
    assert numbers == list(range(len(numbers)))
    assert results(tmp_path) == expected()
    # of the generations before nothing is left
    kept = {place.name for place in (tmp_path / "ck").iterdir()}
    assert kept - {"status.json"} == {"driver-3", "generation-3", "job.json", "leases"}
    assert not (tmp_path / "ck" / "generation-3" / "state").exists()
    # a finished job can be started again, with yet another parallelism, and has nothing to do
    assert run(tmp_path, 2) == []
    assert run(tmp_path, 3) == []
    assert results(tmp_path) == expected()


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tests.spark.test_rescaling import run
run(Path({root!r}), {parallelism})
"""


@pytest.mark.micro_batch("counts micro-batches")
def test_a_job_that_dies_while_it_is_rescaled_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """It dies at each point of a change, and then begins another one. With ``after-sinks`` the
    first micro-batch after the change has reached the sink, and is run again with yet another
    parallelism."""
    (tmp_path / "out").mkdir()
    faults = tmp_path / "faults"
    faults.mkdir()
    run(tmp_path, 2, 1)
    for point, parallelism in zip([*RESCALE_POINTS, "after-sinks"], [3, 1, 3], strict=True):
        (faults / point).write_text("SIGKILL")
        script = tmp_path / "job.py"
        tests = str(REPOSITORY)
        script.write_text(SCRIPT.format(tests=tests, root=str(tmp_path), parallelism=parallelism))
        subprocess.run(
            [sys.executable, str(script)],
            check=False,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                VARIABLE: str(faults),
                "PYTHONPATH": str(REPOSITORY / "src"),
                "SCURRY_MASTER": "local[2]",
            },
        )
        assert (faults / f"{point}.struck").exists()
    run(tmp_path, 2)
    assert results(tmp_path) == expected()


def test_a_running_job_is_given_another_parallelism(tmp_path: Path) -> None:
    """1 -> 2 -> 5 -> 1 in one run, asked by the program and by the command."""
    (tmp_path / "out").mkdir()
    env = environment(tmp_path / "ck", 10, 1)
    add_job(env, Numbered(tmp_path / "out"))
    batches: list[int] = []
    env.on_progress(lambda progress: (batches.append(progress.batch), time.sleep(0.1)))
    client = env.execute_async()
    told = [client.rescale(2).result()]
    done = CliRunner().invoke(main, ["rescale", str(tmp_path / "ck"), "5"])
    assert done.exit_code == 0, done.output
    told += [done.stdout.strip(), client.rescale(1).result()]
    with pytest.raises(JobError, match="from 1 to 128"):
        client.rescale(129)
    client.get_job_execution_result().result()
    shown = [re.fullmatch(r"parallelism (\d), downtime [\d.]+ s", line) for line in told]
    assert [line and line[1] for line in shown] == ["2", "5", "1"]
    assert batches == list(range(len(batches)))
    assert results(tmp_path) == expected()
    again = CliRunner().invoke(main, ["rescale", str(tmp_path / "ck"), "2"])
    assert (again.exit_code, "is not running" in again.stderr) == (1, True)


class Slots(KeyedProcessFunction):
    """Says in how many slots each number is counted, and how many of its key there have been."""

    def open(self, runtime_context: Any) -> None:
        self.slots = runtime_context.get_number_of_parallel_subtasks()
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value(), self.slots


@pytest.mark.parametrize("engine", ["micro-batch", "live"])
def test_a_job_that_is_behind_takes_more_slots(tmp_path: Path, engine: str) -> None:
    """As long as what waits takes longer than a second, and within bounds."""
    (tmp_path / "out").mkdir()
    env = environment(tmp_path / "ck", 50, 1)
    settings = {
        "execution.engine": engine,
        "execution.checkpointing.interval": "50 ms",
        "scurry.rescale.by-backlog": "true",
        "scurry.rescale.max-parallelism": "2",
        "scurry.rescale.target-backlog": "1 s",
        "scurry.rescale.cool-down": "0 s",
    }
    for name, value in settings.items():
        env.get_configuration().set_string(name, value)
    source = env.from_source(NumberSequenceSource(0, 2999), None, "numbers").uid("numbers")
    slots = source.set_parallelism(1).key_by(lambda n: n % 7).process(Slots()).uid("slots")
    slots.sink_to(Numbered(tmp_path / "out")).uid("sink")
    env.on_progress(lambda progress: time.sleep(0.05))
    env.execute()
    rows = sorted(results(tmp_path).elements())
    assert [row[:2] for row in rows] == [(n, n // 7 + 1) for n in range(3000)]
    counted = [row[2] for row in rows]
    assert counted[0] == 1
    assert set(counted) == {1, 2}


def test_a_live_job_is_given_another_parallelism(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    env = environment(tmp_path / "ck", 10, 1)
    env.get_configuration().set_string("execution.engine", "live")
    env.get_configuration().set_string("execution.checkpointing.interval", "50 ms")
    add_job(env, Numbered(tmp_path / "out"))
    env.on_progress(lambda progress: time.sleep(0.1))
    client = env.execute_async()
    told = client.rescale(2).result()
    client.get_job_execution_result().result()
    assert re.fullmatch(r"parallelism 2, downtime [\d.]+ s", told)
    assert results(tmp_path) == expected()
