"""The process that answers queries: ``python -m scurry.queryable.server``, started by the driver.

It is told by a pipe where the view lies and where to listen, and says by another where it does. It
lives as long as there is a driver. When there is none, it waits for another one for a while, and
goes on to answer, marked as stale; then it removes the view and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import msgspec

from scurry.engine.queryable.locks import ProcessLock, is_held
from scurry.engine.queryable.server_process import (
    DRIVER_LOCK,
    SERVER,
    SERVER_LOCK,
    ServerNote,
    ServerOrder,
)
from scurry.queryable.app import Routes
from scurry.queryable.http import Listener, listen
from scurry.queryable.queries import Queries

#: How often it is looked whether the driver lives.
_LOOK_SECONDS = 0.2
#: How long a server that ends may hold the lock.
_PATIENCE = 5.0


def main() -> None:
    """Answer queries, as standard input says."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=ServerOrder)
    lock = ProcessLock(Path(order.directory) / SERVER_LOCK, _PATIENCE)
    gc.freeze()
    try:
        asyncio.run(_serve(order))
    finally:
        lock.release()


async def _serve(order: ServerOrder) -> None:
    directory = Path(order.directory)
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    listener, note = await _listen(Routes(Queries(directory), order.token), order)
    _say(directory, note)
    if listener is not None:
        await _wait(directory, ending, order.linger / 1000, listener)
        listener.close()


async def _listen(routes: Routes, order: ServerOrder) -> tuple[Listener | None, ServerNote]:
    """Listen at the first port that is free."""
    failure = ""
    for port in range(order.first_port, order.last_port + 1):
        try:
            listener = await listen(routes.answer, order.host, port)
        except OSError as refused:
            failure = refused.strerror or str(refused)
            continue
        host, bound = listener.address
        shown = f"[{host}]" if ":" in host else host
        return listener, ServerNote(os.getpid(), f"http://{shown}:{bound}", order.digest)
    return None, ServerNote(os.getpid(), "", order.digest, failure)


def _say(directory: Path, note: ServerNote) -> None:
    """Tell the driver, and drivers to come."""
    told = msgspec.json.encode(note)
    if not note.error:
        draft = directory / f"{SERVER}.draft"
        draft.write_bytes(told)
        draft.replace(directory / SERVER)
    sys.stdout.buffer.write(told)
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)


async def _wait(directory: Path, ending: asyncio.Event, linger: float, listener: Listener) -> None:
    """Return when the process is to end."""
    seen = time.monotonic()
    while not ending.is_set():
        if is_held(directory / DRIVER_LOCK):
            seen = time.monotonic()
        elif time.monotonic() - seen > linger and _removed(directory):
            return
        listener.close_idle()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ending.wait(), _LOOK_SECONDS)


def _removed(directory: Path) -> bool:
    """Remove the view, unless a driver has come."""
    try:
        lock = ProcessLock(directory / DRIVER_LOCK)
    except (BlockingIOError, FileNotFoundError):
        return not directory.exists()
    shutil.rmtree(directory, ignore_errors=True)
    lock.release()
    return True


if __name__ == "__main__":
    main()
