"""Savepoints of running jobs: taken without a stop, moved elsewhere, started from, exactly once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.spark.test_recovery import EXPECTED, FileSink, add_job, environment

from scurry.checkpoint.savepoint_manifest import read_manifest
from scurry.cli.main import main
from scurry.common import Time, Types, WatermarkStrategy
from scurry.common.errors import ConfigurationError, StateError
from scurry.common.fault_points import SAVEPOINT_POINTS, VARIABLE
from scurry.common.job_status import JobStatus
from scurry.common.options.state import RUNS_ABOVE
from scurry.connectors.datagen import DataGeneratorSource
from scurry.datastream.window import TumblingEventTimeWindows

REPOSITORY = Path(__file__).parents[2]


def sink_in(place: Path) -> FileSink:
    place.mkdir(exist_ok=True)
    return FileSink(place)


def started(env: Any, sink: FileSink, batches: int) -> Any:
    """The job, running, with some micro-batches behind it."""
    seen: list[int] = []
    add_job(env, sink)
    env.on_progress(lambda progress: seen.append(progress.batch))
    client = env.execute_async()
    deadline = time.monotonic() + 120
    while len(seen) < batches and time.monotonic() < deadline:
        time.sleep(0.01)
    return client


def test_stopped_with_a_savepoint_and_continued_elsewhere(tmp_path: Path) -> None:
    sink = sink_in(tmp_path / "out")
    env = environment(tmp_path / "ck", 12)
    client = started(env, sink, 3)
    path = client.stop_with_savepoint(False, str(tmp_path / "sp")).result(120)
    client.get_job_execution_result().result(60)
    assert client.get_job_status().result() is JobStatus.FINISHED
    before = sink.results()
    assert 0 < len(before) < 200
    manifest = read_manifest(Path(path))
    assert manifest.contents.batch == len(list(sink.directory.glob("*.json"))) - 1
    # the checkpoint is not needed any more, and the savepoint may be moved
    shutil.rmtree(tmp_path / "ck")
    moved = shutil.move(path, tmp_path / "elsewhere")
    again = environment(tmp_path / "another", 12).from_savepoint(str(moved))
    add_job(again, sink)
    again.execute()
    assert Counter(map(tuple, sink.results())) == EXPECTED
    # the same program, started once more, goes on with its own checkpoint, which is at its end
    once_more = environment(tmp_path / "another", 12).from_savepoint(str(moved))
    add_job(once_more, sink)
    once_more.execute()
    assert Counter(map(tuple, sink.results())) == EXPECTED


def test_a_savepoint_of_a_job_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # states lie in sorted files of the checkpoint, which the savepoint shares
    monkeypatch.setenv("SCURRY_CONF", json.dumps({RUNS_ABOVE.key: "1"}))
    env = environment(tmp_path / "ck", 25)
    env.set_default_savepoint_directory(str(tmp_path / "sp"))
    first = sink_in(tmp_path / "out")
    client = started(env, first, 2)
    path = Path(client.trigger_savepoint().result(120))
    client.get_job_execution_result().result(120)
    assert Counter(map(tuple, first.results())) == EXPECTED
    assert path.parent == tmp_path / "sp"
    at = read_manifest(path).contents.batch
    # two jobs from one savepoint, one of them with another parallelism: each ends as the first did
    for number, parallelism in enumerate((2, 3)):
        copy = sink_in(tmp_path / f"out{number}")
        for batch in range(at + 1):
            shutil.copy(first.directory / f"{batch}.json", copy.directory)
        other = environment(tmp_path / f"ck{number}", 25, parallelism).from_savepoint(str(path))
        add_job(other, copy)
        other.execute()
        assert Counter(map(tuple, copy.results())) == EXPECTED


PROGRAM = """
from pathlib import Path
from tests.spark.test_savepoints import add_job, environment, sink_in
root = Path({root!r})
env = environment(root / "ck", 10)
add_job(env, sink_in(root / "out"))
env.execute()
"""


def test_the_commands(tmp_path: Path) -> None:
    sink, run = sink_in(tmp_path / "out"), CliRunner()
    client = started(environment(tmp_path / "ck", 10), sink, 2)
    target = str(tmp_path / "sp")
    made = run.invoke(main, ["savepoint", "create", str(tmp_path / "ck"), target, "--name", "one"])
    assert made.exit_code == 0, made.output
    assert made.stdout.strip() == str(tmp_path / "sp" / "one")
    stopped = run.invoke(main, ["savepoint", "create", str(tmp_path / "ck"), target, "--stop"])
    assert stopped.exit_code == 0, stopped.output
    client.get_job_execution_result().result(60)
    # of a job that does not run, the command makes one by itself
    offline = run.invoke(
        main, ["savepoint", "create", str(tmp_path / "ck"), target, "--name", "off"]
    )
    assert offline.exit_code == 0, offline.output
    assert list((tmp_path / "ck" / "requests").iterdir()) == []
    listed = run.invoke(main, ["savepoint", "list", target, "--json"])
    found = json.loads(listed.stdout)
    assert len(found) == 3
    shown = run.invoke(main, ["savepoint", "show", str(tmp_path / "sp" / "off")])
    assert "'count'" in shown.stdout or "count" in shown.stdout
    program = tmp_path / "app.py"
    program.write_text(PROGRAM.format(root=str(tmp_path)))
    compared = run.invoke(main, ["diff", "--json", str(tmp_path / "sp" / "off"), str(program)])
    assert compared.exit_code == 0, compared.output
    outcomes = Counter(json.loads(line)["outcome"] for line in compared.stdout.splitlines())
    assert outcomes["kept"] > 2
    assert not outcomes["dropped"]
    again = environment(tmp_path / "other", 10).from_savepoint(str(tmp_path / "sp" / "off"))
    add_job(again, sink)
    again.execute()
    assert Counter(map(tuple, sink.results())) == EXPECTED


def test_drained_windows_fire_before_the_savepoint(tmp_path: Path) -> None:
    env = environment(tmp_path / "ck", 50)
    sink = sink_in(tmp_path / "out")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )
    numbers = DataGeneratorSource(lambda i: i, 10**9, type_info=Types.LONG())
    seen: list[int] = []
    env.on_progress(lambda progress: seen.append(progress.batch))
    (
        env.from_source(numbers, strategy, "numbers")
        .map(lambda n: ("all", 1))
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
        .sink_to(sink)
    )
    client = env.execute_async()
    while len(seen) < 3:
        time.sleep(0.01)
    assert sink.results() == []
    client.stop_with_savepoint(True, str(tmp_path / "sp")).result(120)
    client.get_job_execution_result().result(60)
    counted = sum(n for _, n in sink.results())
    assert counted > 0
    assert counted == sum(
        count for name, count in client.get_accumulators().result().items() if "read" in name
    )


def test_where_savepoints_go_must_be_known(tmp_path: Path) -> None:
    client = started(environment(tmp_path / "ck", 10), sink_in(tmp_path / "out"), 1)
    with pytest.raises(ConfigurationError, match=r"execution.checkpointing.savepoint-dir"):
        client.trigger_savepoint()
    client.cancel().result()


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_recovery import FileSink, add_job, environment
root = Path({root!r})
env = environment(root / {checkpoint!r}, 20)
if {savepoint!r}:
    env.from_savepoint({savepoint!r})
add_job(env, FileSink(root / "out"))
client = env.execute_async()
if not {savepoint!r}:
    import time
    while not (root / "out" / "1.json").exists():
        time.sleep(0.01)
    client.stop_with_savepoint(False, str(root / "sp")).result()
client.result()
"""


def _die(root: Path, checkpoint: str, savepoint: str, faults: Path, point: str) -> None:
    """Run the job in a process that kills itself at ``point``."""
    (faults / point).write_text("SIGKILL")
    script = SCRIPT.format(
        tests=str(Path(__file__).parent), root=str(root), checkpoint=checkpoint, savepoint=savepoint
    )
    environ = {**os.environ, VARIABLE: str(faults), "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/src"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, timeout=200
    )
    assert done.returncode != 0
    assert (faults / f"{point}.struck").exists()


@pytest.mark.micro_batch("counts micro-batches")
def test_killed_while_a_savepoint_is_taken_and_restored(tmp_path: Path) -> None:
    sink, faults = sink_in(tmp_path / "out"), tmp_path / "faults"
    faults.mkdir()
    taking, restoring = SAVEPOINT_POINTS
    _die(tmp_path, "ck", "", faults, taking)
    assert all(name.startswith(".") for name in os.listdir(tmp_path / "sp"))
    client = started(environment(tmp_path / "ck", 20), sink, 1)
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "sp")).result(120)
    client.get_job_execution_result().result(60)
    _die(tmp_path, "other", savepoint, faults, restoring)
    again = environment(tmp_path / "other", 20).from_savepoint(savepoint)
    add_job(again, sink)
    again.execute()
    assert Counter(map(tuple, sink.results())) == EXPECTED


def test_a_damaged_savepoint_is_refused_with_the_file_named(tmp_path: Path) -> None:
    client = started(environment(tmp_path / "ck", 10), sink_in(tmp_path / "out"), 1)
    path = Path(client.stop_with_savepoint(False, str(tmp_path / "sp")).result(120))
    client.get_job_execution_result().result(60)
    victim = next(path.glob("epochs/*.json"))
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(bytes(content))
    env = environment(tmp_path / "other", 10).from_savepoint(str(path))
    add_job(env, sink_in(tmp_path / "out"))
    with pytest.raises(StateError, match=f"damaged(.|\n)*epochs/{victim.name} has other content"):
        env.execute()
