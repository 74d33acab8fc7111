"""The lease of a checkpoint: who gets it, who is refused, and how one that lost it finds out."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.lease import Holder, Lease, World, claim, holder_of
from scurry.checkpoint.lease_files import LeaseFiles, MemoryLeaseFiles
from scurry.common.errors import LeaseHeldError, LeaseLostError, OtherHistoryError, StateError
from scurry.common.new_files import NumberedDirectory
from scurry.common.processes import beginning_of

PLACE = "The checkpoint in /here"
DURATION = 60_000


@dataclass
class Machine:
    """A machine with a clock that is wrong by ``ahead`` seconds, and one process of ours."""

    name: str = "one"
    pid: int = 1
    ahead: float = 0.0
    #: what happens while a claimant watches
    meanwhile: Callable[[], None] = lambda: None
    slept: list[float] = field(default_factory=list)
    #: processes that live here, with their beginnings
    alive: dict[int, str] = field(default_factory=dict)

    #: the true time, which all machines share
    now = 1_000_000.0

    @property
    def world(self) -> World:
        self.alive.setdefault(self.pid, f"began {self.pid}")
        return World(
            lambda: Machine.now + self.ahead,
            self.sleep,
            lambda: f"{self.name} boot",
            lambda pid: self.alive.get(pid, ""),
            lambda: self.pid,
        )

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        Machine.now += seconds
        self.meanwhile()

    def claim(self, files: LeaseFiles, job: str = "totals") -> Lease:
        return claim(files, PLACE, job, DURATION, world=self.world)


@pytest.fixture(params=["directory", "memory"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> LeaseFiles:
    Machine.now = 1_000_000.0
    return (
        NumberedDirectory(tmp_path / "leases")
        if request.param == "directory"
        else MemoryLeaseFiles()
    )


def sign(files: LeaseFiles, lease: Lease, at: float) -> None:
    """What the holder writes at ``at`` by its own clock."""
    seen = msgspec.structs.replace(lease.holder, signs=lease.holder.signs + 1, seen=int(at * 1000))
    lease.holder = seen
    files.replace(lease.epoch, msgspec.json.encode(seen))


def test_the_first_driver_gets_epoch_1_and_a_second_one_is_refused(files: LeaseFiles) -> None:
    first = Machine("one", 11).claim(files, "totals")
    assert first.epoch == 1
    Machine.now += 5
    with pytest.raises(LeaseHeldError) as refused:
        Machine("two", 22).claim(files)
    told = str(refused.value)
    assert told.startswith("The checkpoint in /here is in use: job 'totals', process 11 of ")
    assert "on one, since 1970-01-12 13:46:40 UTC (5 s since its last sign of life)" in told
    assert "60 s after its last sign of life its lease ends" in told
    assert "scurry.checkpoint.lease-duration" in told
    first.check()


def test_the_same_process_is_refused_too(files: LeaseFiles) -> None:
    here = Machine("one", 11)
    here.claim(files, "totals")
    with pytest.raises(LeaseHeldError, match="in use by this very process: job 'totals' works"):
        here.claim(files)


def test_a_released_lease_is_free_at_once(files: LeaseFiles) -> None:
    first = Machine("one", 11).claim(files)
    first.release()
    there = Machine("two", 22)
    second = there.claim(files)
    assert (second.epoch, there.slept) == (2, [])
    assert second.holder.stores == 1, "workers share their stores with those of the first"


def test_a_process_that_has_died_here_is_replaced_at_once(files: LeaseFiles) -> None:
    Machine("one", 11).claim(files)
    here = Machine("one", 12)
    second = here.claim(files)
    assert (second.epoch, here.slept, second.holder.stores) == (2, [], 1)


def test_the_number_of_a_dead_process_may_be_used_again(files: LeaseFiles) -> None:
    Machine("one", 11).claim(files)
    assert Machine("one", 12, alive={11: "began later"}).claim(files).epoch == 2


def test_a_process_that_lives_here_is_not_replaced(files: LeaseFiles) -> None:
    Machine("one", 11).claim(files)
    with pytest.raises(LeaseHeldError):
        Machine("one", 12, alive={11: "began 11"}).claim(files)


def test_one_that_gives_no_sign_of_life_is_replaced_after_the_duration(
    files: LeaseFiles, caplog: pytest.LogCaptureFixture
) -> None:
    first = Machine("one", 11).claim(files)
    there = Machine("two", 22)
    Machine.now += 59.9
    with pytest.raises(LeaseHeldError):
        there.claim(files)
    Machine.now += 0.2
    with caplog.at_level(logging.WARNING):
        second = there.claim(files)
    assert second.epoch == 2
    assert "is taken over from job 'totals', process 11" in caplog.text
    assert second.holder.stores == 2, "a worker of the first may hold on to its stores"
    assert sum(there.slept) == pytest.approx(20), "it was watched for two signs of life"
    with pytest.raises(LeaseLostError, match=r"Another driver \(job 'totals', process 22 of .*two"):
        first.check()
    second.check()


@pytest.mark.parametrize("ahead", [-3600, 3600], ids=["behind", "ahead"])
def test_a_living_holder_with_another_clock_is_not_replaced(
    files: LeaseFiles, ahead: float
) -> None:
    first = Machine("one", 11, ahead=ahead).claim(files)
    there = Machine("two", 22, meanwhile=lambda: sign(files, first, Machine.now + ahead))
    Machine.now += 8
    with pytest.raises(LeaseHeldError):
        there.claim(files)
    assert sum(there.slept) <= 6, "the first sign of life is enough"


@pytest.mark.parametrize("ahead", [-3600, 3600], ids=["behind", "ahead"])
def test_a_dead_holder_with_another_clock_is_replaced_in_time(
    files: LeaseFiles, ahead: float
) -> None:
    Machine("one", 11, ahead=ahead).claim(files)
    there = Machine("two", 22)
    Machine.now += 100
    assert there.claim(files).epoch == 2
    assert sum(there.slept) <= 60.01


class Racing:
    """Files at which another claimant is quicker, between a look and the creation."""

    def __init__(self, files: LeaseFiles, rival: Callable[[], Lease]) -> None:
        self.files = files
        self.rival: Callable[[], Lease] | None = rival
        self.won: Lease | None = None

    def create(self, number: int, content: bytes) -> bool:
        if self.rival is not None:
            rival, self.rival = self.rival, None
            self.won = rival()
        return self.files.create(number, content)

    @property
    def silent(self) -> bool:
        return self.files.silent

    def identity(self) -> str:
        return self.files.identity()

    def numbers(self) -> list[int]:
        return self.files.numbers()

    def read(self, number: int) -> bytes | None:
        return self.files.read(number)

    def replace(self, number: int, content: bytes) -> None:
        self.files.replace(number, content)

    def remove(self, number: int) -> None:
        self.files.remove(number)


@pytest.mark.parametrize("before", [False, True], ids=["new", "after a dead one"])
def test_of_two_that_claim_at_once_one_is_refused(files: LeaseFiles, before: bool) -> None:
    if before:
        Machine("one", 11).claim(files).release()
    racing = Racing(files, lambda: Machine("two", 22).claim(files, "quick"))
    with pytest.raises(LeaseHeldError, match="job 'quick', process 22"):
        Machine("three", 33).claim(racing, "slow")
    assert racing.won is not None
    racing.won.check()
    assert racing.won.epoch == (2 if before else 1)


def test_of_many_real_threads_one_gets_it(tmp_path: Path) -> None:
    start = threading.Barrier(8)
    won: list[Lease] = []
    refused: list[LeaseHeldError] = []

    def compete(number: int) -> None:
        world = Machine(f"host{number}", number).world
        start.wait()
        try:
            won.append(claim(NumberedDirectory(tmp_path / "leases"), PLACE, "job", world=world))
        except LeaseHeldError as failure:
            refused.append(failure)

    threads = [threading.Thread(target=compete, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(refused)) == (1, 7)


def test_a_driver_that_slept_through_many_leases_finds_out(files: LeaseFiles) -> None:
    first = Machine("one", 11).claim(files)
    for pid in range(20, 60):
        Machine.now += 100
        last = Machine("two", pid).claim(files)
        last.release()
    assert len(files.numbers()) <= 10, "files of old leases are removed"
    sign(files, first, Machine.now)
    with pytest.raises(LeaseLostError):
        first.check()
    found = holder_of(files)
    assert found is not None
    assert found[0] == 41


def test_a_sleeper_that_releases_late_does_not_free_the_lease_of_another(
    files: LeaseFiles,
) -> None:
    first = Machine("one", 11).claim(files)
    Machine.now += 100
    Machine("two", 22).claim(files)
    first.release()
    with pytest.raises(LeaseHeldError):
        Machine("three", 33).claim(files)


def test_an_epoch_can_be_asked_to_be_above_another_number(files: LeaseFiles) -> None:
    assert claim(files, PLACE, "job", above=7).epoch == 8


def test_a_damaged_lease_is_named(tmp_path: Path) -> None:
    (tmp_path / "000000003.json").write_text("{")
    with pytest.raises(StateError, match="The lease 3 of the checkpoint cannot be read"):
        holder_of(NumberedDirectory(tmp_path))


def test_signs_of_life_are_given_until_the_release(tmp_path: Path) -> None:
    files = NumberedDirectory(tmp_path)
    lease = claim(files, PLACE, "job", 120)
    lease.keep()
    waiting = threading.Event()

    def signs() -> Iterator[int]:
        while True:
            waiting.wait(0.01)
            found = holder_of(files)
            assert found is not None
            yield found[1].signs

    assert next(number for number in signs() if number >= 3)
    lease.release()
    found = holder_of(files)
    assert found is not None
    assert found[1].released


def test_a_target_that_a_later_driver_has_entered(files: LeaseFiles) -> None:
    first = Machine("one", 11).claim(files)
    first.admit(0)
    first.admit(1)
    Machine.now += 100
    second = Machine("two", 22).claim(files)
    second.enter(1)
    for call in (first.enter, first.admit):
        with pytest.raises(LeaseLostError):
            call(2)


def test_a_lease_that_travels_to_a_worker_is_a_number(files: LeaseFiles) -> None:
    lease = Machine("one", 11).claim(files)
    lease.keep()
    there = pickle.loads(pickle.dumps(lease))
    assert there.epoch == 1
    lease.release()
    there.check()


def test_a_target_that_the_driver_of_a_copy_has_entered(files: LeaseFiles) -> None:
    mine = Machine("one", 11).claim(files)
    mine.enter(9)
    with pytest.raises(OtherHistoryError, match=r"lease epoch 9, and this one has 1.*a copy"):
        mine.admit(9)


HOLD = """
import sys
from scurry.checkpoint.directory import JobDirectory
JobDirectory(sys.argv[1]).claim("held elsewhere")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_process_of_this_machine(tmp_path: Path) -> None:
    """As long as it lives the lease is held; when it is killed, it is free at once."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        directory = JobDirectory(str(tmp_path))
        with pytest.raises(LeaseHeldError, match=rf"'held elsewhere', process {other.pid} of"):
            directory.claim("mine")
        found = directory.holder()
        assert found is not None
        assert (found[0], found[1].pid) == (1, other.pid)
        other.kill()
        # it is not waited for yet: a process that has ended and is still listed
        while beginning_of(other.pid):
            pass
        assert directory.claim("mine").epoch == 2


def test_a_copy_of_a_checkpoint_in_use_is_not_in_use(tmp_path: Path) -> None:
    """The copy of the lease names a process that lives, and works with the original."""
    original = JobDirectory(str(tmp_path / "original"))
    held = original.claim("original")
    shutil.copytree(tmp_path / "original", tmp_path / "copy")
    copied = JobDirectory(str(tmp_path / "copy")).claim("copy")
    assert copied.epoch == 2
    assert copied.holder.stores == 2, "workers of the original have theirs"
    held.check()
    (tmp_path / "link").symlink_to(tmp_path / "original")
    with pytest.raises(LeaseHeldError, match="this very process: job 'original'"):
        JobDirectory(str(tmp_path / "link")).claim("by another name")
    (tmp_path / "original").rename(tmp_path / "moved")
    with pytest.raises(LeaseHeldError):
        JobDirectory(str(tmp_path / "moved")).claim("in another place")


def test_this_process_has_a_beginning() -> None:
    assert beginning_of(os.getpid()) == beginning_of(os.getpid()) != ""
    assert beginning_of(2**22 + 1) == ""


def test_what_is_known_of_a_holder() -> None:
    holder = Holder("box boot-7 pid:[1]", 5, "b", "ada", "totals", 0, 60_000)
    assert str(holder) == ("job 'totals', process 5 of 'ada' on box, since 1970-01-01 00:00:00 UTC")
