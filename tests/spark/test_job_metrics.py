"""A running job on Spark, seen from its own process, from another one, and by Prometheus."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from scurry.checkpoint.contents import read_contents
from scurry.common import Configuration, JobClient, Types, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from scurry.datastream.connectors.datagen import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)
from scurry.datastream.state import ValueStateDescriptor
from scurry.engine.status import status_of
from scurry.testing import ListSink

KEYS = 10


class Numbers(GeneratorFunction):
    def map(self, value: int) -> int:
        return value


class Counting(KeyedProcessFunction):
    """Counts elements by key, and fails once."""

    def __init__(self, once: str) -> None:
        self._once = Path(once)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        if value == 50 and not self._once.exists():
            self._once.touch()
            raise ValueError("for once")
        self.count.update((self.count.value() or 0) + 1)
        self.seen.inc()
        yield value


def eventually(true: Callable[[], Any], seconds: float = 150.0) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = true()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("not in time")


def start(directory: Path, once: Path) -> JobClient:
    configuration = Configuration.of(
        {
            "execution.checkpointing.dir": str(directory),
            "metrics.reporter.prom.port": "0",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "3",
            "restart-strategy.fixed-delay.delay": "10 ms",
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = DataGeneratorSource(Numbers(), 1_000_000, RateLimiterStrategy.per_second(200))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    keyed = stream.key_by(lambda n: n % KEYS).process(Counting(str(once))).uid("count")
    keyed.sink_to(ListSink()).uid("sink")
    return env.execute_async("numbers by key")


def test_metrics_while_the_job_runs(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoint"
    client = start(directory, tmp_path / "once")
    try:
        eventually(lambda: client.get_job_metrics().operator("count").num_records_in > 100)
        metrics = client.get_job_metrics()
        assert metrics.state == "RUNNING"
        assert metrics.num_restarts == 1
        assert "for once" in metrics.last_failure
        count, sink = metrics.operator("count"), metrics.operator("sink")
        assert {slot.slot for slot in count.slots} == {0, 1}
        assert count.num_records_out == count.num_records_in == sink.num_records_out
        assert count.state_entries == KEYS
        assert count.user["seen"] == count.num_records_in
        assert count.num_records_in_per_second > 0
        assert metrics.last_checkpoint_duration > 0
        _seen_from_elsewhere(directory)
        _scraped(directory)
    finally:
        client.cancel().result()
    ended = status_of(str(directory))
    assert ended is not None
    assert ended.signs == "canceled"
    contents = read_contents(str(directory))
    assert contents.batch == metrics_at_the_end(client)
    (stored,) = [each for each in contents.operators if each.uid == "count"]
    (state,) = stored.states
    assert (state.name, state.entries) == ("count", KEYS)


def metrics_at_the_end(client: JobClient) -> int:
    return client.get_job_metrics().last_completed_checkpoint_id


def _seen_from_elsewhere(directory: Path) -> None:
    """Another process finds the job by its directory, while it runs."""
    eventually(lambda: _told(str(directory))["metrics"]["numRestarts"] == 1)
    found = _told(str(directory))
    assert (found["pid"], found["signs"]) == (os.getpid(), "running")
    assert found["metrics"]["name"] == "numbers by key"
    (count,) = [each for each in found["metrics"]["operators"] if each["uid"] == "count"]
    assert count["stateEntries"] == KEYS


def _told(*arguments: str) -> Any:
    command = [sys.executable, "-m", "scurry.cli.main", "status", *arguments, "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    (found,) = json.loads(done.stdout)
    return found


def _scraped(directory: Path) -> None:
    status = status_of(str(directory))
    assert status is not None
    with urllib.request.urlopen(status.prometheus, timeout=10) as answer:
        text = answer.read().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    counted = families["scurry_operator_numRecordsIn"].samples
    slots = {s.labels["subtask_index"] for s in counted if s.labels["operator_id"] == "count"}
    assert slots == {"0", "1"}
    assert [sample.value for sample in families["scurry_job_numRestarts"].samples] == [1]
