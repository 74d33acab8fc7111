"""Showing whom a job waits for: from the workers to the driver, and from there to the program.

While a worker waits for a server (see :mod:`scurry.common.waiting`), it keeps a *note* in the job's
directory: a small file that names the server, written again every second and removed when the wait
is over. A thread on the driver reads these notes, adds the driver's own waits, and calls the
program's progress callback. Files are used because the worker is in the middle of a task, and Spark
gives a task no way to report anything before it ends.

These notes have nothing to do with the notes of a slot, which are part of its journal's head.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import msgspec

from scurry.checkpoint.layout import draft_of, is_draft
from scurry.common.waiting import QUIET_SECONDS, Wait, WaitBoard
from scurry.engine.progress import Progress

#: Seconds between two writes of a note; seconds after which a note that was not written again
#: counts as left behind by a worker that died.
_RENEW_SECONDS, _STALE_SECONDS = 1.0, 15.0
#: Seconds between two looks of the driver; seconds between two reports of a wait that goes on.
_LOOK_SECONDS, _REPEAT_SECONDS = 0.5, 2.0


class NoteBoard(WaitBoard):
    """The board of a worker's task, which also writes its waits to a note for the driver, in
    ``directory``. Leaving the ``with`` block of the board removes the note."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        name = f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"
        self._file = directory / name
        self._written = 0.0

    def post(self, owner: object, wait: Wait) -> None:
        super().post(owner, wait)
        now = time.monotonic()
        if wait.seconds >= QUIET_SECONDS and now - self._written >= _RENEW_SECONDS:
            self._written = now
            # the job must not fail because a note cannot be written
            with contextlib.suppress(OSError):
                self._file.parent.mkdir(parents=True, exist_ok=True)
                draft = draft_of(self._file)
                draft.write_bytes(msgspec.json.encode(self.waits()))
                draft.replace(self._file)

    def clear(self, owner: object) -> None:
        super().clear(owner)
        self._remove()

    def wipe(self) -> None:
        super().wipe()
        self._remove()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self.wipe()

    def _remove(self) -> None:
        if self._written:
            self._written = 0.0
            with contextlib.suppress(OSError):
                self._file.unlink(missing_ok=True)


def read_notes(directory: Path) -> list[Wait]:
    """The waits in all notes of ``directory`` that are recent."""
    found: list[Wait] = []
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(directory):
            # a worker may remove its note meanwhile, or die while it writes one
            with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):
                if is_draft(entry.name):
                    continue
                if time.time() - entry.stat().st_mtime < _STALE_SECONDS:
                    content = Path(entry.path).read_bytes()
                    found += msgspec.json.decode(content, type=list[Wait])
    return found


class ProgressTeller:
    """Calls the program's progress callback, from one thread at a time.

    The runner calls :meth:`tell` after every micro-batch. A thread of this class does so when the
    job begins to wait for a server, every two seconds while it waits, and when the wait is over.
    """

    def __init__(
        self, progress: Progress, notes: Path, callback: Callable[[Progress], None] | None
    ) -> None:
        self._progress = progress
        #: the directory of the workers' notes; it changes when the job is rescaled
        self.notes = notes
        self._callback = callback
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="scurry-waits", daemon=True)

    def start(self) -> None:
        """Remove the notes of earlier runs, and start the thread that looks for waits."""
        for note in self.notes.glob("*"):
            note.unlink(missing_ok=True)
        self._thread.start()

    def tell(self, progress: Progress) -> None:
        """Call the program's callback, if it gave one, with ``progress``."""
        if self._callback is not None:
            with self._lock:
                self._callback(progress)

    def _watch(self) -> None:
        progress, told = self._progress, 0.0
        while not self._ended.wait(_LOOK_SECONDS):
            before = progress.waiting
            progress.waiting = _merged(progress.board.waits(), read_notes(self.notes))
            repeat = time.monotonic() - told >= _REPEAT_SECONDS
            if bool(before) != bool(progress.waiting) or (progress.waiting and repeat):
                told = time.monotonic()
                self.tell(progress)

    def close(self) -> None:
        """Stop the thread, because the job has ended; it waits for nobody any more."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._progress.waiting = []


def _merged(own: list[Wait], others: list[Wait]) -> list[Wait]:
    """One wait for each server and purpose: the one that began first. Several workers may wait for
    the same server."""
    found: dict[tuple[str, str], Wait] = {}
    for wait in sorted([*own, *others], key=lambda wait: wait.since):
        found.setdefault((wait.server, wait.purpose), wait)
    return list(found.values())
