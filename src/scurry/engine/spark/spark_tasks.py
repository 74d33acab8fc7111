"""Tasks as Spark's JVM gives them to a Python worker, over one connection.

A task begins with a message: which partition it is, the properties of the Spark job, the function.
Then come data, until their end. PySpark reads both from one buffered file; here the message is read
by itself, so that the connection can be handed to another process before any data are touched.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Any, BinaryIO

from pyspark.daemon import compute_real_exit_code
from pyspark.messages import SparkSocketMessageReceiver, ZeroCopyByteStream
from pyspark.serializers import SpecialLengths, UTF8Deserializer, read_int, write_with_length
from pyspark.util import with_faulthandler
from pyspark.worker_message import TaskContextInfo

_BUFFER = int(os.environ.get("SPARK_BUFFER_SIZE", 65536))


@dataclass
class Task:
    """A task of which the first message has been read."""

    connection: socket.socket
    message: bytes
    partition: int
    #: the local properties of the Spark job
    properties: dict[str, str]


def receive_task(connection: socket.socket) -> Task | None:
    """The next task; None if Spark has hung up."""
    try:
        start = exactly(connection, 8)
    except EOFError:
        return None
    kind = int.from_bytes(start[:4], "big", signed=True)
    if kind != SpecialLengths.START_OF_INIT_MESSAGE:
        raise AssertionError(f"a task cannot begin with {kind}")
    size = int.from_bytes(start[4:], "big")
    message = exactly(connection, size)
    stream = _stream(message)
    partition = read_int(stream)
    UTF8Deserializer().loads(stream)
    context = TaskContextInfo.from_stream(stream)
    return Task(connection, message, partition, context.local_properties)


class _Received(SparkSocketMessageReceiver):
    """What comes after a message that has been read."""

    def __init__(self, message: bytes, infile: BinaryIO) -> None:
        super().__init__(infile)
        self._message = message

    def _do_get_init_message(self) -> ZeroCopyByteStream:
        return _stream(self._message)


def execute_task(connection: socket.socket, message: bytes) -> int:
    """Execute in this process the task that began with ``message``; the exit code."""
    from pyspark.worker import invoke_udf

    _let_go_of_unknown_broadcasts()
    # two descriptors, because a file that is read and written would lose what it has read ahead
    infile = os.fdopen(os.dup(connection.fileno()), "rb", _BUFFER)
    outfile = os.fdopen(os.dup(connection.fileno()), "wb", _BUFFER)
    with infile, outfile:
        try:
            with_faulthandler(invoke_udf)(_Received(message, infile), outfile)
        except SystemExit as ended:
            return compute_real_exit_code(ended.code) & 0xFF
    return 0


class _Broadcasts(dict[int, Any]):
    """The broadcast variables of this process. Spark has those removed which it believes to be
    there, because a task before this one was given them over the same connection; but that task may
    have been executed by another process."""

    def pop(self, key: int, default: Any = None) -> Any:
        return super().pop(key, default)


def _let_go_of_unknown_broadcasts() -> None:
    from pyspark.core import broadcast

    known = broadcast._broadcastRegistry
    if not isinstance(known, _Broadcasts):
        broadcast._broadcastRegistry = _Broadcasts(known)


def authenticate(connection: socket.socket) -> bool:
    """Whether the process at the other end is the one that started the daemon. Asked on a
    connection by TCP; a Unix socket lies where only the owner can connect to it."""
    size = int.from_bytes(exactly(connection, 4), "big")
    secret = exactly(connection, size).decode()
    known = secret == os.environ["PYTHON_WORKER_FACTORY_SECRET"]
    with os.fdopen(os.dup(connection.fileno()), "wb") as outfile:
        write_with_length(b"ok" if known else b"err", outfile)
    return known


def exactly(connection: socket.socket, size: int) -> bytes:
    """The next ``size`` bytes; raises EOFError if there are none, or not so many."""
    held = memoryview(bytearray(size))
    got = 0
    while got < size:
        more = connection.recv_into(held[got:])
        if not more:
            raise EOFError
        got += more
    return bytes(held)


def _stream(message: bytes) -> ZeroCopyByteStream:
    stream = ZeroCopyByteStream(memoryview(message))
    stream.finish()
    return stream
