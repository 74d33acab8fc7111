"""Waits, from the workers to the driver and from there to whoever watches the job.

A worker that waits for a server is in the middle of a task, and Spark has no way for a task to
speak before it ends. Workers therefore leave a note in the job's directory, a small file that is
renewed while they wait, and only then. The driver reads the notes beside its own waits.
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

#: How often a note is renewed at most, and when one is too old to be believed.
_RENEW_SECONDS, _STALE_SECONDS = 1.0, 15.0
#: How often the driver looks, and how often it reports a wait that goes on.
_LOOK_SECONDS, _REPEAT_SECONDS = 0.5, 2.0


class NoteBoard(WaitBoard):
    """The board of a worker's task; also writes what it holds to a file in ``directory``."""

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
            # a note that cannot be written must not make the job fail
            with contextlib.suppress(OSError):
                self._file.parent.mkdir(exist_ok=True)
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
    """What the workers wait for."""
    found: list[Wait] = []
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(directory):
            # a worker may take its note away, or die and leave it behind
            with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):
                if is_draft(entry.name):
                    continue
                if time.time() - entry.stat().st_mtime < _STALE_SECONDS:
                    content = Path(entry.path).read_bytes()
                    found += msgspec.json.decode(content, type=list[Wait])
    return found


class ProgressTeller:
    """Calls the program's callback: after every micro-batch, while the job waits for a server, and
    when it does so no longer. Never twice at a time."""

    def __init__(
        self, progress: Progress, notes: Path, callback: Callable[[Progress], None] | None
    ) -> None:
        self._progress = progress
        #: where workers leave notes; another place after the job was rescaled
        self.notes = notes
        self._callback = callback
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="scurry-waits", daemon=True)

    def start(self) -> None:
        """Begin to look out for waits."""
        for note in self.notes.glob("*"):
            note.unlink(missing_ok=True)
        self._thread.start()

    def tell(self, progress: Progress) -> None:
        """There is news."""
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
        """The job has ended."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._progress.waiting = []


def _merged(own: list[Wait], others: list[Wait]) -> list[Wait]:
    """One wait for each server and purpose, the longest; several workers may wait for the same."""
    found: dict[tuple[str, str], Wait] = {}
    for wait in sorted([*own, *others], key=lambda wait: wait.since):
        found.setdefault((wait.server, wait.purpose), wait)
    return list(found.values())
