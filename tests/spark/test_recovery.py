"""A job that is stopped, killed or restarted goes on where it was; nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Configuration
from scurry.common.job_status import JobStatus
from scurry.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from scurry.datastream.functions import CheckpointedFunction, Sink, SinkWriter, WriterContext
from scurry.datastream.state import ListStateDescriptor, ValueStateDescriptor

REPOSITORY = Path(__file__).parents[2]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


class FileSink(Sink):
    """Writes each micro-batch to a file of its own: committing a batch again changes nothing."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Rows()

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        rows = [row for message in messages for row in message]
        draft = self.directory / f".{batch_id}"
        draft.write_text(json.dumps(rows))
        draft.rename(self.directory / f"{batch_id}.json")

    def results(self) -> list[Any]:
        return [
            row for file in self.directory.glob("*.json") for row in json.loads(file.read_text())
        ]


class _Rows(SinkWriter):
    def __init__(self) -> None:
        self.rows: list[Any] = []

    def write(self, rows: list[Any]) -> None:
        self.rows.extend(rows)

    def prepare(self) -> Any:
        rows, self.rows = self.rows, []
        return rows


def environment(checkpoints: Path | str, max_records: int, parallelism: int = 2) -> Any:
    configuration = Configuration.of(
        {
            "execution.checkpointing.dir": str(checkpoints),
            "scurry.batch.max-records": str(max_records),
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(parallelism)


DATA = [i * 31 % 10 for i in range(200)]
EXPECTED = Counter((key, n) for key in range(10) for n in range(1, 21))


class Continuous(MapFunction, CheckpointedFunction):
    """Fails unless it is given all elements in order, each once; where it stands is its state."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("at"))
        self.position = sum(self.state.get())

    def map(self, value: Any) -> Any:
        assert value == DATA[self.position], f"element {self.position} is {value}"
        self.position += 1
        return value

    def snapshot_state(self, context: Any) -> None:
        self.state.update([self.position])


def add_job(env: Any, sink: Sink) -> None:
    stream = env.from_collection(DATA).map(Continuous()).uid("continuous")
    counts = stream.key_by(lambda e: e).process(Count()).uid("count")
    counts.sink_to(sink).uid("sink")


@pytest.mark.micro_batch("counts micro-batches")
def test_a_stopped_job_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """The directory has a name in which every character has a meaning somewhere."""
    place = tmp_path / "a b%20c#d?e*[f]{g}+é"
    (tmp_path / "out").mkdir()
    sink = FileSink(tmp_path / "out")
    runs = 0
    while len(sink.results()) < 200:
        runs += 1
        batches: list[int] = []
        env = environment(place, 15)
        add_job(env, sink)
        env.on_progress(lambda progress, seen=batches: seen.append(progress.batch))
        client = env.execute_async()
        while len(batches) < 4 and client.get_job_status().result() is JobStatus.RUNNING:
            time.sleep(0.01)
        client.cancel().result()
        assert batches == sorted(set(batches))
    assert runs >= 3
    assert Counter(map(tuple, sink.results())) == EXPECTED
    # starting a finished job again does nothing
    env = environment(place, 15)
    add_job(env, sink)
    env.execute()
    assert Counter(map(tuple, sink.results())) == EXPECTED


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_recovery import FileSink, add_job, environment
env = environment(Path({root!r}) / "ck", 10)
add_job(env, FileSink(Path({root!r}) / "out"))
env.on_progress(lambda progress: print("batch", progress.batch, flush=True))
env.execute()
print("finished", flush=True)
"""


def test_a_killed_driver_loses_and_doubles_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    script = tmp_path / "job.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent), root=str(tmp_path)))
    kills = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, str(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "SCURRY_MASTER": "local[2]"},
        )
        assert process.stdout is not None
        batches = 0
        finished = False
        with process.stdout:
            for line in process.stdout:
                finished = finished or line.startswith("finished")
                batches += line.startswith("batch")
                if batches >= 5 and kills < 1:
                    os.killpg(process.pid, signal.SIGKILL)
                    kills += 1
                    break
        process.wait()
        if finished:
            break
    assert kills == 1
    assert finished
    assert Counter(map(tuple, FileSink(tmp_path / "out").results())) == EXPECTED


def test_a_changed_program_resumes_an_old_checkpoint(tmp_path: Path) -> None:
    """Spark's schema does not depend on the program: state is found again by uid."""
    (tmp_path / "out").mkdir()
    sink = FileSink(tmp_path / "out")
    env = environment(tmp_path / "ck", 1000)
    first = env.from_collection(["a", "b", "a"]).uid("letters")
    first.key_by(lambda e: e).process(Count()).uid("count").sink_to(sink).uid("sink")
    env.execute()

    env = environment(tmp_path / "ck", 1000)
    old = env.from_collection(["a", "b", "a"]).uid("letters")
    new = env.from_collection([("a", 1), ("c", 2)]).uid("pairs").map(lambda pair: pair[0])
    both = old.union(new)
    both.key_by(lambda e: e).process(Count()).uid("count").sink_to(sink).uid("sink")
    new.key_by(lambda e: e).map(lambda e: ["new", e]).sink_to(FileSink(tmp_path / "out"))
    env.execute()
    rows = {tuple(row) for row in json.loads((tmp_path / "out" / "1.json").read_text())}
    assert rows & {("a", 3), ("c", 1)} == {("a", 3), ("c", 1)} or rows == {
        ("new", "a"),
        ("new", "c"),
    }
