"""What other processes ask of a running job, as files in its checkpoint.

Whoever may write to the checkpoint may ask: the directory is its owner's alone, so no further
credentials are needed, and no port is open. A request is a file; the job answers with another one
beside it, and the one who asked removes both::

    requests/3f2a.json          asked for
    requests/3f2a.answer.json   done, or why it could not be done

A request says until when it is of use: of somebody who has gone away meanwhile nothing is done.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scurry.common.any_paths import write_whole

#: Seconds between two looks of the job.
_LOOK_SECONDS = 0.25
_WAIT_SECONDS = 0.05
_ANSWER, _REQUEST = ".answer.json", ".json"


class Request(msgspec.Struct, frozen=True):
    """A savepoint, please; or another parallelism."""

    request_id: str
    #: in which directory it is to lie, None for that of the job's configuration
    directory: str | None
    name: str
    stop: bool
    drain: bool
    #: seconds since 1970
    until: float
    #: the parallelism that the job shall have; 0 if it is asked for a savepoint
    parallelism: int = 0


class Answer(msgspec.Struct, frozen=True):
    """Where the savepoint is, or how the parallelism was changed; or why it could not be done."""

    path: str = ""
    error: str = ""


class RequestFiles:
    """The job's side."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._looked = 0.0
        self._known: set[str] = set()

    def news(self) -> Iterator[Request]:
        """Requests that were not there at the last look. Looks at most four times a second."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        with suppress(FileNotFoundError):
            for name in os.listdir(self._place):
                request = self._read(name)
                if request is not None:
                    yield request

    def _read(self, name: str) -> Request | None:
        if not name.endswith(_REQUEST) or name.endswith(_ANSWER) or name in self._known:
            return None
        self._known.add(name)
        path = self._place / name
        try:
            request = msgspec.json.decode(path.read_bytes(), type=Request)
        except (OSError, msgspec.MsgspecError):
            return None
        if request.until < time.time() or name != f"{request.request_id}{_REQUEST}":
            path.unlink(missing_ok=True)
            return None
        return request

    def answer_to(self, request: Request) -> Callable[[Future[str]], None]:
        """What to call with the answer once it is there."""

        def answer(found: Future[str]) -> None:
            failure = found.exception()
            if failure is not None:
                self.refuse(request, failure)
            else:
                self._write(request, Answer(found.result()))

        return answer

    def refuse(self, request: Request, failure: BaseException) -> None:
        """Say why it cannot be done."""
        self._write(request, Answer(error=str(failure) or type(failure).__name__))

    def _write(self, request: Request, answer: Answer) -> None:
        # whoever asked may have gone away, and the directory with it
        with suppress(OSError):
            write_whole(self._place / f"{request.request_id}{_ANSWER}", msgspec.json.encode(answer))


@contextmanager
def asked(
    place: Path,
    patience: float,
    *,
    directory: str | None = None,
    name: str = "",
    stop: bool = False,
    drain: bool = False,
    parallelism: int = 0,
) -> Iterator[Callable[[], Answer | None]]:
    """Ask the job whose requests lie in ``place``; the body is given a function that waits a moment
    for the answer. Afterwards nothing of the request is left."""
    until = time.time() + patience
    made = Request(uuid.uuid4().hex, directory, name, stop, drain, until, parallelism)
    place.mkdir(mode=0o700, exist_ok=True)
    request = place / f"{made.request_id}{_REQUEST}"
    answer = place / f"{made.request_id}{_ANSWER}"
    write_whole(request, msgspec.json.encode(made))

    def wait() -> Answer | None:
        time.sleep(_WAIT_SECONDS)
        try:
            return msgspec.json.decode(answer.read_bytes(), type=Answer)
        except FileNotFoundError:
            return None

    try:
        yield wait
    finally:
        for path in (request, answer):
            path.unlink(missing_ok=True)
