"""Locks by which processes know that another one lives: the system frees them when it dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

#: How often somebody who waits for a lock tries.
_TRY_SECONDS = 0.02


class ProcessLock:
    """The lock ``path``, held from its making until it is released or the process dies."""

    def __init__(self, path: Path, patience: float = 0.0) -> None:
        """Raises :class:`BlockingIOError` if somebody else holds it for ``patience`` seconds."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(self._file)
                    raise
                time.sleep(_TRY_SECONDS)

    def release(self) -> None:
        """Let others have it."""
        os.close(self._file)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock ``path``."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
