"""``scurry status``: what it finds, and how it shows it."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from scurry.cli.main import main
from scurry.common import JobMetrics, OperatorMetrics
from scurry.common.waiting import Wait
from scurry.engine.status import RunningStatus, jobs_directory
from scurry.runtime.batch import MAX_WATERMARK

OPERATOR = OperatorMetrics(
    uid="sums",
    name="Sums by key",
    stage=1,
    kind="operator",
    num_records_in=12_345,
    num_records_out=11,
    num_records_in_per_second=250.4,
    current_output_watermark=1_760_000_000_000,
    watermark_lag=75_000,
    busy_time_ms_per_second=431.0,
    state_entries=2_000,
    state_bytes=1_500_000,
    num_late_records_dropped=3,
    num_dead_letters=4,
)
SOURCE = OperatorMetrics(
    uid="source",
    name="Orders\x1b[31m",
    stage=0,
    kind="source",
    num_records_in_per_second=77.0,
    pending_records=88,
    pending_files=9,
    current_output_watermark=MAX_WATERMARK,
)


@pytest.fixture(autouse=True)
def own_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("COLUMNS", "250")


def running(directory: Path, job_id: str = "4711" * 8, **changes: Any) -> Path:
    """Let there be a running job."""
    metrics: dict[str, Any] = {
        "job_id": job_id,
        "name": "orders",
        "started": time.time() - 200,
        "uptime": 200_000,
        "num_restarts": 2,
        "last_failure": "ValueError: no\nmore of it",
        "last_completed_checkpoint_id": 41,
        "last_checkpoint_duration": 34.0,
        "last_micro_batch_duration": 512.0,
        "last_checkpoint_size": 4_096,
        "checkpoint_parts": {"state": 20.0, "sinks": 10.0, "epoch": 4.0},
        "waiting": (Wait("Kafka at b:1", "read", "refused", time.time() - 12.2),),
        "operators": (SOURCE, OPERATOR),
    }
    directory.mkdir(exist_ok=True)
    status = RunningStatus(
        host=socket.gethostname(),
        pid=os.getpid(),
        directory=str(directory),
        written=time.time(),
        metrics=JobMetrics(**{**metrics, **changes}),
        prometheus="http://127.0.0.1:9249/metrics",
    )
    (directory / "status.json").write_bytes(msgspec.json.encode(status))
    jobs_directory().mkdir(parents=True, exist_ok=True)
    entry = {"directory": str(directory), "pid": os.getpid()}
    (jobs_directory() / f"{job_id}.json").write_text(json.dumps(entry))
    return directory


def shown(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["status", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_no_job() -> None:
    assert shown().startswith("No job of yours is running on this machine.")
    assert json.loads(shown("--json")) == []


def test_one_job_is_shown_with_its_operators(tmp_path: Path) -> None:
    running(tmp_path / "job")
    text = shown()
    lines = text.splitlines()
    assert lines[0].split() == ["orders", "(47114711)", "running"]
    assert f"process {os.getpid()} on {socket.gethostname()}, up 3 min 20 s" in text
    assert "micro-batch 41 took 512 ms; its checkpoint 34 ms (state 20, sinks 10, epoch 4)" in text
    assert "4.1 kB written" in text
    assert "restarted 2 times, the last time after: ValueError: no\n" in text
    assert "waiting for Kafka at b:1 to read, since 12 s: refused" in text
    assert "Prometheus: http://127.0.0.1:9249/metrics" in text
    (sums,) = [line for line in lines if "Sums by key" in line]
    for fact in ("12,345", "250", "2025-10-09 08:53:20", "1 min 15 s", "43.1 %"):
        assert fact in sums
    assert "2,000 / 1.5 MB" in sums
    assert sums.rstrip().endswith("3 late, dropped, 4 dead letters")
    (source,) = [line for line in lines if "Orders" in line]
    assert "88 to read, 9 files to read" in source
    assert " end " in source


def test_on_a_narrow_terminal_columns_are_left_out_and_no_number_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    running(tmp_path / "one", "1111" * 8, started=1.0)
    text = shown()
    assert "12,345" in text
    assert "The terminal is too narrow for idle, waiting, out/s, lag" in text
    assert "…" not in text
    running(tmp_path / "two", "2222" * 8, name="payments", started=2.0)
    assert f"22222222 is in {tmp_path}/two\n" in shown()


def test_names_cannot_command_the_terminal(tmp_path: Path) -> None:
    running(tmp_path / "job")
    assert "\x1b" not in shown()


def test_several_jobs_are_a_list_and_each_can_be_named(tmp_path: Path) -> None:
    running(tmp_path / "one", "1111" * 8, started=1.0)
    running(tmp_path / "two", "2222" * 8, name="payments", started=2.0)
    lines = shown().splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["payments", "orders"]
    assert "77" in lines[1].split()
    for name in ("2222", "pay", str(tmp_path / "two")):
        assert shown(name).splitlines()[0].split()[0] == "payments"


def test_a_directory_shows_its_job_whether_it_is_listed_or_not(tmp_path: Path) -> None:
    directory = running(tmp_path / "job", state="FAILED")
    for entry in jobs_directory().iterdir():
        entry.unlink()
    assert shown(str(directory)).splitlines()[0].split()[-1] == "failed"


def test_as_json(tmp_path: Path) -> None:
    running(tmp_path / "job")
    (found,) = json.loads(shown("--json"))
    assert found["signs"] == "running"
    assert found["metrics"]["numRestarts"] == 2
    assert found["metrics"]["operators"][1]["currentOutputWatermark"] == 1_760_000_000_000


def test_who_is_not_there(tmp_path: Path) -> None:
    text = shown(str(tmp_path), code=1)
    assert "is neither a directory in which a job has left its status, nor the id" in text
    assert "`scurry checkpoint show DIRECTORY` says what a checkpoint holds" in text
