"""Directories that one process has for itself, beside those that processes share.

Such a directory is locked for as long as the process lives that has it, or a copy of it: whoever
finds one that is not locked may delete it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

_PREFIX = "apart-"


def is_secluded(place: Path) -> bool:
    """Whether a directory of that name is meant for one process alone."""
    return place.name.startswith(_PREFIX)


class Secluded:
    """A new directory below ``root`` that nobody else looks for, and nobody deletes before
    :meth:`close`."""

    def __init__(self, root: Path) -> None:
        self._lock = -1
        while True:
            self.path = root / f"{_PREFIX}{uuid.uuid4().hex[:12]}"
            self.path.mkdir(parents=True)
            with suppress(FileNotFoundError):
                self._lock = os.open(self.path, os.O_RDONLY)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                if self.path.exists():
                    return
                # somebody has deleted it before it was locked
                self.close()

    def close(self) -> None:
        """This process needs the directory no more. A copy of it may still have it."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def drop_secluded(root: Path) -> None:
    """Delete the directories below ``root`` that processes have had for themselves, and that no
    living one has."""
    for place in root.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            lock = os.open(place, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place, ignore_errors=True)
            finally:
                os.close(lock)
