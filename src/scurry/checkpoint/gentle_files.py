"""Reading, copying and syncing large files without holding up a job that uses the same disk.

Whoever asks for a file to be synced waits, on most file systems, also for what others have written
before. A gigabyte that is written or synced at once therefore stops the small writes of a job for
as long as the disk takes for it. So it is done in pieces, each of which is on the disk before the
next one begins, with pauses in between.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

#: Bytes that are under way to the disk at a time.
_PIECE = 4 << 20
#: The lowest priority.
_NICE = 19
#: Of ``sync_file_range``: begin to write, and wait for what is being written before and after.
_WRITTEN = 1 | 2 | 4


def give_way() -> None:
    """Have this thread, and those that it starts, work only when nobody else needs the processor.
    Cannot be undone."""
    with suppress(OSError, AttributeError):
        # Linux takes the number of a thread for that of a process; other systems refuse it
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def copy_gently(source: Path, target: Path) -> None:
    """Copy a file."""
    with source.open("rb") as read, target.open("wb") as written:
        while piece := read.read(_PIECE):
            written.write(piece)
            if len(piece) == _PIECE:
                written.flush()
                os.fsync(written.fileno())


def sync_gently(path: Path) -> None:
    """Return when the content of a file is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        for first in range(0, size - _PIECE, _PIECE):
            began = time.monotonic()
            if not _write_out(descriptor, first):
                break
            time.sleep(min(time.monotonic() - began, 0.1))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_out(descriptor: int, first: int) -> bool:
    """Have one piece of a file written, and nothing else; False if the system cannot do that."""
    try:
        call = ctypes.CDLL(None).sync_file_range
    except AttributeError:
        return False
    offsets = ctypes.c_int64(first), ctypes.c_int64(_PIECE)
    return bool(call(descriptor, *offsets, ctypes.c_uint(_WRITTEN)) == 0)
