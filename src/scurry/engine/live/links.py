"""Connections between the tasks of a job, and between a task and the driver.

A message is any plain data, and travels as msgpack behind its length. Nothing here blocks: what the
other side does not take yet waits in memory, and :attr:`Link.backlog` says how much that is.
"""

from __future__ import annotations

import socket
from collections import deque
from typing import Any

import msgspec

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()
_LENGTH = 4
_AT_ONCE = 1 << 20
#: How many buffers one call hands to the system.
_BUFFERS = 64


class Link:
    """A connection over which messages go both ways."""

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
                some = [self._outgoing[at] for at in range(min(_BUFFERS, len(self._outgoing)))]
                sent = self._connection.sendmsg(some)
            except BlockingIOError:
                return
            except OSError:
                # why the other side has gone, whoever reads from it will hear
                self._outgoing.clear()
                self.backlog = 0
                return
            self._sent(sent)

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
                if len(some) < _AT_ONCE:
                    break
        except BlockingIOError:
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
