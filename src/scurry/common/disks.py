"""Having what was written on the disk, so that it survives a loss of power."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


def sync_file_system(place: Path) -> None:
    """Return when all that any process of this machine has written so far to the file system of
    ``place`` is on the disk: contents, names and directories. Where the system cannot do that for
    one file system (Linux can), all are synced."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if call is None:
            os.sync()
        elif call(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(place))
    finally:
        os.close(descriptor)
