"""An S3 server in a process of its own, and a proxy before it that disturbs what goes through."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.faults.process import REPOSITORY

from scurry.common.object_store import ObjectStore, StoreSettings

_BUSY = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#: What becomes of disturbed connections: cut before the request has arrived, cut before the answer
#: has, refused as too busy, slow.
_FATES = ("half a request", "half an answer", "busy", "slow")
#: How requests begin.
_METHODS = (b"GET ", b"PUT ", b"POST ", b"DELETE ", b"HEAD ")
BUCKET = "bucket"


def options(port: int) -> dict[str, str]:
    """How the server at ``port`` is reached."""
    return {"endpoint_url": f"http://127.0.0.1:{port}", "key": "user", "secret": "hush-hush"}


def store(port: int) -> ObjectStore:
    """The store at ``port``."""
    return ObjectStore("s3", StoreSettings(options(port)))


@contextmanager
def s3_server() -> Iterator[int]:
    """A server with an empty bucket; its port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.faults.s3_server", str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=quiet, stderr=quiet) as process:
        try:
            while process.poll() is None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            store(port)._files.mkdir(BUCKET)
            yield port
        finally:
            process.kill()


class Proxy:
    """Passes connections on to ``target`` and counts requests; one connection in ``one_in`` is
    disturbed, none if that is 0."""

    def __init__(self, target: int, seed: int = 0, one_in: int = 0) -> None:
        self.one_in = one_in
        self.disturbed = 0
        #: requests that have come, by what they are, and the bytes of requests
        self.requests: Counter[str] = Counter()
        self.sent = 0
        self._target = target
        self._chance = random.Random(seed)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            unlucky = self.one_in > 0 and self._chance.randrange(self.one_in) == 0
            fate = self._chance.choice(_FATES) if unlucky else "well"
            self.disturbed += unlucky
            most = self._chance.randrange(10, 3000)
            threading.Thread(target=self._pass, args=(client, fate, most), daemon=True).start()

    def _pass(self, client: socket.socket, fate: str, most: int) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            if fate == "busy":
                with suppress(OSError):
                    client.recv(65536)
                    client.sendall(_BUSY)
                return
            if fate == "slow":
                time.sleep(0.3)
            there = most if fate == "half a request" else None
            back = most if fate == "half an answer" else None
            answers = threading.Thread(target=_pump, args=(server, client, back), daemon=True)
            answers.start()
            _pump(client, server, there, self._count)
            answers.join()

    def _count(self, some: bytes) -> None:
        # whoever asks waits for the answer before asking again, so requests begin with a piece
        self.sent += len(some)
        if some.startswith(_METHODS):
            self.requests[some.partition(b" ")[0].decode()] += 1

    def close(self) -> None:
        self._socket.close()


def _pump(
    source: socket.socket,
    target: socket.socket,
    most: int | None,
    seen: Callable[[bytes], None] = lambda some: None,
) -> None:
    """Pass bytes on, ``most`` at the most; then hang up."""
    with suppress(OSError):
        while most is None or most > 0:
            some = source.recv(65536 if most is None else most)
            if not some:
                break
            seen(some)
            target.sendall(some)
            most = None if most is None else most - len(some)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
