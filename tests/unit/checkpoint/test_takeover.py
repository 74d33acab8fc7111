"""Two drivers on one checkpoint: the first was taken for dead, and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.lease import Lease
from scurry.checkpoint.ledger import Pledge
from scurry.checkpoint.takeover import take_over_pledges
from scurry.common.errors import LeaseLostError, StateError
from scurry.datastream import StreamExecutionEnvironment
from scurry.runtime.ingress import PartitionPlan, TaskPlan
from scurry.runtime.specs import JobSpec
from scurry.testing import ListSink


def job(parallelism: int = 2) -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    stream = env.from_collection([1]).uid("numbers").key_by(lambda n: n).map(lambda n: n)
    stream.uid("map").sink_to(ListSink()).uid("sink")
    return env._compile(None).spec


class Driver:
    """A driver as far as its directory goes, with a Spark that writes a commit and some state."""

    def __init__(self, root: Path, parallelism: int = 2) -> None:
        self.directory = JobDirectory(str(root))
        held = self.directory.holder()
        if held is not None:
            _declare_dead(root, held[0])
        self.lease: Lease = self.directory.claim("job")
        self.directory.prepare(job(parallelism))

    def plan(self, batch: int, position: int) -> None:
        tasks = [TaskPlan(batch, 0, 1, 0, [PartitionPlan("numbers", "0", 0, [position], {})])]
        self.directory.write_plan(batch, tasks, Epoch(batch, {"numbers": position}, []))

    def finish(self, batch: int, position: int) -> None:
        self.directory.write_epoch(Epoch(batch, {"numbers": position}, []))

    def commit(self, batch: int, state: str = "") -> None:
        number = batch - self.directory.generation.first
        spark = self.directory.home.spark
        for part in ("commits", "offsets", "state/0/1", "state/0/_metadata/v2"):
            (spark / part).mkdir(parents=True, exist_ok=True)
        (spark / "state/0/1" / f"{number + 1}.changelog").write_text(state)
        (spark / "state/0/_metadata/v2/0").write_text(
            json.dumps({"paths": [f"file:{spark}/state/0/_stateSchema/default/0_x"]})
        )
        (spark / "offsets" / str(number)).touch()
        (spark / "commits" / str(number)).touch()

    def run(self, batch: int, position: int) -> None:
        self.plan(batch, position)
        self.finish(batch, position)
        self.commit(batch)

    @property
    def stands_at(self) -> tuple[int, int] | None:
        epoch = self.directory.last_epoch()
        return None if epoch is None else (epoch.batch, epoch.positions["numbers"])

    def pending(self, after: int) -> int | None:
        found = self.directory.pending_plan(after)
        return None if found is None else found[1].positions["numbers"]


def _declare_dead(root: Path, epoch: int) -> None:
    """Have the holder look like a process that has ended."""
    place = root / "leases" / f"{epoch:09d}.json"
    content = json.loads(place.read_text())
    place.write_text(json.dumps({**content, "began": "before"}))


def test_the_next_driver_goes_on_where_the_last_one_stood(tmp_path: Path) -> None:
    first = Driver(tmp_path)
    for batch in range(3):
        first.run(batch, 10 * batch)
    first.plan(3, 30)
    second = Driver(tmp_path)
    assert (second.stands_at, second.pending(2)) == ((2, 20), 30)
    assert second.directory.manifest.checkpoint_id == first.directory.manifest.checkpoint_id
    second.directory.settle()
    third = Driver(tmp_path)
    assert (third.stands_at, third.pending(2)) == ((2, 20), 30)
    assert JobDirectory(str(tmp_path)).layout.drivers() == [2, 3]


def test_nothing_that_the_first_driver_still_does_reaches_the_second(tmp_path: Path) -> None:
    first = Driver(tmp_path)
    first.run(0, 0)
    first.plan(1, 10)
    second = Driver(tmp_path)
    assert not second.directory.outrun()
    second.directory.settle()
    second.plan(2, 77)
    # the first wakes up, and does all that it could have been about to do
    for directory in (first.directory.home.epochs, first.directory.home.plans):
        directory.mkdir(parents=True, exist_ok=True)
    first.finish(1, 11)
    first.commit(1)
    first.plan(2, 22)
    first.directory.sweep()
    assert (second.stands_at, second.pending(0), second.pending(1)) == ((0, 0), 10, 77)
    with pytest.raises(LeaseLostError):
        first.lease.check()
    third = Driver(tmp_path)
    assert (third.stands_at, third.pending(0)) == ((0, 0), 10)


def test_state_that_the_first_driver_still_writes_is_its_own(tmp_path: Path) -> None:
    first = Driver(tmp_path)
    for batch in range(2):
        first.plan(batch, batch)
        first.finish(batch, batch)
        first.commit(batch, f"{batch} of the first")
    second = Driver(tmp_path)
    first.commit(1, "overwritten")
    first.commit(2, "too much")
    state = second.directory.home.spark / "state/0/1"
    assert {place.name: place.read_text() for place in state.iterdir()} == {
        "1.changelog": "0 of the first",
        "2.changelog": "1 of the first",
    }
    metadata = second.directory.home.spark / "state/0/_metadata/v2/0"
    named = Path(json.loads(metadata.read_text())["paths"][0].removeprefix("file:"))
    assert named.is_relative_to(second.directory.home.spark)


def test_only_what_a_state_needs_is_taken_over(tmp_path: Path) -> None:
    first = Driver(tmp_path)
    for batch in range(6):
        first.run(batch, batch)
    store = first.directory.home.spark / "state/0/1"
    for name in ("3.zip", ".3.zip.crc", ".7.changelog.a1.tmp", "7.changelog", "9.zip"):
        (store / name).touch()
    (store / "SSTs").mkdir()
    (store / "SSTs" / "000008-ab.sst").write_bytes(bytes(100_000))
    second = Driver(tmp_path)
    taken = second.directory.home.spark / "state/0/1"
    assert {place.name for place in taken.iterdir()} == {
        *("3.zip", ".3.zip.crc", "SSTs"),
        *(f"{version}.changelog" for version in (3, 4, 5, 6)),
    }
    assert (taken / "SSTs" / "000008-ab.sst").stat().st_size == 100_000


def test_a_driver_that_plans_while_it_is_taken_over_is_seen(tmp_path: Path) -> None:
    first = Driver(tmp_path)
    first.run(0, 0)
    second = Driver(tmp_path)
    # it had made sure of its lease just before, and its sinks may have the batch
    first.plan(1, 10)
    assert second.directory.outrun()
    second.directory.take_over()
    assert not second.directory.outrun()
    assert second.pending(0) == 10


def test_a_takeover_that_died_is_not_taken_over_from(tmp_path: Path) -> None:
    first = Driver(tmp_path)
    first.run(0, 5)
    half = JobDirectory(str(tmp_path))
    _declare_dead(tmp_path, 1)
    home = half.layout.home(0, half.claim("job").epoch)
    home.epochs.mkdir(parents=True)
    (home.epochs / "0.json").write_text("cut sho")
    third = Driver(tmp_path)
    assert third.lease.epoch == 3
    assert third.stands_at == (0, 5)


def test_two_that_make_a_checkpoint_make_the_same(tmp_path: Path) -> None:
    first = JobDirectory(str(tmp_path))
    first.claim("job")
    second = Driver(tmp_path) if _dead(tmp_path) else None
    assert second is not None
    first.prepare(job())
    assert first.manifest.checkpoint_id == second.directory.manifest.checkpoint_id


def _dead(root: Path) -> bool:
    _declare_dead(root, 1)
    return True


def test_generations_of_two_drivers_do_not_meet(tmp_path: Path) -> None:
    """Both find another parallelism; the first wakes up in the middle of the second's work."""
    before = Driver(tmp_path)
    before.run(0, 0)
    first = Driver(tmp_path, 3)
    drafted = first.directory.draft(job(3))
    second = Driver(tmp_path, 4)
    made = second.directory.draft(job(4))
    second.directory.write_epoch_of(made, Epoch(0, {"numbers": 0}, []))
    second.directory.switch_to(made)
    second.directory.settle()
    second.run(1, 10)
    first.directory.layout.manifest_of(first.lease.epoch).parent.mkdir()
    first.directory.switch_to(drafted)
    first.directory.sweep()
    assert (second.stands_at, second.directory.generation.parallelism) == ((1, 10), 4)
    third = Driver(tmp_path, 4)
    assert third.stands_at == (1, 10)
    assert third.directory.generation.number == made.number == 3


def test_a_checkpoint_from_before_there_were_leases(tmp_path: Path) -> None:
    old = JobDirectory(str(tmp_path))
    old.prepare(job())
    content = json.loads((tmp_path / "job.json").read_text())
    for generation in content["generations"]:
        del generation["driver"]
    (tmp_path / "job.json").write_text(json.dumps({**content, "version": 4}))
    old.write_plan(0, [TaskPlan(0, 0, 1, 0, [])], Epoch(0, {"numbers": 3}, []))
    old.write_epoch(Epoch(0, {"numbers": 3}, []))
    old.home.spark_commits.mkdir(parents=True)
    old.home.spark_commit(0).touch()
    now = Driver(tmp_path)
    assert (now.lease.epoch, now.stands_at) == (1, (0, 3))
    now.directory.settle()
    assert sorted(place.name for place in tmp_path.iterdir()) == ["driver-1", "job.json", "leases"]
    assert json.loads((tmp_path / "job.json").read_text())["version"] == 5


def test_the_next_driver_knows_all_promises_and_no_more_are_made(tmp_path: Path) -> None:
    first = Driver(tmp_path)
    first.run(0, 3)
    first.plan(1, 5)
    first.directory.write_pledge(Pledge(1, {"sink": [{"id": "a"}]}))
    second = Driver(tmp_path)
    assert second.directory.pledge_of(1) == {"sink": [{"id": "a"}]}
    # the first one lives, and has passed its last look at the lease
    with pytest.raises(FileNotFoundError):
        first.directory.write_pledge(Pledge(1, {"sink": [{"id": "late"}]}))
    assert second.directory.pledge_of(1) == {"sink": [{"id": "a"}]}
    # the second dies before it has settled in
    third = Driver(tmp_path)
    assert third.directory.pledge_of(1) == {"sink": [{"id": "a"}]}
    third.directory.write_pledge(Pledge(1, {"sink": [{"id": "b"}]}))
    third.directory.settle()
    assert third.directory.pledge_of(1) == {"sink": [{"id": "b"}]}


def test_a_driver_that_dies_while_it_takes_over_loses_no_promise(tmp_path: Path) -> None:
    first = Driver(tmp_path)
    first.plan(0, 3)
    first.directory.write_pledge(Pledge(0, {"sink": [1]}))
    layout = first.directory.layout
    take_over_pledges(layout, first.lease.epoch, first.lease.epoch + 1)
    second = Driver(tmp_path)
    assert second.directory.pledge_of(0) == {"sink": [1]}


def test_a_promise_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    place = driver.directory.layout.pledge(driver.directory.layout.pledges(driver.lease.epoch))
    place.write_bytes(b"nonsense")
    with pytest.raises(StateError, match="pledges/last cannot be read"):
        driver.directory.pledge_of(0)
