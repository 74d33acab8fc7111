"""A connection to one broker that speaks the few requests librdkafka does not offer.

A request is a header (which request, in which version, a number to know the answer by, a name for
the broker's log) and a body. Newer versions of a request write lengths as variable numbers, and end
every structure with a list of optional fields, which is always empty here. Of each request the
oldest version is used that can do what is needed, so that old and new brokers understand it.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.security import (
    AuthenticationFailed,
    exchange_of,
    mechanism_of,
    tls_context,
)

_CLIENT = "scurry"
#: How long a broker may take for one answer, in seconds.
_ANSWER_SECONDS = 10.0
#: An answer larger than this is not one.
_MOST_BYTES = 256 << 20

T = TypeVar("T")


class Api(NamedTuple):
    """A request of Kafka's: its name and number, and the version that is used."""

    name: str
    key: int
    version: int
    #: whether this version has variable lengths and optional fields
    flexible: bool = False


METADATA = Api("Metadata", 3, 1)
FIND_COORDINATOR = Api("FindCoordinator", 10, 1)
SASL_HANDSHAKE = Api("SaslHandshake", 17, 1)
API_VERSIONS = Api("ApiVersions", 18, 0)
INIT_PRODUCER_ID = Api("InitProducerId", 22, 1)
#: From version 5 on, which only clients of the newer transaction protocol may send, the broker
#: raises the producer's epoch at the end of each transaction. A producer of librdkafka's would not
#: know its own epoch any more, so an older version is used on purpose.
END_TXN = Api("EndTxn", 26, 1)
SASL_AUTHENTICATE = Api("SaslAuthenticate", 36, 0)
DESCRIBE_TRANSACTIONS = Api("DescribeTransactions", 65, 0, flexible=True)
LIST_TRANSACTIONS = Api("ListTransactions", 66, 0, flexible=True)


class Unreachable(Exception):
    """No answer, for now: it is not known whether the broker got the request."""


class Body:
    """Writes the fields of a request, one after the other."""

    def __init__(self, flexible: bool = False) -> None:
        self._flexible = flexible
        self._parts: list[bytes] = []

    def number(self, kind: str, value: int) -> Body:
        """A number; ``kind`` is a letter of :mod:`struct`."""
        self._parts.append(struct.pack(f">{kind}", value))
        return self

    def text(self, value: str) -> Body:
        """A text."""
        content = value.encode()
        self._length("h", len(content))
        self._parts.append(content)
        return self

    def content(self, value: bytes) -> Body:
        """Bytes."""
        self._length("i", len(value))
        self._parts.append(value)
        return self

    def texts(self, values: list[str]) -> Body:
        """A list of texts."""
        self._length("i", len(values))
        for value in values:
            self.text(value)
        return self

    def end(self) -> bytes:
        """All of it."""
        if self._flexible:
            self._parts.append(b"\0")
        return b"".join(self._parts)

    def _length(self, kind: str, value: int) -> None:
        if not self._flexible:
            self.number(kind, value)
            return
        value += 1
        while value > 127:
            self._parts.append(bytes([value & 127 | 128]))
            value >>= 7
        self._parts.append(bytes([value]))


class Answer:
    """Reads the fields of an answer, one after the other."""

    def __init__(self, content: bytes, flexible: bool = False) -> None:
        self._content = content
        self._flexible = flexible
        self._at = 0

    def number(self, kind: str) -> int:
        """A number; ``kind`` is a letter of :mod:`struct`."""
        (value,) = struct.unpack_from(f">{kind}", self._content, self._at)
        self._at += struct.calcsize(f">{kind}")
        return int(value)

    def text(self) -> str:
        """A text, empty for none."""
        return self._take(self._length("h")).decode()

    def content(self) -> bytes:
        """Bytes, empty for none."""
        return self._take(self._length("i"))

    def many(self, read: Callable[[Answer], T]) -> list[T]:
        """A list of what ``read`` reads."""
        return [read(self) for _ in range(max(0, self._length("i")))]

    def structures(self, read: Callable[[Answer], T]) -> list[T]:
        """A list of structures, whose fields ``read`` reads."""

        def whole(answer: Answer) -> T:
            found = read(answer)
            answer.end_structure()
            return found

        return self.many(whole)

    def end_structure(self) -> None:
        """Pass over the optional fields at the end of a structure."""
        if self._flexible:
            for _ in range(self._varint()):
                self._varint()
                self._take(self._varint())

    def _take(self, size: int) -> bytes:
        found = self._content[self._at : self._at + max(0, size)]
        self._at += len(found)
        return found

    def _length(self, kind: str) -> int:
        return self._varint() - 1 if self._flexible else self.number(kind)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._content[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


class Connection:
    """A connection to one broker, used by one thread at a time."""

    def __init__(self, host: str, port: int, settings: ClientSettings) -> None:
        """Connect and say who we are. Raises :class:`Unreachable`, or
        :class:`~scurry.connectors.kafka.security.AuthenticationFailed`."""
        self.place = f"{host}:{port}"
        self._number = 0
        self._socket: Any = self._connected(host, port, settings)
        try:
            if mechanism_of(settings):
                self._authenticate(settings)
        except BaseException:
            self.close()
            raise

    def _connected(self, host: str, port: int, settings: ClientSettings) -> Any:
        context = tls_context(settings)
        try:
            plain = socket.create_connection((host, port), _ANSWER_SECONDS)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is None:
                return plain
            try:
                return context.wrap_socket(plain, server_hostname=host)
            finally:
                # the wrapped socket has taken its file descriptor
                plain.close()
        except OSError as failure:
            # a certificate that does not fit is an OSError too; librdkafka says what is wrong
            raise Unreachable(f"{self.place}: {failure}") from failure

    def _authenticate(self, settings: ClientSettings) -> None:
        mechanism = mechanism_of(settings)
        answer = self.ask(SASL_HANDSHAKE, Body().text(mechanism))
        if answer.number("h"):
            offered = ", ".join(answer.many(Answer.text))
            raise AuthenticationFailed(f"the broker takes {offered}, and not {mechanism}")
        conversation = exchange_of(settings)
        said = next(conversation)
        while True:
            answer = self.ask(SASL_AUTHENTICATE, Body().content(said))
            if answer.number("h"):
                raise AuthenticationFailed(answer.text())
            answer.text()
            try:
                said = conversation.send(answer.content())
            except StopIteration:
                return

    def ask(self, api: Api, body: Body) -> Answer:
        """Send a request and read its answer. Raises :class:`Unreachable` if there is none; the
        connection is of no use after that."""
        self._number += 1
        header = Body().number("h", api.key).number("h", api.version).number("i", self._number)
        frame = header.text(_CLIENT).end() + (b"\0" if api.flexible else b"") + body.end()
        try:
            self._socket.sendall(struct.pack(">i", len(frame)) + frame)
            (size,) = struct.unpack(">i", self._receive(4))
            if not 4 <= size <= _MOST_BYTES:
                raise OSError(f"an answer of {size} bytes")
            content = self._receive(size)
        except OSError as failure:
            self.close()
            raise Unreachable(f"{self.place}: {failure}") from failure
        answer = Answer(content, api.flexible)
        answer.number("i")
        answer.end_structure()
        return answer

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise OSError("the broker has closed the connection")
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """Let go of the broker."""
        self._socket.close()

    def __del__(self) -> None:
        # a writer that failed is forgotten without a word
        if "_socket" in self.__dict__:
            self.close()
