"""Sinks that end in the program itself: collecting, printing, discarding.

Records travel to the driver inside the commit messages of their micro-batch. The driver takes each
batch once, so what the program sees is exactly-once for as long as the program lives.
"""

from __future__ import annotations

import queue
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from scurry.common.collected import collector_of
from scurry.common.texts import printer_of
from scurry.common.type_information import TypeInformation
from scurry.connectors.seen import SeenBatches
from scurry.functions.sink import CommitterContext, Records, Sink, SinkWriter, WriterContext

_END = object()


class BufferWriter(SinkWriter):
    """Keeps the records of a micro-batch and hands them to the driver."""

    def __init__(self, context: WriterContext) -> None:
        self._place = (context.index, context.parallelism)
        self._rows: list[Any] = []

    def write(self, rows: list[Any]) -> None:
        self._rows.extend(rows)

    def prepare(self) -> Any:
        rows, self._rows = self._rows, []
        return (self._place, rows) if rows else None


class DriverSink(Sink):
    """Base of the sinks whose records the driver receives, batch by batch."""

    known_by_uid = False

    def __init__(self) -> None:
        self._seen = SeenBatches()

    def start(self, context: CommitterContext) -> None:
        self._seen.start(context)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return BufferWriter(context)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        if self._seen.is_new(batch_id):
            for (index, parallelism), rows in sorted(messages, key=lambda message: message[0]):
                self.receive(index, parallelism, rows)

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        """Take the records that writer ``index`` of ``parallelism`` collected in a batch."""
        raise AssertionError(f"{type(self).__name__} must override receive")


class CollectSink(DriverSink):
    """Hands every record to an iterator in the program."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: queue.SimpleQueue[Any] | None = None
        self._collected: Callable[[Any], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_queue": None, "_collected": None}

    def take_type(self, declared: TypeInformation | None) -> None:
        self._collected = collector_of(declared)

    def attach(self) -> None:
        """Start receiving, on the driver."""
        self._queue = queue.SimpleQueue()

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        assert self._queue is not None
        self._queue.put(rows)

    def close(self) -> None:
        if self._queue is not None:
            self._queue.put(_END)

    def results(self, wait: Callable[[], object]) -> Iterator[Any]:
        """Records as they arrive; ``wait`` is called at the end, and raises if the job failed."""
        assert self._queue is not None
        while (rows := self._queue.get()) is not _END:
            yield from rows if self._collected is None else map(self._collected, rows)
        wait()


class PrintSink(DriverSink):
    """Prints each record, with the number of the subtask in front if there are several. The text
    is that of the declared type: see :mod:`scurry.common.texts`."""

    def __init__(self, sink_identifier: str = "") -> None:
        super().__init__()
        self._identifier = sink_identifier
        self._declared: TypeInformation | None = None
        self.stream: TextIO | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stream": None, "_seen": None}

    def take_type(self, declared: TypeInformation | None) -> None:
        self._declared = declared

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        prefix = self._identifier
        if parallelism > 1:
            prefix += f"{':' if prefix else ''}{index + 1}"
        prefix += "> " if prefix else ""
        stream, write = self.stream or sys.stdout, printer_of(self._declared)
        stream.write("".join(f"{prefix}{write(row)}\n" for row in rows))
        stream.flush()


class DiscardingSink(Sink):
    """Takes everything and keeps nothing."""

    known_by_uid = False
    columnar = True

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _DiscardingWriter()


class _DiscardingWriter(SinkWriter):
    def write(self, rows: list[Any]) -> None:
        pass

    def write_records(self, records: Records, now: int) -> None:
        """Columns are not made into rows only to be forgotten."""

    def prepare(self) -> Any:
        return None
