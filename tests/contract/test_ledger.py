"""What every ledger does: the job's directory, and the checkpoint of a local job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import pytest

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.epochs import Epoch, PartitionState
from scurry.checkpoint.ledger import Ledger, Pledge, standing_of
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.standing import starting_point
from scurry.runtime.ingress import PartitionPlan, TaskPlan
from scurry.runtime.specs import JobSpec
from scurry.testing import ListSink
from scurry.testing.local_checkpoint import MemoryCheckpoint


def job() -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.from_collection([1]).uid("numbers").sink_to(ListSink())
    return env._compile(None).spec


class Kept(ABC):
    """A ledger, and how an engine commits to it."""

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """The ledger, as a new process opens it."""

    @abstractmethod
    def commit(self, batch: int) -> None:
        """The engine commits micro-batch ``batch``."""


class OnDisk(Kept):
    def __init__(self, place: Path) -> None:
        self._place = place
        JobDirectory(str(place)).prepare(job())

    @property
    def ledger(self) -> Ledger:
        return JobDirectory(str(self._place))

    def commit(self, batch: int) -> None:
        place = JobDirectory(str(self._place)).home.spark_commit(batch)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()


class InMemory(Kept):
    def __init__(self, place: Path) -> None:
        self._checkpoint = MemoryCheckpoint()

    @property
    def ledger(self) -> Ledger:
        return self._checkpoint

    def commit(self, batch: int) -> None:
        self._checkpoint.commit(batch)


@pytest.fixture(params=[OnDisk, InMemory])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    made: Kept = request.param(tmp_path)
    return made


def epoch(batch: int, position: int, mark: int = 0) -> Epoch:
    cells = {"mark": mark} if mark else {}
    return Epoch(batch, {"numbers": position}, [PartitionState("numbers", "0", cells)])


def plan(batch: int, end: int) -> list[TaskPlan]:
    return [TaskPlan(batch, 0, 1, 0, [PartitionPlan("numbers", "0", 0, [end], {})])]


def run(kept: Kept, batch: int) -> None:
    """A whole micro-batch."""
    kept.ledger.write_plan(batch, plan(batch, batch), epoch(batch, batch))
    kept.ledger.write_epoch(epoch(batch, batch, mark=100 + batch))
    kept.commit(batch)


def test_a_new_job(kept: Kept) -> None:
    assert kept.ledger.last_epoch() is None
    assert kept.ledger.pending_plan(-1) is None
    assert standing_of(kept.ledger, "here") is None
    start = starting_point(kept.ledger, job())
    assert (start.committed, start.planned, start.epoch) == (-1, -1, None)


def test_an_epoch_counts_once_its_batch_is_committed(kept: Kept) -> None:
    run(kept, 0)
    kept.ledger.write_plan(1, plan(1, 1), epoch(1, 1))
    kept.ledger.write_epoch(epoch(1, 1))
    found = kept.ledger.last_epoch()
    assert found is not None
    assert found.batch == 0
    kept.commit(1)
    found = kept.ledger.last_epoch()
    assert found is not None
    assert found.batch == 1


def test_a_plan_is_pending_until_its_batch_is_committed(kept: Kept) -> None:
    run(kept, 0)
    kept.ledger.write_plan(1, plan(1, 7), epoch(1, 7))
    pending = kept.ledger.pending_plan(0)
    assert pending is not None
    assert (pending[0], pending[1].positions) == (1, {"numbers": 7})
    assert kept.ledger.tasks_of_plan(1) == plan(1, 7)
    start = starting_point(kept.ledger, job())
    assert (start.committed, start.planned) == (0, 1)
    assert start.epoch is not None
    assert start.epoch.positions == {"numbers": 7}
    assert start.epoch.partitions[0].cells == {"mark": 100}, "as the batch before left them"
    standing = standing_of(kept.ledger, "here")
    assert standing is not None
    assert (standing.batch, standing.pending) == (1, True)
    kept.ledger.write_epoch(epoch(1, 7))
    kept.commit(1)
    assert kept.ledger.pending_plan(1) is None


def test_a_plan_is_revised(kept: Kept) -> None:
    kept.ledger.write_plan(0, plan(0, 7), epoch(0, 7))
    kept.ledger.revise_plan(0, plan(0, 5))
    assert kept.ledger.tasks_of_plan(0) == plan(0, 5)
    pending = kept.ledger.pending_plan(-1)
    assert pending is not None
    assert pending[1].positions == {"numbers": 7}


def test_plans_that_cannot_have_been_executed_go(kept: Kept) -> None:
    run(kept, 0)
    for batch in (1, 2):
        kept.ledger.write_plan(batch, plan(batch, batch), epoch(batch, batch))
    kept.ledger.drop_plans_after(0)
    assert kept.ledger.pending_plan(0) is not None
    assert kept.ledger.pending_plan(1) is None


def test_what_is_given_out_may_be_changed(kept: Kept) -> None:
    given = epoch(0, 1)
    kept.ledger.write_plan(0, plan(0, 1), given)
    kept.ledger.write_epoch(given)
    kept.commit(0)
    given.positions["numbers"] = 99
    for _ in range(2):
        found = kept.ledger.last_epoch()
        assert found is not None
        assert found.positions == {"numbers": 1}
        found.positions["numbers"] = 99


def test_a_promise_is_kept_until_the_next_one(kept: Kept) -> None:
    assert kept.ledger.pledge_of(0) == {}
    kept.ledger.write_pledge(Pledge(0, {"sink": [{"id": "a", "epoch": 1}, {"id": "b"}]}))
    assert kept.ledger.pledge_of(0) == {"sink": [{"id": "a", "epoch": 1}, {"id": "b"}]}
    assert kept.ledger.pledge_of(1) == {}
    kept.ledger.write_pledge(Pledge(1, {"other": [b"raw"]}))
    assert kept.ledger.pledge_of(0) == {}
    assert kept.ledger.pledge_of(1) == {"other": [b"raw"]}


def test_an_epoch_that_is_only_begun_does_not_count(kept: Kept) -> None:
    run(kept, 0)
    kept.ledger.write_plan(1, plan(1, 1), epoch(1, 1))
    kept.ledger.draft_epoch(epoch(1, 1))
    found = kept.ledger.last_epoch()
    assert found is not None
    assert found.batch == 0
    # another one is written in the end, twice
    for position in (2, 3):
        kept.ledger.write_epoch(epoch(1, position))
        kept.ledger.draft_epoch(epoch(2, 9))
    kept.commit(1)
    found = kept.ledger.last_epoch()
    assert found is not None
    assert (found.batch, found.positions) == (1, {"numbers": 3})


def test_an_epoch_that_was_begun_is_written(kept: Kept) -> None:
    kept.ledger.draft_epoch(epoch(0, 4))
    kept.ledger.write_epoch(epoch(0, 4))
    kept.commit(0)
    found = kept.ledger.last_epoch()
    assert found is not None
    assert found.positions == {"numbers": 4}
