"""As much of HTTP/1.1 as queries need, on asyncio's transports.

A get is a hash look-up in a file that is in memory; a general HTTP server takes several times as
long as that for its own objects. So there is none here: a request is a line, headers and a body of
a known length, and what is not of that form is refused. Requests of one connection are answered one
after the other, also if a client sends several at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from scurry.queryable.errors import QueryError

#: The most bytes of a request's line and headers, and of its body.
MOST_HEAD, MOST_BODY = 16 << 10, 1 << 20
#: Seconds after which a connection is closed on which nothing has come.
_IDLE_SECONDS = 75.0
_encode = msgspec.json.Encoder().encode
_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_JSON = b"Content-Type: application/json\r\nContent-Length: %d\r\n"


class Request(NamedTuple):
    """What somebody asks."""

    method: str
    #: as it was sent, still quoted
    path: str
    #: what follows the question mark
    query: str
    #: by name in lower case
    headers: dict[str, str]
    body: bytes

    @property
    def parts(self) -> list[str]:
        """The parts of the path, without their quotes."""
        parts = self.path.split("/")[1:]
        return [unquote(part, errors="surrogateescape") for part in parts]

    @property
    def parameters(self) -> dict[str, str]:
        """What follows the question mark, by name."""
        if not self.query:
            return {}
        return dict(parse_qsl(self.query, keep_blank_values=True, errors="surrogateescape"))


#: Makes an answer: its status, and what is written as JSON.
Answering = Callable[[Request], tuple[int, object]]


class _Refused(Exception):
    """A request that cannot be read on from; the connection ends after the answer."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.error = QueryError(status, code, message)


class _Head(NamedTuple):
    """A request whose body is still to come."""

    request: Request
    length: int
    lasting: bool


class Connection(asyncio.Protocol):
    """One connection: takes requests out of what comes, and writes the answers."""

    def __init__(self, answering: Answering, others: set[Connection]) -> None:
        self._answering = answering
        self._others = others
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._head: _Head | None = None
        #: bytes of a body that is too large, which are read and forgotten
        self._forgotten = 0
        self._paused = False
        #: the headers of the last request, which most clients send again as they are
        self._block, self._headers = b"", dict[str, str]()
        self.used = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has come."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._others.add(self)
        self.used = asyncio.get_running_loop().time()

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side has gone, or was sent away."""
        self._others.discard(self)
        self._transport = None

    def pause_writing(self) -> None:
        """The client does not read its answers: it gets no more of them for now."""
        self._paused = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The client has read."""
        self._paused = False
        if self._transport is not None:
            self._transport.resume_reading()
            self._take()

    def data_received(self, data: bytes) -> None:
        """Answer all requests that are whole by now."""
        self.used = asyncio.get_running_loop().time()
        self._received += data
        self._take()

    def close(self) -> None:
        """End the connection once everything is sent."""
        if self._transport is not None:
            self._transport.close()

    def _take(self) -> None:
        try:
            while self._transport is not None and not self._paused:
                if self._head is None:
                    self._head = self._next_head()
                    if self._head is None:
                        return
                if not self._take_body(self._head):
                    return
        except _Refused as refused:
            self._write(refused.error.status, _encode(refused.error.content()), lasting=False)

    def _next_head(self) -> _Head | None:
        while self._received.startswith(b"\r\n"):
            del self._received[:2]
        end = self._received.find(b"\r\n\r\n", 0, MOST_HEAD)
        if end < 0:
            if len(self._received) >= MOST_HEAD:
                raise _Refused(431, "too_large", f"The headers are longer than {MOST_HEAD} bytes.")
            return None
        line, _, block = bytes(self._received[:end]).partition(b"\r\n")
        del self._received[: end + 4]
        if block != self._block:
            self._block, self._headers = block, _headers(block)
        words = line.decode("latin-1").split(" ")
        if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
            raise _Refused(400, "bad_request", "This is not a request of HTTP/1.1.")
        path, _, query = words[1].partition("?")
        headers = self._headers
        lasting = words[2] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        length = _length(headers)
        if length and headers.get("expect", "").lower() == "100-continue":
            assert self._transport is not None
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._forgotten = length if length > MOST_BODY else 0
        return _Head(Request(words[0], path, query, headers, b""), length, lasting)

    def _take_body(self, head: _Head) -> bool:
        """Answer a request if its body is there; whether it is."""
        if self._forgotten:
            came = min(self._forgotten, len(self._received))
            del self._received[:came]
            self._forgotten -= came
            if self._forgotten:
                return False
            self._head = None
            error = QueryError(413, "too_large", f"The body is larger than {MOST_BODY} bytes.")
            self._write(413, _encode(error.content()), head.lasting)
            return True
        if len(self._received) < head.length:
            return False
        self._head = None
        request = head.request
        if head.length:
            request = request._replace(body=bytes(self._received[: head.length]))
            del self._received[: head.length]
        status, content = self._answering(request)
        self._write(status, _encode(content), head.lasting, bodiless=request.method == "HEAD")
        return True

    def _write(self, status: int, body: bytes, lasting: bool, bodiless: bool = False) -> None:
        if self._transport is None:
            return
        parts = [_LINES[status], _JSON % len(body)]
        if status == 401:
            parts.append(b"WWW-Authenticate: Bearer\r\n")
        if not lasting:
            parts.append(b"Connection: close\r\n")
        parts += [b"\r\n", b"" if bodiless else body]
        self._transport.write(b"".join(parts))
        if not lasting:
            self._transport.close()
            self._transport = None


def _headers(block: bytes) -> dict[str, str]:
    return dict(_each_header(block)) if block else {}


def _each_header(block: bytes) -> Iterator[tuple[str, str]]:
    seen = set()
    for line in block.decode("latin-1").split("\r\n"):
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not name or name != name.strip():
            raise _Refused(400, "bad_request", f"{line[:80]!r} is not a header.")
        if name in seen and name in ("content-length", "host", "authorization"):
            raise _Refused(400, "bad_request", f"There are two headers {name!r}.")
        seen.add(name)
        yield name, value.strip()


def _length(headers: dict[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise _Refused(411, "no_length", "A body is sent with its Content-Length, and whole.")
    told = headers.get("content-length", "0")
    if not (told.isascii() and told.isdecimal()):
        raise _Refused(400, "bad_request", f"Content-Length is {told[:40]!r}.")
    return int(told)


async def listen(answering: Answering, host: str, port: int) -> Listener:
    """Listen at an address; raises :class:`OSError` if it is taken."""
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(answering, connections), host, port)
    return Listener(server, connections)


class Listener:
    """Listens, and closes connections that nobody uses."""

    def __init__(self, server: asyncio.Server, connections: set[Connection]) -> None:
        self._server = server
        self._connections = connections

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(host), int(port)

    def close_idle(self) -> None:
        """Close connections on which nothing has come for long; called now and then."""
        limit = asyncio.get_running_loop().time() - _IDLE_SECONDS
        for each in [each for each in self._connections if each.used < limit]:
            each.close()

    def close(self) -> None:
        """Stop listening, and close all connections."""
        self._server.close()
        for each in list(self._connections):
            each.close()
