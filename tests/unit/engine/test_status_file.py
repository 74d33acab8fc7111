"""The status file of a running job, and the list of jobs on a machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scurry.common import JobMetrics
from scurry.engine import status as module
from scurry.engine.status import RunningStatus, StatusFile, jobs_directory, listed_jobs, status_of


@pytest.fixture(autouse=True)
def own_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of jobs that no other test writes to."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


def snapshot(state: str = "RUNNING", batch: int = 3) -> JobMetrics:
    return JobMetrics(job_id="4711", name="job", state=state, last_completed_checkpoint_id=batch)


def written(directory: Path, **changes: Any) -> RunningStatus:
    """A status that somebody else has written."""
    fields: dict[str, Any] = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "directory": str(directory),
        "written": time.time(),
        "metrics": snapshot(),
    }
    made = RunningStatus(**{**fields, **changes})
    (directory / "status.json").write_bytes(msgspec.json.encode(made))
    return made


def eventually(true: Callable[[], Any], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.02)
    return False


def test_a_job_is_listed_while_it_runs_and_says_how_it_ended(tmp_path: Path) -> None:
    state = "RUNNING"
    file = StatusFile(tmp_path, "4711", lambda: snapshot(state), "http://127.0.0.1:1/metrics")
    file.start()
    assert eventually(lambda: listed_jobs())
    (found,) = listed_jobs()
    assert found.signs == "running"
    assert (found.pid, found.directory) == (os.getpid(), str(tmp_path))
    assert found.metrics == snapshot()
    assert found.prometheus == "http://127.0.0.1:1/metrics"
    state = "FINISHED"
    file.close(keep=True)
    assert listed_jobs() == []
    ended = status_of(str(tmp_path))
    assert ended is not None
    assert ended.signs == "finished"


def test_news_is_written_within_a_second_or_so(tmp_path: Path) -> None:
    batch = 1
    file = StatusFile(tmp_path, "4711", lambda: snapshot(batch=batch))
    file.start()

    def shown() -> int:
        found = status_of(f"file://{tmp_path}")
        return -1 if found is None else found.metrics.last_completed_checkpoint_id

    assert eventually(lambda: shown() == 1)
    batch = 2
    assert eventually(lambda: shown() == 2)
    file.close(keep=False)


def test_it_says_where_queries_are_answered_now(tmp_path: Path) -> None:
    address = "http://127.0.0.1:1"
    metrics = "http://127.0.0.1:3/metrics"
    file = StatusFile(tmp_path, "4711", snapshot, metrics, lambda: address)
    file.start()

    def shown() -> str:
        found = status_of(str(tmp_path))
        return "" if found is None else found.queries

    assert eventually(lambda: shown() == "http://127.0.0.1:1")
    # the process that answers has died, and the new one listens elsewhere
    address = "http://127.0.0.1:2"
    assert eventually(lambda: shown() == "http://127.0.0.1:2")
    address = ""
    file.close(keep=True)
    ended = status_of(str(tmp_path))
    assert ended is not None
    assert (ended.queries, ended.prometheus) == ("", "")


def test_a_directory_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    file = StatusFile(tmp_path / "missing", "4711", snapshot)
    file.start()
    file.close(keep=True)
    assert status_of(str(tmp_path / "missing")) is None


def test_what_is_no_status_is_none(tmp_path: Path) -> None:
    assert status_of(str(tmp_path)) is None
    (tmp_path / "status.json").write_text("{}")
    assert status_of(str(tmp_path)) is None


def test_signs_of_life(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert written(tmp_path).signs == "running"
    assert written(tmp_path, pid=ended.pid).signs == "gone"
    assert written(tmp_path, pid=ended.pid, host="elsewhere").signs == "running"
    long_ago = time.time() - 60
    assert written(tmp_path, written=long_ago, host="elsewhere").signs == "silent"
    assert written(tmp_path, written=long_ago, metrics=snapshot("FAILED")).signs == "failed"


def test_the_next_job_removes_what_a_killed_one_has_left_in_the_list(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    jobs_directory().mkdir(parents=True)
    left = jobs_directory() / "old.json"
    left.write_text(f'{{"directory": "{tmp_path}", "pid": {ended.pid}}}')
    written(tmp_path, pid=ended.pid)
    assert [each.signs for each in listed_jobs()] == ["gone"]
    file = StatusFile(tmp_path, "4712", snapshot)
    file.start()
    assert not left.exists()
    file.close(keep=False)


def test_the_list_can_be_entered_by_its_user_only(tmp_path: Path) -> None:
    file = StatusFile(tmp_path, "4711", snapshot)
    file.start()
    assert jobs_directory().stat().st_mode & 0o077 == 0
    file.close(keep=False)
    assert module.SILENT_SECONDS > module._SIGN_SECONDS
