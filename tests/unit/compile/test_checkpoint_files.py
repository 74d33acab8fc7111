"""A checkpoint that lost a file says which one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scurry.common.errors import StateError
from scurry.compile.planner import Epoch
from scurry.compile.spark.checkpoint import JobDirectory
from scurry.compile.spark.worker import JobPayload, run_ingress
from scurry.datastream import StreamExecutionEnvironment
from scurry.runtime.ingress import TaskPlan
from scurry.runtime.specs import JobSpec
from scurry.testing import ListSink


def job() -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.from_collection([1]).sink_to(ListSink())
    return env._compile(None).spec


def test_a_lost_plan(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    payload = JobPayload(job(), "id", [0, 1], str(directory.plans))
    with pytest.raises(StateError, match=r"plan of micro-batch 3 is missing from .*000000003"):
        list(run_ingress(payload, 3, 0))


def test_a_task_without_a_share_of_the_plan_reads_nothing(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    directory.write_plan(3, [TaskPlan(3, 0, 1, 0, [])], Epoch(3, {}, []))
    payload = JobPayload(job(), "id", [0, 1], str(directory.plans))
    assert list(run_ingress(payload, 3, 1)) == []


def test_a_lost_epoch(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    (tmp_path / "spark" / "commits").mkdir(parents=True)
    (tmp_path / "spark" / "commits" / "7").touch()
    with pytest.raises(StateError, match=r"committed micro-batch 7, but 7\.json is missing"):
        directory.last_epoch()


def test_a_garbled_epoch_or_plan(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    directory.prepare(job())
    (tmp_path / "spark" / "commits").mkdir(parents=True)
    (tmp_path / "spark" / "commits" / "7").touch()
    epoch = tmp_path / "epochs" / "7.json"
    epoch.write_bytes(b"{")
    with pytest.raises(StateError, match=re.escape(f"{epoch} cannot be read")):
        directory.last_epoch()
    plan = directory.plans / "000000008"
    plan.mkdir()
    with pytest.raises(StateError, match=re.escape(f"{plan / '_after.json'} cannot be read")):
        directory.pending_plan(7)
