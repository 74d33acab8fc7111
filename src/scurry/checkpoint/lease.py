"""The lease of a checkpoint, by which one driver at a time works with it.

Each driver that works with a checkpoint holds a numbered file (:mod:`scurry.checkpoint.
lease_files`), which says who it is. The greatest number is the lease in force, and that number is
its *epoch*. Claiming the lease means to look at the file in force, to find that its holder is gone,
and to create the next number. Two who do so at the same moment try to create the same file, and one
of them fails.

A holder is gone if it has *released* its lease, if its process has ended on this very machine, or
if it has given no sign of life for the duration that it promised. The holder writes its file again,
as a sign of life, six times within that duration. Clocks of two machines differ, so a sign that
looks old is not believed: the claimant also watches the file for a while by its own clock, and a
file that changes belongs to somebody alive.

A holder that was taken for dead may only have been paused. It finds out by :meth:`Lease.check`,
which lists the files, before every step that others could see. What happens to a step that it has
just begun when it is paused, docs/design/lease.md tells: whatever it writes then has its own epoch
in the name, or is compared with the epoch that the target holds.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from scurry.checkpoint.alive import Answering, lives
from scurry.checkpoint.lease_files import LeaseFiles
from scurry.common.errors import LeaseHeldError, LeaseLostError, StateError
from scurry.common.fault_points import fault_point
from scurry.common.options.checkpoints import LEASE_DURATION
from scurry.common.processes import beginning_of, this_machine, user_name
from scurry.functions.fencing import Fence, only_epoch

_log = logging.getLogger("scurry.checkpoint")
#: Signs of life within the duration of a lease, and the longest pause between two, in seconds.
_SIGNS, _LONGEST_PAUSE = 6, 10.0
#: Files of earlier leases that are kept.
_KEEP = 8
_TRIES, _TRY_SECONDS = 20, 0.01


class Holder(msgspec.Struct, frozen=True):
    """Who holds a lease, and since when; times are milliseconds since 1970."""

    machine: str
    pid: int
    #: when the process began, in the machine's own measure
    began: str
    user: str
    job: str
    since: int
    #: how long others wait for a sign of life
    duration: int
    #: how many signs of life there were, and when the last one was
    signs: int = 0
    seen: int = 0
    #: when the lease was released, 0 if it is held
    released: int = 0
    #: the epoch of the lease since which workers share their local stores
    stores: int = 0
    #: by which the machine tells the directory from copies of it, empty if it cannot
    directory: str = ""
    version: int = 1
    #: where the holder can be asked whether it lives, instead of writing signs of life, and the
    #: word that it answers to; see :mod:`scurry.checkpoint.alive`
    address: str = ""
    word: str = ""

    @property
    def host(self) -> str:
        """The name of the machine."""
        return self.machine.partition(" ")[0]

    def __str__(self) -> str:
        return (
            f"job {self.job!r}, process {self.pid} of {self.user!r} on {self.host}, since "
            f"{_moment(self.since)}"
        )


@dataclass(frozen=True)
class World:
    """What a claimant asks the machine; tests have worlds of their own."""

    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    machine: Callable[[], str] = this_machine
    beginning: Callable[[int], str] = beginning_of
    pid: Callable[[], int] = os.getpid

    def now(self) -> int:
        """Milliseconds since 1970."""
        return int(self.clock() * 1000)

    def ended(self, holder: Holder) -> bool:
        """Whether it is certain that the process of ``holder`` has ended."""
        return holder.machine == self.machine() and self.beginning(holder.pid) != holder.began

    def elsewhere(self, holder: Holder, directory: str) -> bool:
        """Whether ``holder`` works with another directory than ``directory``, of which this one is
        a copy."""
        known = holder.machine == self.machine() and holder.directory and directory
        return bool(known) and holder.directory != directory


def holder_of(files: LeaseFiles) -> tuple[int, Holder] | None:
    """The lease in force, its epoch and who holds or held it; None if there was none yet."""
    for _ in range(_TRIES):
        epoch = max(files.numbers(), default=0)
        if not epoch:
            return None
        # it may be removed meanwhile, or, where there are no links, be half written
        with suppress(msgspec.DecodeError):
            content = files.read(epoch)
            if content is not None:
                return epoch, msgspec.json.decode(content, type=Holder)
        time.sleep(_TRY_SECONDS)
    raise StateError(
        f"The lease {epoch} of the checkpoint cannot be read: its file is damaged. If no job works "
        "with the checkpoint, remove the file."
    )


class Lease(Fence):
    """A lease that this process holds, or held until somebody else took it over."""

    def __init__(
        self,
        files: LeaseFiles,
        epoch: int,
        holder: Holder,
        place: str,
        answering: Answering | None = None,
    ) -> None:
        self._answering = answering
        self.epoch = epoch
        self.holder = holder
        self._files = files
        self._place = place
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __reduce__(self) -> tuple[Callable[[int], Fence], tuple[int]]:
        # a sink may hold on to it, and sinks are sent to the workers
        return only_epoch, (self.epoch,)

    def check(self) -> None:
        if max(self._files.numbers(), default=0) > self.epoch:
            raise LeaseLostError(self._lost())
        fault_point("lease-checked")

    @property
    def lost(self) -> bool:
        """Whether another driver has taken over."""
        return max(self._files.numbers(), default=0) > self.epoch

    def _lost(self) -> str:
        found = holder_of(self._files)
        by = f" ({found[1]})" if found else ""
        return (
            f"Another driver{by} has taken over {self._place}: this one had given no sign of life "
            f"for {self.holder.duration / 1000:g} s, so it was taken for dead. This one ends, and "
            "the other goes on where the checkpoint stood. If this happens to a job that works, "
            f"set {LEASE_DURATION.key} to more than its longest pause."
        )

    def keep(self) -> None:
        """Give signs of life from now on, from a thread."""
        if self._answering is not None:
            return
        self._thread = threading.Thread(target=self._live, name="scurry-lease", daemon=True)
        self._thread.start()

    def _live(self) -> None:
        pause = min(_LONGEST_PAUSE, self.holder.duration / 1000 / _SIGNS)
        while not self._ended.wait(pause) and not self.lost:
            # the file system may be away for a moment; the next sign is soon
            with suppress(OSError):
                self.sign()

    def sign(self) -> None:
        """Give a sign of life."""
        now = int(time.time() * 1000)
        self._write(msgspec.structs.replace(self.holder, signs=self.holder.signs + 1, seen=now))

    def _write(self, holder: Holder) -> None:
        self.holder = holder
        self._files.replace(self.epoch, msgspec.json.encode(holder))

    def release(self) -> None:
        """Say in the lease's file that the job has ended, so that the next driver need not wait."""
        self._ended.set()
        if self._answering is not None:
            self._answering.close()
        if self._thread is not None:
            self._thread.join()
        with suppress(OSError):
            self._write(msgspec.structs.replace(self.holder, released=int(time.time() * 1000)))


def claim(
    files: LeaseFiles,
    place: str,
    job: str,
    duration: int = LEASE_DURATION.default,
    above: int = 0,
    world: World | None = None,
) -> Lease:
    """Claim the lease of the checkpoint ``place`` (so called in messages) for ``job``, with an
    epoch greater than ``above``; raises :class:`LeaseHeldError` if somebody holds it."""
    world = world or World()
    found = holder_of(files)
    before = 0
    gentle = True
    if found is not None:
        before, holder = found
        gentle = _make_sure_it_is_gone(files, before, holder, place, world)
    epoch = max(before, above) + 1
    now, pid = world.now(), world.pid()
    stores = found[1].stores if found is not None and gentle else epoch
    answering = Answering() if files.silent else None
    mine = Holder(
        *(world.machine(), pid, world.beginning(pid), user_name(), job, now, duration),
        seen=now,
        stores=stores,
        directory=files.identity(),
        address="" if answering is None else answering.address,
        word="" if answering is None else answering.word,
    )
    if not files.create(epoch, msgspec.json.encode(mine)):
        if answering is not None:
            answering.close()
        winner = holder_of(files)
        assert winner is not None
        raise LeaseHeldError(_refusal(winner[1], place, world))
    for old in files.numbers():
        if old < epoch - _KEEP:
            files.remove(old)
    return Lease(files, epoch, mine, place, answering)


def _make_sure_it_is_gone(
    files: LeaseFiles, epoch: int, holder: Holder, place: str, world: World
) -> bool:
    """Raise :class:`LeaseHeldError` if the holder lives, as far as can be told; otherwise say
    whether it is certain that it does not."""
    if world.elsewhere(holder, files.identity()):
        return False
    if holder.released or world.ended(holder):
        return True
    if holder.address:
        if lives(holder.address, holder.word):
            raise LeaseHeldError(_refusal(holder, place, world))
        _log.warning("%s is taken over from %s, which does not answer", place, holder)
        return False
    age = world.now() - holder.seen
    if 0 <= age < holder.duration:
        raise LeaseHeldError(_refusal(holder, place, world))
    # its clock may be behind ours, or ahead: then only watching it helps, for as long as it takes
    watch = holder.duration if age < 0 else 2 * holder.duration // _SIGNS
    if _gives_a_sign(files, epoch, holder, watch / 1000, world):
        raise LeaseHeldError(_refusal(holder, place, world))
    _log.warning(
        "%s is taken over from %s, which gave no sign of life for %.0f s",
        *(place, holder, max(age, watch) / 1000),
    )
    return False


def _gives_a_sign(
    files: LeaseFiles, epoch: int, holder: Holder, seconds: float, world: World
) -> bool:
    step = seconds / 10
    for _ in range(10):
        world.sleep(step)
        content = files.read(epoch)
        if content is not None and msgspec.json.decode(content, type=Holder) != holder:
            return True
    return False


def _refusal(holder: Holder, place: str, world: World) -> str:
    if holder.pid == world.pid() and holder.machine == world.machine():
        return (
            f"{place} is in use by this very process: job {holder.job!r} works with it since "
            f"{_moment(holder.since)}. Wait for the end of that job, or give this one a directory "
            "of its own."
        )
    quiet = max(0, world.now() - holder.seen) / 1000
    return (
        f"{place} is in use: {holder} ({quiet:.0f} s since its last sign of life). One driver at a "
        "time may work with a checkpoint. End that job first, or give this one a directory of its "
        "own. If that process has died on its host, start this one there, or wait: "
        f"{holder.duration / 1000:g} s after its last sign of life its lease ends "
        f"({LEASE_DURATION.key})."
    )


def _moment(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
