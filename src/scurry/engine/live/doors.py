"""Where a process of the live engine can be reached, and how those who come show who they are.

Processes on one machine meet at a Unix socket, in a directory that only the user can enter;
processes on different machines meet over TCP. Either side of a connection shows that it knows the
secret of the job, which Spark brings to tasks with their work, before anything else is read from
it. The secret itself never travels over the connection. What goes over TCP is encrypted if the
processes are given a certificate (:mod:`scurry.engine.live.encryption`).
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from scurry.engine.live.encryption import Identity, encrypted

_NONCE, _PROOF, _NUMBER = 16, sha256().digest_size, 4
#: How long somebody may take to show who they are.
_SECONDS = 10.0
_BACKLOG = 512


class Address(msgspec.Struct, array_like=True):
    """Where a process can be reached."""

    #: names the machine
    machine: str
    #: the Unix socket, for those on the same machine
    path: str
    #: for others; None if nobody else is expected
    tcp: tuple[str, int] | None = None


def this_machine() -> str:
    """A name that no other running machine or container has."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        mounts = os.stat("/proc/self/ns/mnt").st_ino
        return f"{boot}-{mounts}"
    return socket.gethostname()


class Door:
    """Waits for connections. With ``host`` others than processes on this machine may come too, with
    ``identity`` over encrypted connections alone."""

    def __init__(
        self, secret: bytes, host: str | None = None, identity: Identity | None = None
    ) -> None:
        self._secret = secret
        self._identity = identity
        self._directory = tempfile.TemporaryDirectory(prefix="scurry-", dir=_short_directory())
        path = os.path.join(self._directory.name, "door")
        unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        unix.bind(path)
        unix.listen(_BACKLOG)
        self.sockets = [unix]
        self.address = Address(this_machine(), path)
        if host is not None:
            tcp = socket.create_server((host, 0), backlog=_BACKLOG)
            self.sockets.append(tcp)
            self.address.tcp = tcp.getsockname()[:2]

    def accept(self, at: socket.socket) -> tuple[int, socket.socket] | None:
        """Let in whoever has come to ``at``: the number that they give, and the connection; None if
        they do not know the secret."""
        connection, _ = at.accept()
        connection.settimeout(_SECONDS)
        try:
            if self._identity is not None and connection.family != socket.AF_UNIX:
                connection = encrypted(connection, self._identity, waits=True)
            challenge = secrets.token_bytes(_NONCE)
            connection.sendall(challenge)
            answer = _exactly(connection, _PROOF + _NONCE + _NUMBER)
            proof, theirs = answer[:_PROOF], answer[_PROOF : _PROOF + _NONCE]
            if not hmac.compare_digest(proof, self._proof(b"comes", challenge + answer[_PROOF:])):
                connection.close()
                return None
            connection.sendall(self._proof(b"waits", theirs))
        except OSError:
            connection.close()
            return None
        return int.from_bytes(answer[-_NUMBER:], "big"), connection

    def _proof(self, role: bytes, nonce: bytes) -> bytes:
        return _proof(self._secret, role, nonce)

    def close(self) -> None:
        """Let nobody in any more."""
        for each in self.sockets:
            each.close()
        self._directory.cleanup()


def connect(
    address: Address, secret: bytes, number: int, identity: Identity | None = None
) -> socket.socket:
    """A connection to the process at ``address``, which learns that ``number`` has come. Raises
    :class:`ConnectionError` if it cannot be had, or if the other side does not know the secret, or
    does not have the same ``identity``."""
    try:
        connection = _dialled(address)
    except OSError as failure:
        raise ConnectionError(f"{address} cannot be reached: {failure}") from failure
    connection.settimeout(_SECONDS)
    try:
        if identity is not None and connection.family != socket.AF_UNIX:
            connection = encrypted(connection, identity, waits=False)
        challenge = _exactly(connection, _NONCE)
        said = secrets.token_bytes(_NONCE) + number.to_bytes(_NUMBER, "big")
        connection.sendall(_proof(secret, b"comes", challenge + said) + said)
        if not hmac.compare_digest(
            _exactly(connection, _PROOF), _proof(secret, b"waits", said[:_NONCE])
        ):
            raise ConnectionError("whoever answers there does not belong to this job")
    except (OSError, EOFError) as failure:
        connection.close()
        raise ConnectionError(f"{address} cannot be reached: {failure}") from failure
    return connection


def own_host(target: tuple[str, int]) -> str:
    """The address of this machine by which ``target`` is reached, and so can reach it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        # nothing is sent
        found.connect(target)
        return str(found.getsockname()[0])


def _dialled(address: Address) -> socket.socket:
    if address.machine == this_machine():
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.connect(address.path)
            return made
        except OSError:
            made.close()
    if address.tcp is None:
        raise ConnectionError(f"{address} cannot be reached from this machine")
    return socket.create_connection(address.tcp, timeout=_SECONDS)


def _proof(secret: bytes, role: bytes, nonce: bytes) -> bytes:
    return hmac.digest(secret, role + nonce, sha256)


def _exactly(connection: socket.socket, size: int) -> bytes:
    held = b""
    while len(held) < size:
        more = connection.recv(size - len(held))
        if not more:
            raise ConnectionError("the other side has hung up")
        held += more
    return held


def _short_directory() -> str | None:
    """Where sockets lie: their paths must not be longer than about 100 characters."""
    return None if len(tempfile.gettempdir()) < 60 else "/tmp"
