"""Checkpoints and savepoints that are read: whose they are, and what a job may do meanwhile."""

from __future__ import annotations

import os
import shutil
import time
from itertools import islice
from pathlib import Path

import pytest
from tests.unit.checkpoint.test_takeover import Driver

from scurry.checkpoint import at_rest as module
from scurry.checkpoint.at_rest import at_rest
from scurry.checkpoint.savepoints import Wish, complete, freeze
from scurry.common.errors import StateError
from scurry.state_reader import list_states


@pytest.fixture
def job(tmp_path: Path) -> Driver:
    driver = Driver(tmp_path / "ck")
    driver.run(0, 5)
    driver.run(1, 9)
    runs = driver.directory.home.all_runs / "1-0"
    runs.mkdir(parents=True)
    (runs / "000000000001-a.data").write_bytes(b"x" * 100_000)
    return driver


def run_of(place: Path) -> Path:
    return place / "1-0" / "000000000001-a.data"


def test_what_a_running_job_removes_is_still_there(job: Driver) -> None:
    root = job.directory.root
    found = at_rest(str(root))
    assert found is not None
    shutil.rmtree(job.directory.home.all_runs)
    job.run(2, 12)
    assert found.epoch.positions == {"numbers": 9}
    assert run_of(found.files.all_runs).stat().st_size == 100_000
    assert sorted(os.listdir(found.spark / "commits")) == ["0", "1"]
    found.close()
    assert os.listdir(root / "frozen") == []


def test_a_job_that_commits_meanwhile_is_read_again(
    job: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If what was copied may be of several micro-batches, it is thrown away."""
    linked, batches = module.link_tree, iter(range(2, 100))

    def slow(source: Path, target: Path) -> None:
        linked(source, target)
        batch = next(batches)
        if batch < 8:
            job.run(batch, batch)

    monkeypatch.setattr(module, "link_tree", slow)
    found = at_rest(str(job.directory.root))
    assert found is not None
    last = job.directory.durable()[1]
    assert last - 1 <= found.epoch.batch <= last
    assert len(os.listdir(job.directory.root / "frozen")) == 1
    found.close()


def test_one_that_never_stands_still_is_refused(
    job: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = iter(range(2, 1000))

    def slow(source: Path, target: Path) -> None:
        for batch in islice(batches, 2):
            job.run(batch, batch)

    monkeypatch.setattr(module, "link_tree", slow)
    with pytest.raises(StateError, match="Take a savepoint"):
        at_rest(str(job.directory.root))
    assert os.listdir(job.directory.root / "frozen") == []


def test_what_somebody_who_died_has_left_is_removed(job: Driver) -> None:
    frozen = job.directory.root / "frozen"
    old, young, other = (frozen / name for name in ("reading-old", "reading-young", "else"))
    for place in (old, young, other):
        place.mkdir(parents=True)
    week = time.time() - 7 * 86400
    os.utime(old, (week, week))
    os.utime(other, (week, week))
    found = at_rest(str(job.directory.root))
    assert found is not None
    found.close()
    assert sorted(os.listdir(frozen)) == ["else", "reading-young"]


def test_a_savepoint_is_read_where_it_lies(job: Driver, tmp_path: Path) -> None:
    path = complete(freeze(job.directory, Wish(tmp_path / "sp" / "one")))
    before = sorted(path.rglob("*"))
    found = at_rest(f"file://{path}")
    assert found is not None
    assert run_of(found.files.all_runs) == run_of(path / "runs")
    # Spark names a file by its path, and is to look for it where it is
    assert str(found.spark) in (found.spark / "state/0/_metadata/v2/0").read_text()
    assert not found.spark.is_relative_to(path)
    found.close()
    assert not found.spark.exists()
    assert sorted(path.rglob("*")) == before


def test_a_checkpoint_without_a_commit_holds_nothing(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "ck")
    driver.plan(0, 5)
    assert at_rest(str(driver.directory.root)) is None
    assert list_states(str(driver.directory.root)).num_rows == 0


def test_what_is_no_checkpoint_or_somebody_elses_is_refused(
    job: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StateError, match="neither a checkpoint nor a savepoint"):
        at_rest(str(tmp_path / "nothing"))
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.raises(StateError, match="belongs to user"):
        at_rest(str(job.directory.root))
