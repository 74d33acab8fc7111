"""What a cached stream keeps: its records in files, written by one job, read by later ones.

A writer makes one file of what it got in a micro-batch; the driver remembers which files count. The
directory is made for this user alone, so nobody else can have put anything into it.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from scurry.common.errors import ProgramError
from scurry.common.type_information import TypeInformation
from scurry.connectors.seen import SeenBatches
from scurry.functions.sink import CommitterContext, Records, Sink, SinkWriter, WriterContext
from scurry.functions.source import (
    LAG,
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)
from scurry.runtime.batch import Batch
from scurry.runtime.blobs import decode_batch, encode_batch

#: A file of the cache: its name, and how many records it holds.
Piece = tuple[str, int]


class CacheSink(Sink):
    """Keeps all records of one run of a job."""

    known_by_uid = False

    def __init__(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="scurry-cache-")
        atexit.register(self.delete)
        self.pieces: list[Piece] = []
        self._seen = SeenBatches()

    def start(self, context: CommitterContext) -> None:
        self._seen.start(context)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _CacheWriter(self.directory, context.index)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        if self._seen.is_new(batch_id):
            self.pieces += [piece for _, piece in sorted(messages)]

    def delete(self) -> None:
        """Remove everything."""
        atexit.unregister(self.delete)
        shutil.rmtree(self.directory, ignore_errors=True)


class _CacheWriter(SinkWriter):
    """Gathers the records of a micro-batch."""

    def __init__(self, directory: str, index: int) -> None:
        self._directory = Path(directory)
        self._index = index
        self._blobs: list[bytes] = []
        self._count = 0

    def write(self, rows: list[Any]) -> None:
        raise AssertionError("this writer is given records with their columns: write_records")

    def write_records(self, records: Records, now: int) -> None:
        batch = Batch(records.rows, ts=records.ts)
        self._blobs.append(encode_batch(batch))
        self._count += batch.size

    def prepare(self) -> Any:
        if not self._count:
            return None
        if not self._directory.exists():
            raise ProgramError(
                f"The directory {str(self._directory)!r}, which the driver has made for a cached "
                "stream, is not there. Set TMPDIR to a directory that driver and workers share."
            )
        name, count = uuid.uuid4().hex, self._count
        (self._directory / name).write_bytes(msgspec.msgpack.encode(self._blobs))
        self._blobs, self._count = [], 0
        return self._index, (name, count)


class CacheSource(Source):
    """Reads what a :class:`CacheSink` has kept."""

    def __init__(self, sink: CacheSink, type_info: TypeInformation | None) -> None:
        self._directory = sink.directory
        self._pieces = list(sink.pieces)
        self._type_info = type_info

    @property
    def type_info(self) -> TypeInformation | None:
        return self._type_info

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Pieces(self._pieces)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        content = Path(self._directory, what).read_bytes()
        for blob in msgspec.msgpack.decode(content, type=list[bytes]):
            batch = decode_batch(blob)
            yield SourceBatch(rows=batch.rows, timestamps=batch.ts)


class _Pieces(SourceEnumerator):
    """Walks the files, in order."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces
        self._left = 0

    def initial_position(self) -> Json:
        return 0

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        end, records = position, 0
        while end < len(self._pieces) and records < max_records:
            records += self._pieces[end][1]
            end += 1
        self._left = sum(records for _, records in self._pieces[end:])
        ranges = [ReadRange("0", name) for name, _ in self._pieces[position:end]]
        return ReadPlan(end, ranges, finished=end >= len(self._pieces))

    def gauges(self) -> dict[str, int]:
        return {LAG: self._left}
