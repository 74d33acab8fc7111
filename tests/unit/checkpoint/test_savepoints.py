"""Savepoints as directories: what is in them, what damages are found, what is kept and removed.

The checkpoints here are those of :mod:`tests.unit.checkpoint.test_takeover`, with a Spark that
writes a commit and some state. Savepoints of real jobs are in ``tests/spark``.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.checkpoint.test_takeover import Driver

from scurry.checkpoint import savepoint_directory
from scurry.checkpoint.at_rest import at_rest
from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.restore import restore
from scurry.checkpoint.savepoint_manifest import read_manifest
from scurry.checkpoint.savepoints import PARTIAL, Wish, complete, freeze, savepoint_path
from scurry.cli.main import main
from scurry.common.errors import StateError


@pytest.fixture
def job(tmp_path: Path) -> Driver:
    driver = Driver(tmp_path / "ck")
    driver.run(0, 5)
    driver.run(1, 9)
    runs = driver.directory.home.all_runs / "1-0"
    runs.mkdir(parents=True)
    (runs / "000000000001-a.data").write_bytes(b"x" * 100_000)
    room = driver.directory.layout.room("numbers")
    room.mkdir(parents=True)
    (room / "notes").write_text("one")
    return driver


def taken(job: Driver, target: Path, stop: bool = False) -> Path:
    return complete(freeze(job.directory, Wish(target, stop)))


def command(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["savepoint", *map(str, arguments)])
    return done.exit_code, done.output


def test_nothing_that_the_job_does_later_changes_a_savepoint(job: Driver, tmp_path: Path) -> None:
    path = taken(job, tmp_path / "sp" / "one")
    job.run(2, 12)
    (job.directory.layout.room("numbers") / "notes").write_text("two")
    next(job.directory.home.all_runs.glob("*/*.data")).unlink()
    assert read_manifest(path).contents.batch == 1
    assert command("verify", path)[0] == 0
    assert (path / "rooms" / "numbers" / "notes").read_text() == "one"
    # state in it is for its owner alone
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_large_files_are_shared_and_not_copied(job: Driver, tmp_path: Path) -> None:
    path = taken(job, tmp_path / "sp" / "one")
    (run,) = path.glob("runs/1-0/*.data")
    assert run.stat().st_nlink == 2


def test_a_checkpoint_that_begins_with_a_savepoint(job: Driver, tmp_path: Path) -> None:
    path = taken(job, tmp_path / "sp" / "one")
    shutil.rmtree(job.directory.root)
    other = JobDirectory(str(tmp_path / "other"))
    other.claim("job")
    assert other.begin_with(str(path))
    assert other.durable()[1] == 1
    epoch = other.last_epoch()
    assert epoch is not None
    assert epoch.positions == {"numbers": 9}
    assert (tmp_path / "other" / "rooms" / "numbers" / "notes").read_text() == "one"
    # what the new job changes in place is not the savepoint's
    (tmp_path / "other" / "rooms" / "numbers" / "notes").write_text("two")
    assert command("verify", path)[0] == 0
    assert not other.begin_with(str(path))


def test_a_plan_that_may_have_been_executed_goes_along(job: Driver, tmp_path: Path) -> None:
    job.plan(2, 12)
    path = taken(job, tmp_path / "sp" / "one")
    other = JobDirectory(str(tmp_path / "other"))
    other.claim("job")
    other.begin_with(str(path))
    pending = other.pending_plan(1)
    assert pending is not None
    assert pending[1].positions == {"numbers": 12}


def test_a_job_that_has_committed_nothing(tmp_path: Path) -> None:
    job = Driver(tmp_path / "ck")
    path = taken(job, tmp_path / "sp" / "one")
    assert read_manifest(path).contents.batch == -1
    other = JobDirectory(str(tmp_path / "other"))
    other.claim("job")
    assert other.begin_with(str(path))
    assert other.last_epoch() is None


def test_a_checkpoint_that_began_otherwise_is_not_replaced(job: Driver, tmp_path: Path) -> None:
    one, two = taken(job, tmp_path / "sp" / "one"), taken(job, tmp_path / "sp" / "two")
    with pytest.raises(StateError, match="began without a savepoint"):
        restore(str(one), job.directory.root)
    (tmp_path / "other").mkdir()
    restore(str(one), tmp_path / "other")
    with pytest.raises(StateError, match="began with another savepoint"):
        restore(str(two), tmp_path / "other")


def test_a_savepoint_never_replaces_anything(job: Driver, tmp_path: Path) -> None:
    taken(job, tmp_path / "sp" / "one")
    with pytest.raises(StateError, match="there is something of that name"):
        freeze(job.directory, Wish(tmp_path / "sp" / "one"))
    for name in ("a/b", ".hidden", ".."):
        with pytest.raises(StateError, match="cannot be the name of a savepoint"):
            savepoint_path(str(tmp_path), "job", name)


@pytest.mark.parametrize("way", ["changed", "shorter", "gone"])
def test_damages_are_found_and_the_file_is_named(job: Driver, tmp_path: Path, way: str) -> None:
    path = taken(job, tmp_path / "sp" / "one")
    (run,) = path.glob("runs/1-0/*.data")
    content = run.read_bytes()
    run.unlink()
    if way != "gone":
        run.write_bytes(content[:-1] + (b"y" if way == "changed" else b""))
    code, said = command("verify", path)
    assert code != 0
    assert "runs/1-0/000000000001-a.data" in said
    with pytest.raises(StateError, match=r"runs/1-0/000000000001-a\.data"):
        restore(str(path), tmp_path / "other")
    assert command("copy", path, tmp_path / "copy")[0] != 0
    assert not (tmp_path / "copy").exists()


def test_a_manifest_cannot_reach_out_of_its_directory(job: Driver, tmp_path: Path) -> None:
    path = taken(job, tmp_path / "sp" / "one")
    (tmp_path / "sp" / "secret").write_text("mine")
    manifest = json.loads((path / "savepoint.json").read_text())
    manifest["files"]["../secret"] = {"bytes": 4, "checksum": ""}
    (path / "savepoint.json").write_text(json.dumps(manifest))
    with pytest.raises(StateError, match="not a path inside the savepoint"):
        restore(str(path), tmp_path / "other")


def test_what_is_no_savepoint_is_said_to_be_none(job: Driver, tmp_path: Path) -> None:
    assert "does not exist" in command("show", tmp_path / "nowhere")[1]
    assert "It is a checkpoint" in command("show", job.directory.root)[1].replace("\n", " ")
    code, said = command("drop", job.directory.root)
    assert code != 0
    assert job.directory.root.exists(), said


def test_a_directory_that_is_not_there_is_not_one_without_garbage(tmp_path: Path) -> None:
    for asked in ("gc", "list"):
        code, said = command(asked, tmp_path / "nowhere")
        assert code == 1
        assert "nowhere is not a directory" in said.replace("\n", " ")


def test_a_savepoint_without_all_of_its_files_is_not_read(job: Driver, tmp_path: Path) -> None:
    path = taken(job, tmp_path / "sp" / "one")
    (run,) = path.glob("runs/1-0/*.data")
    run.unlink()
    with pytest.raises(StateError, match=r"runs/1-0/000000000001-a\.data is missing"):
        at_rest(str(path))
    (path / "savepoint.json").unlink()
    assert "savepoint.json, which is written last, is not there" in command("show", path)[1]


def test_somebody_else_s_savepoint_does_not_hide_the_others(
    job: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sp = tmp_path / "sp"
    for name in ("mine", "theirs"):
        taken(job, sp / name)
    read = savepoint_directory.is_savepoint

    def refused(path: Path) -> bool:
        if path.name == "theirs":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(savepoint_directory, "is_savepoint", refused)
    code, said = command("list", sp)
    assert code == 0, said
    assert "mine" in said
    assert "cannot be read: Permission" in " ".join(said.split())


def test_copies_lists_and_removal(job: Driver, tmp_path: Path) -> None:
    sp = tmp_path / "sp"
    for number, name in enumerate(("first", "second", "third")):
        taken(job, sp / name)
        job.run(2 + number, 20 + number)
    code, said = command("copy", sp / "third", tmp_path / "far" / "copied")
    assert code == 0, said
    assert command("verify", tmp_path / "far" / "copied")[0] == 0
    listed = json.loads(command("list", sp, "--json")[1])
    assert [Path(each["path"]).name for each in listed] == ["third", "second", "first"]
    # what a driver that died has left, and one that a job is making now
    for name, age in (("dead", 2 * 3600), ("alive", 0)):
        made = sp / f"{PARTIAL}{name}"
        made.mkdir()
        os.utime(made, (time.time() - age,) * 2)
    dry = command("gc", sp, "--keep", "1")[1]
    assert "would remove" in dry
    assert "and there is a later one" in dry
    assert len(list(sp.iterdir())) == 5
    command("gc", sp, "--keep", "1", "--delete")
    assert {path.name for path in sp.iterdir()} == {"third", f"{PARTIAL}alive"}
    assert command("drop", sp / "third")[0] == 0
    assert not (sp / "third").exists()
