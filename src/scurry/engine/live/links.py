"""Connections between the tasks of a job, and between a task and the driver.

A message is any plain data, and travels as msgpack behind its length. Nothing here blocks: what the
other side does not take yet waits in memory, and :attr:`Link.backlog` says how much that is.
"""

from __future__ import annotations

import socket
import ssl
from collections import deque
from typing import Any

import msgspec

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()
_LENGTH = 4
_AT_ONCE = 1 << 20
#: How many buffers one call hands to the system.
_BUFFERS = 64
#: How many bytes are encrypted at a time.
_PIECE = 1 << 16
#: What a connection says that cannot go on now.
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def link_over(connection: socket.socket) -> Link:
    """A connection for messages over ``connection``, which may be an encrypted one."""
    return SecureLink(connection) if isinstance(connection, ssl.SSLSocket) else Link(connection)


class Link:
    """A connection over which messages go both ways."""

    #: a shorter piece that arrives is the last one for now
    _whole = _AT_ONCE

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        if connection.family == socket.AF_INET:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _notice_silence(connection)
        self._connection = connection
        self._outgoing: deque[memoryview] = deque()
        self._incoming = bytearray()
        #: bytes that wait for being sent
        self.backlog = 0
        #: whether the other side has gone
        self.closed = False

    def fileno(self) -> int:
        """The number of the socket, for whoever waits for it."""
        return self._connection.fileno()

    def send(self, message: Any) -> None:
        """Have ``message`` sent; :meth:`flush` begins with it."""
        body = _encoder.encode(message)
        for part in (len(body).to_bytes(_LENGTH, "little"), body):
            self._outgoing.append(memoryview(part))
        self.backlog += _LENGTH + len(body)

    def flush(self) -> None:
        """Send as much as the other side takes now."""
        while self._outgoing:
            try:
                sent = self._push()
            except _NOT_NOW:
                return
            except OSError:
                # why the other side has gone, whoever reads from it will hear
                self._outgoing.clear()
                self.backlog = 0
                return
            self._sent(sent)

    def _push(self) -> int:
        """Hand some of what waits to the system; how much of that it takes."""
        some = [self._outgoing[at] for at in range(min(_BUFFERS, len(self._outgoing)))]
        return self._connection.sendmsg(some)

    def _sent(self, size: int) -> None:
        self.backlog -= size
        while size:
            first = self._outgoing.popleft()
            if size < len(first):
                self._outgoing.appendleft(first[size:])
                return
            size -= len(first)

    def receive(self) -> list[Any]:
        """The messages that have arrived as a whole."""
        try:
            while True:
                some = self._connection.recv(_AT_ONCE)
                self._incoming += some
                if not some:
                    self.closed = True
                if len(some) < self._whole:
                    break
        except _NOT_NOW:
            pass
        except OSError:
            self.closed = True
        return list(self._messages())

    def _messages(self) -> list[Any]:
        found: list[Any] = []
        at, held = 0, self._incoming
        while len(held) - at >= _LENGTH:
            begin = at + _LENGTH
            end = begin + int.from_bytes(held[at:begin], "little")
            if end > len(held):
                break
            with memoryview(held) as view, view[begin:end] as body:
                found.append(_decoder.decode(body))
            at = end
        del held[:at]
        return found

    def close(self) -> None:
        """Hang up."""
        self.closed = True
        self._connection.close()


class SecureLink(Link):
    """A link over an encrypted connection."""

    # what is decrypted and not taken, the system does not tell of: so all of it is taken
    _whole = 1

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        #: what was offered and not taken has to be offered again as it was
        self._offered = b""

    def _push(self) -> int:
        if not self._offered:
            some, size = [], 0
            for each in self._outgoing:
                some.append(each[: _PIECE - size])
                size += len(some[-1])
                if size == _PIECE:
                    break
            self._offered = b"".join(some)
        sent = self._connection.send(self._offered)
        self._offered = self._offered[sent:]
        return sent


#: How long a connection between machines may be silent before the other side counts as gone.
_SILENCE_SECONDS = 30


def _notice_silence(connection: socket.socket) -> None:
    """Have the system find out that a machine has gone which does not say so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wanted = {
        "TCP_KEEPIDLE": _SILENCE_SECONDS // 3,
        "TCP_KEEPINTVL": _SILENCE_SECONDS // 6,
        "TCP_KEEPCNT": 4,
        "TCP_USER_TIMEOUT": _SILENCE_SECONDS * 1000,
    }
    for name, value in wanted.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
