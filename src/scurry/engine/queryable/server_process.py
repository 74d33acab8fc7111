"""The process that answers queries, as the driver starts it and finds it again.

The process needs nothing but the directory of the view. So it outlives the driver: if the driver is
killed, queries go on to be answered, marked as stale, and the next driver of the same checkpoint on
the same machine finds the process and has it go on. What it must be told, the token among it, goes
through a pipe, where nobody else can read it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from scurry import __version__
from scurry.common.errors import ConfigurationError, JobError
from scurry.common.options.queryable import QUERY_PORTS
from scurry.engine.queryable.locks import is_held
from scurry.engine.queryable.settings import QuerySettings

SERVER, SERVER_LOCK, DRIVER_LOCK, LOG = "server.json", "server.lock", "driver.lock", "server.log"
#: The module that is run; it lies in a layer above this one.
_MODULE = "scurry.queryable.server"
_STOP_SECONDS = 5.0


class ServerOrder(msgspec.Struct):
    """What the process is told when it starts."""

    directory: str
    host: str
    first_port: int
    last_port: int
    token: str
    #: milliseconds
    linger: int
    #: tells orders apart without giving the token away
    digest: str


class ServerNote(msgspec.Struct):
    """What the process leaves in the directory of the view, and says when it listens."""

    pid: int
    address: str
    digest: str
    error: str = ""


class ServerProcess:
    """The process that answers queries about the view in ``directory``."""

    def __init__(self, directory: Path, settings: QuerySettings) -> None:
        self._directory = directory
        self._settings = settings
        self._order = _order(directory, settings)
        self._child: subprocess.Popen[bytes] | None = None
        self.address = ""

    def start(self) -> None:
        """Have queries answered: by a process that an earlier driver has left, or a new one."""
        found = _note(self._directory)
        if found is not None and is_held(self._directory / SERVER_LOCK):
            if found.digest == self._order.digest:
                self.address = found.address
                return
            self.stop()
        self._spawn()

    def keep(self) -> None:
        """Start another process if the one there was has died."""
        if not is_held(self._directory / SERVER_LOCK):
            self._reap()
            self._spawn()

    def _spawn(self) -> None:
        home = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH", ""))))
        with open(self._directory / LOG, "wb") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-m", _MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path},
                # what is typed at the driver's terminal is not meant for it
                start_new_session=True,
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        with self._child.stdin as told:
            told.write(msgspec.json.encode(self._order))
        with self._child.stdout as heard:
            # the process closes it when it has said where it listens
            self.address = self._heard(heard.read())

    def _heard(self, said: bytes) -> str:
        try:
            note = msgspec.json.decode(said, type=ServerNote)
        except msgspec.MsgspecError:
            last = (self._directory / LOG).read_text(errors="replace").strip().splitlines()[-1:]
            raise JobError(
                f"The process that answers queries did not start: {''.join(last) or 'no reason'}."
            ) from None
        if note.error:
            raise ConfigurationError(
                f"Queries cannot be answered at {self._settings.host}, {_shown(self._settings)}: "
                f"{note.error}. Free the port, or set {QUERY_PORTS.key} to another one, or to a "
                "range such as 9067-9080."
            )
        return note.address

    def stop(self) -> None:
        """Have the process end."""
        found = _note(self._directory)
        deadline = time.monotonic() + _STOP_SECONDS
        while found is not None and is_held(self._directory / SERVER_LOCK):
            with contextlib.suppress(ProcessLookupError):
                late = time.monotonic() > deadline
                os.kill(found.pid, signal.SIGKILL if late else signal.SIGTERM)
            time.sleep(0.02)
        self._reap()

    def _reap(self) -> None:
        if self._child is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(1.0)
            self._child = None


def _order(directory: Path, settings: QuerySettings) -> ServerOrder:
    parts = (__version__, settings.host, str(settings.ports), str(settings.linger), sys.executable)
    secret = hashlib.blake2b(settings.token.encode()).digest()
    told = hashlib.blake2b("\0".join(parts).encode(), key=secret)
    return ServerOrder(
        *(str(directory), settings.host, settings.ports[0], settings.ports[-1], settings.token),
        *(settings.linger, told.hexdigest()),
    )


def _note(directory: Path) -> ServerNote | None:
    try:
        return msgspec.json.decode((directory / SERVER).read_bytes(), type=ServerNote)
    except (OSError, msgspec.MsgspecError):
        return None


def _shown(settings: QuerySettings) -> str:
    first, last = settings.ports[0], settings.ports[-1]
    return f"port {first}" if first == last else f"ports {first} to {last}"
