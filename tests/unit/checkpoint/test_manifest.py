"""The manifest of a checkpoint: what it says, and which ones are refused."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import scurry
from scurry.checkpoint.at_rest import located
from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.epochs import Epoch
from scurry.common.errors import StateError
from scurry.datastream import StreamExecutionEnvironment
from scurry.runtime.specs import JobSpec
from scurry.testing import ListSink


def job(parallelism: int = 2) -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    keyed = env.from_collection([1]).uid("numbers").key_by(lambda n: n)
    keyed.map(lambda n: n).uid("map").sink_to(ListSink()).uid("sink")
    return env._compile(None).spec


def content(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "job.json").read_bytes())
    return found


def change(root: Path, **fields: Any) -> None:
    (root / "job.json").write_text(json.dumps({**content(root), **fields}))


def test_what_it_says(tmp_path: Path) -> None:
    made = JobDirectory(str(tmp_path)).prepare(job())
    assert content(tmp_path) == {
        "checkpoint_id": made.checkpoint_id,
        "max_parallelism": 128,
        "stages": 1,
        "version": 5,
        "name": "Scurry job",
        "restored_from": "",
        "copy": "",
        "writer": {"scurry": scurry.__version__, "pyspark": version("pyspark")},
        "generations": [
            {
                "number": 0,
                "parallelism": 2,
                "operators": {"map": 2, "sink": 2},
                "sources": {"numbers": 1},
                "first": 0,
                "driver": 0,
                "stages": 1,
                "engine": "micro-batch",
                "written": False,
                "max_parallelism": 128,
            }
        ],
    }


def test_the_identity_stays_and_the_writer_is_the_last_one(tmp_path: Path) -> None:
    before = JobDirectory(str(tmp_path)).prepare(job()).checkpoint_id
    change(tmp_path, writer={"scurry": "0.0.1", "pyspark": "4.0.0"})
    assert JobDirectory(str(tmp_path)).prepare(job()).checkpoint_id == before
    assert content(tmp_path)["writer"]["scurry"] == scurry.__version__


@pytest.mark.parametrize("later", ["4.99.0", "5.0.0.dev1", "17.1"])
def test_a_later_spark_s_checkpoint_is_refused_and_stays_as_it_is(
    tmp_path: Path, later: str
) -> None:
    JobDirectory(str(tmp_path)).prepare(job())
    change(tmp_path, writer={"scurry": "9.0", "pyspark": later})
    before = content(tmp_path)
    with pytest.raises(StateError, match=f"written with PySpark {later}, and this is PySpark 4"):
        JobDirectory(str(tmp_path)).prepare(job())
    assert content(tmp_path) == before


def test_what_has_nothing_of_spark_s_in_it_may_be_of_a_later_spark(tmp_path: Path) -> None:
    JobDirectory(str(tmp_path)).prepare(job())
    (generation,) = content(tmp_path)["generations"]
    change(
        tmp_path,
        writer={"scurry": "9.0", "pyspark": "4.99.0"},
        generations=[{**generation, "engine": "live"}],
    )
    located(str(tmp_path))
    change(tmp_path, generations=[generation])
    with pytest.raises(StateError, match=r"written with PySpark 4\.99\.0"):
        located(str(tmp_path))


@pytest.mark.parametrize("other", ["", "unknown", "3.5.1", version("pyspark") + ".post1"])
def test_an_earlier_or_unknown_spark_s_checkpoint_is_taken(tmp_path: Path, other: str) -> None:
    JobDirectory(str(tmp_path)).prepare(job())
    change(tmp_path, writer={"scurry": "0.1", "pyspark": other})
    JobDirectory(str(tmp_path)).prepare(job())
    assert content(tmp_path)["writer"]["pyspark"] == version("pyspark")


def test_it_is_not_written_without_need(tmp_path: Path) -> None:
    """Neither by a micro-batch nor by a start that changes nothing of it."""
    JobDirectory(str(tmp_path)).prepare(job())
    manifest = tmp_path / "job.json"
    written = manifest.stat()
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    for batch in range(5):
        directory.write_plan(batch, [], Epoch(batch, {}, []))
        directory.write_epoch(Epoch(batch, {}, []))
    assert (manifest.stat().st_ino, manifest.stat().st_mtime_ns) == (
        written.st_ino,
        written.st_mtime_ns,
    )


def test_fields_of_another_version_with_the_same_format_are_kept(tmp_path: Path) -> None:
    JobDirectory(str(tmp_path)).prepare(job())
    change(tmp_path, invented={"later": [1, 2]})
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    directory.switch_to(directory.draft(job(3)))
    found = content(tmp_path)
    assert found["invented"] == {"later": [1, 2]}
    assert [each["parallelism"] for each in found["generations"]] == [3]


def test_a_manifest_from_before_writers_were_named(tmp_path: Path) -> None:
    JobDirectory(str(tmp_path)).prepare(job())
    older = content(tmp_path)
    del older["writer"]
    (tmp_path / "job.json").write_text(json.dumps(older))
    assert JobDirectory(str(tmp_path)).manifest.writer.scurry == ""


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"version": 3, "writer": {}}, "has format 3; this version of Scurry"),
        (
            {"version": 6, "writer": {"scurry": "9.1"}, "generations": "of another kind"},
            "has format 6, written by Scurry 9.1; this version of Scurry",
        ),
    ],
    ids=["older", "newer"],
)
def test_another_format_is_refused(tmp_path: Path, fields: dict[str, Any], told: str) -> None:
    JobDirectory(str(tmp_path)).prepare(job())
    change(tmp_path, **fields)
    with pytest.raises(StateError) as caught:
        JobDirectory(str(tmp_path))
    text = str(caught.value)
    assert text.startswith(f"The checkpoint in {tmp_path} {told} ({scurry.__version__}) reads")
    assert "Go on with the version of Scurry that wrote it" in text


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"version": 4}', b""])
def test_a_garbled_manifest(tmp_path: Path, damage: bytes) -> None:
    JobDirectory(str(tmp_path)).prepare(job())
    (tmp_path / "job.json").write_bytes(damage)
    with pytest.raises(StateError, match=r"job\.json cannot be read .* the checkpoint is damaged"):
        JobDirectory(str(tmp_path))
