"""Which process has the instance of a slot's functions, so that there is one at a time.

An instance lives in a process from its ``open`` to its ``close``. Whoever is about to make one has
any other process close first what it has for the same place in the same run of the job, and the
driver has all of them closed when the run ends. They may be on different machines, so they tell
each other through files in the checkpoint, in a directory for each run::

    instances/<run>/1-0@host@4711         process 4711 has an instance of slot 0 of stage 1
    instances/<run>/1-0@host@4711.leave   it is asked to close it
    instances/<run>/ended                 all are asked to: the run is over

A process looks for such requests when it has nothing else to do. It removes its file when the
instance is closed.

Where the checkpoint is in an object store, the directory is one of the machine, and each machine
has its own: who comes first makes it, and marks the runs before as over.

A task may still be starting when its run ends. So a process first notes that it has an instance,
and then looks whether the run is over; the driver first says that the run is over, and then looks
who has one. Whichever comes first, either the process opens nothing or the driver waits for it.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from scurry.common.own_directories import is_alive

_log = logging.getLogger("scurry.engine")
_ENDED = "ended"
_LEAVE = ".leave"
_OVER = ".over"
_LOOK_SECONDS = 0.01
#: How long somebody who is asked to close an instance may take.
PATIENCE_SECONDS = 30.0


class RunEnded(RuntimeError):
    """A task has begun after the end of its run: nobody waits for what it does."""


class Seat:
    """The place of one instance in this process: ``place`` is a task or slot, such as ``1-0``."""

    def __init__(self, directory: Path, place: str, makes: bool = False) -> None:
        """With ``makes`` the directory of the run is made on this machine, if need be."""
        self.directory = directory
        self.place = place
        self._makes = makes
        self._name = f"{place}@{socket.gethostname()}@{os.getpid()}"

    def take(self, meanwhile: Callable[[], object], patience: float = PATIENCE_SECONDS) -> None:
        """Have other processes close what they have for this place, then note that we have it;
        ``meanwhile`` is called again and again while they do. Raises :class:`RunEnded` if the run
        is over: then nothing may be opened."""
        if self._makes:
            _make(self.directory)
        try:
            self._ask_others(meanwhile, patience)
            (self.directory / self._name).touch()
        except FileNotFoundError:
            raise RunEnded(f"the run of {self.directory} is over") from None
        if self._over:
            self.give_up()
            raise RunEnded(f"the run of {self.directory} is over")

    def _ask_others(self, meanwhile: Callable[[], object], patience: float) -> None:
        others = [name for name in self._others() if _alive(name)]
        for name in others:
            (self.directory / f"{name}{_LEAVE}").touch()
        deadline = time.monotonic() + patience
        while others and time.monotonic() < deadline:
            meanwhile()
            time.sleep(_LOOK_SECONDS)
            others = [n for n in others if (self.directory / n).exists() and _alive(n)]
        if others:
            _log.warning(
                "%s has not closed its functions of slot %s within %.0f s; new instances are "
                "opened beside them",
                *(", ".join(others), self.place, patience),
            )

    def _others(self) -> Iterator[str]:
        found = self.directory.glob(f"{self.place}@*")
        names = (path.name for path in found if path.suffix != _LEAVE)
        return (name for name in names if name != self._name)

    def give_up(self) -> None:
        """The instance is closed."""
        for name in (self._name, f"{self._name}{_LEAVE}"):
            (self.directory / name).unlink(missing_ok=True)

    @property
    def must_leave(self) -> bool:
        """Whether the instance is to be closed: for another process, or because the run is over."""
        return self._over or (self.directory / f"{self._name}{_LEAVE}").exists()

    @property
    def _over(self) -> bool:
        return (self.directory / _ENDED).exists() or not self.directory.exists()


def _make(directory: Path) -> None:
    """Have a directory for a run on this machine, unless the run is over."""
    if directory.exists() or directory.with_name(f"{directory.name}{_OVER}").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    for other in directory.parent.iterdir():
        if other != directory and other.is_dir():
            with suppress(FileNotFoundError):
                (other / _ENDED).touch()


def dismiss(directory: Path, patience: float = PATIENCE_SECONDS, made: bool = False) -> None:
    """Have all instances of a run closed, and return once they are. ``made`` says that whoever
    comes makes the directory, which nobody must do from now on."""
    if not directory.exists():
        return
    if made:
        directory.with_name(f"{directory.name}{_OVER}").touch()
    (directory / _ENDED).touch()
    deadline = time.monotonic() + patience
    while (left := _present(directory)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    if left:
        _log.warning(
            "these have not closed their functions within %.0f s, and are left alone: %s",
            *(patience, ", ".join(left)),
        )
    # at once, so that nobody sees the directory without what says that the run is over
    gone = directory.with_name(f"{directory.name}.gone")
    directory.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _present(directory: Path) -> list[str]:
    names = (name for name in os.listdir(directory) if "@" in name)
    return sorted(name for name in names if not name.endswith(_LEAVE) and _alive(name))


def _alive(name: str) -> bool:
    """Whether the process of a note may still be there; on another machine nobody can tell."""
    _, host, pid = name.split("@")
    return host != socket.gethostname() or is_alive(int(pid))
