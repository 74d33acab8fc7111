"""Signs of life that cost no requests: whoever holds a lease answers when it is asked.

On a file system the holder of a lease writes a file again and again. In an object store each write
is a request that has to be paid, also when the job has nothing to do. There the holder listens at a
port instead, and the lease says where. Whoever wants the lease connects, sends the word that is in
the lease, and is answered if the holder lives.

A holder that cannot be reached may be alive, behind a network that is cut. It is taken for dead all
the same, and finds out before its next commit: see docs/design/lease.md.
"""

from __future__ import annotations

import secrets
import socket
import threading
from contextlib import suppress

_SECONDS = 5.0
_YES = b"alive"
_LENGTH = 32


class Answering:
    """Answers whoever asks whether this process lives, from a thread."""

    def __init__(self) -> None:
        #: what has to be sent
        self.word = secrets.token_hex(_LENGTH // 2)
        self._socket = socket.create_server(("", 0))
        self._thread = threading.Thread(target=self._answer, name="scurry-lease", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"{_own_address()}:{self._socket.getsockname()[1]}"

    def _answer(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(_SECONDS)
                if secrets.compare_digest(connection.recv(_LENGTH), self.word.encode()):
                    connection.sendall(_YES)

    def close(self) -> None:
        """Answer nobody any more."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


def lives(address: str, word: str) -> bool:
    """Whether somebody at ``address`` answers to ``word``."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), _SECONDS) as connection:
            connection.sendall(word.encode())
            return connection.recv(len(_YES)) == _YES
    except OSError:
        return False


def _own_address() -> str:
    """The address by which other machines reach this one, as far as the system knows."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # nothing is sent: the system only says which way it would go
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
