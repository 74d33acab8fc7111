"""``scurry checkpoint show``: what it says of a checkpoint, and what it never does."""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from scurry import __version__
from scurry.checkpoint.directory import JobDirectory
from scurry.cli.main import main
from scurry.common import Encoder, Types, WatermarkStrategy
from scurry.connectors.files.sink import FileSink
from scurry.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.testing import ListSink
from scurry.testing.local import LocalJob


class Kept(KeyedProcessFunction):
    """Two states: a value for each key, and a map with one entry for each element."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        seen = MapStateDescriptor("seen", Types.LONG(), Types.BOOLEAN())
        self.seen = runtime_context.get_map_state(seen)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self.last.update(value)
        self.seen.put(value, True)
        yield value


def stored(root: Path, target: Path, commit: bool = True, held: bool = False) -> JobDirectory:
    """A checkpoint as a job on Spark leaves it after two micro-batches of six elements each, of
    which one key in four; what Spark writes is only hinted at."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    numbers = env.from_collection(list(range(20))).uid("numbers").name("Numbers")
    kept = numbers.key_by(lambda n: n % 4).process(Kept()).uid("kept").name("Kept by key")
    rows = FileSink.for_row_format(str(target), Encoder.simple_string_encoder()).build()
    kept.map(str, Types.STRING()).sink_to(rows).uid("files").name("Files")
    compiled = env._compile("the job")
    directory = JobDirectory(str(root))
    lease = directory.claim("the job")
    directory.prepare(compiled.spec)
    with LocalJob(compiled, clock=1_760_000_000_000) as job:
        for batch in range(2):
            job.step(6)
            directory.write_epoch(job.epoch())
            if commit:
                committed = directory.home.spark_commit(batch)
                committed.parent.mkdir(parents=True, exist_ok=True)
                committed.write_text("v1\n{}")
    if not held:
        lease.release()
    return directory


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def shown(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["checkpoint", "show", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def words(text: str, uid: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(uid)]
    return line.split()


def test_what_is_in_a_checkpoint(tmp_path: Path) -> None:
    directory = stored(tmp_path / "checkpoint", tmp_path / "target")
    text = shown(str(tmp_path / "checkpoint"))
    assert f"checkpoint {directory.manifest.checkpoint_id} in {tmp_path / 'checkpoint'}" in text
    assert f"job 'the job', format 5, written by Scurry {__version__}, PySpark " in text
    assert "parallelism 2, key groups 128, stages 1, generation 0" in text
    assert "last micro-batch 1, of 2025-10-09 08:53:20 UTC" in text
    assert words(text, "numbers") == ["numbers", "Numbers", "12"]
    kept = words(text, "kept")
    assert kept[:4] == ["kept", "Kept", "by", "key"]
    assert " on disk: " in text
    assert words(text, "files")[:3] == ["files", "Files", "1"]


def test_states_have_type_entries_and_bytes(tmp_path: Path) -> None:
    stored(tmp_path / "checkpoint", tmp_path / "target")
    found = json.loads(shown(str(tmp_path / "checkpoint"), "--json"))
    (operator,) = [each for each in found["operators"] if each["uid"] == "kept"]
    states = {state["name"]: state for state in operator["states"]}
    # four keys, and twelve elements under them
    assert (states["last"]["kind"], states["last"]["entries"]) == ("ValueState", 4)
    assert (states["seen"]["kind"], states["seen"]["entries"]) == ("MapState", 12)
    assert states["last"]["bytes"] > 0
    assert operator["parallelism"] == 2
    assert operator["stages"] == [1]
    assert operator["layout"]["kind"]
    assert operator["location"].partition(":")[0] == __file__


def test_json_has_sources_sinks_and_history(tmp_path: Path) -> None:
    stored(tmp_path / "checkpoint", tmp_path / "target")
    found = json.loads(shown(f"file://{tmp_path / 'checkpoint'}", "--json"))
    (source,) = found["sources"]
    assert (source["uid"], source["position"], source["finished"]) == ("numbers", 12, False)
    (branch,) = found["branches"]
    assert branch["first"] == 0
    (sink,) = found["sinks"]
    assert (sink["uid"], sink["batch"], sink["branch"]) == ("files", 1, branch["token"])
    sizes = {name: _size(tmp_path / "checkpoint" / name) for name in found["disk"]}
    assert found["disk"] == sizes


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def test_before_the_first_commit(tmp_path: Path) -> None:
    stored(tmp_path / "checkpoint", tmp_path / "target", commit=False)
    assert "no micro-batch has been committed" in shown(str(tmp_path / "checkpoint"))


def test_a_plan_that_is_not_committed(tmp_path: Path) -> None:
    directory = stored(tmp_path / "checkpoint", tmp_path / "target")
    epoch = directory.last_epoch()
    assert epoch is not None
    epoch.batch = 2
    directory.write_plan(2, [], epoch)
    assert "micro-batch 2 is planned and not committed" in shown(str(directory.root))


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    text = shown(str(tmp_path), code=1)
    assert (
        f"{tmp_path} is neither a checkpoint nor a savepoint: there is no job.json in it." in text
    )
    (tmp_path / "job.json").write_text("{}")
    assert "cannot be read" in shown(str(tmp_path), code=1)


class Bomb:
    def __reduce__(self) -> Any:
        return os.system, ("touch exploded",)


def test_nothing_in_a_foreign_directory_is_executed(tmp_path: Path) -> None:
    directory = stored(tmp_path / "checkpoint", tmp_path / "target")
    place = directory.home.epoch(1)
    epoch = json.loads(place.read_bytes())
    bomb = base64.b64encode(pickle.dumps(Bomb())).decode()
    epoch["positions"] = {"numbers": bomb, "\x1b[2Jodd": {"a": [bomb]}}
    epoch["partitions"] = [{"source": "numbers", "partition": "0", "cells": {"g|generator": bomb}}]
    epoch["operators"] = {"states": {"kept": {"0:0": {"s": bomb}}}, "unions": {}, "tokens": {}}
    place.write_text(json.dumps(epoch))
    (directory.root / "loop").symlink_to(directory.root)
    program = (
        "import sys\n"
        "sys.addaudithook(lambda e, a: sys.exit('unpickled') if e.startswith('pickle') else None)\n"
        "from scurry.cli.main import main\n"
        f"main(['checkpoint', 'show', {str(directory.root)!r}])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "exploded").exists()
    assert "\x1b[2J" not in done.stdout
    assert f"<{len(bomb)} characters>" in done.stdout


def test_old_checkpoints_have_no_sizes_and_are_shown_all_the_same(tmp_path: Path) -> None:
    directory = stored(tmp_path / "checkpoint", tmp_path / "target")
    place = directory.home.epoch(1)
    epoch = json.loads(place.read_bytes())
    for record in epoch["inventory"].values():
        del record["sizes"]
    place.write_text(json.dumps(epoch))
    found = json.loads(shown(str(directory.root), "--json"))
    (operator,) = [each for each in found["operators"] if each["uid"] == "kept"]
    assert {state["entries"] for state in operator["states"]} == {None}


def test_a_list_sink_commits_nothing_with_the_checkpoint(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = env.from_collection([1]).uid("one")
    source.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks()).sink_to(ListSink())
    compiled = env._compile(None)
    directory = JobDirectory(str(tmp_path))
    directory.prepare(compiled.spec)
    found = json.loads(shown(str(tmp_path), "--json"))
    assert (found["batch"], found["sinks"], found["branches"]) == (-1, [], [])
    assert (found["lease"], found["holder"], found["held"]) == (None, None, False)
    assert "no driver has held a lease" in shown(str(tmp_path))


@pytest.mark.parametrize("held", [True, False])
def test_who_holds_the_lease(tmp_path: Path, held: bool) -> None:
    directory = stored(tmp_path / "checkpoint", tmp_path / "target", held=held)
    found = json.loads(shown(str(directory.root), "--json"))
    assert (found["lease"], found["held"]) == (1, held)
    assert (found["holder"]["pid"], found["holder"]["job"]) == (os.getpid(), "the job")
    verb = "is held" if held else "was held"
    assert f"lease 1 {verb} by job 'the job', process {os.getpid()}" in shown(str(directory.root))
