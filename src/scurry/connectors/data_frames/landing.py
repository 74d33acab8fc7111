"""Where DataFrames land: Arrow files in the job's checkpoint, by the number of Spark's batch.

::

    room/7/manifest.json   the pieces of batch 7, in the order of Spark's partitions
    room/7/0-3f2a.arrow    one of them: an Arrow file of record batches

A batch appears by one rename, whole or not at all, and is never written over: a batch that Spark
runs again after a crash finds that it has landed already, and perhaps been read. A batch is removed
once the job has committed all of it.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from scurry.common.any_paths import AnyPath, ObjectPath
from scurry.common.errors import StateError

MANIFEST = "manifest.json"
#: How many chunks of a piece are one object of an object store.
CHUNKS_OF_OBJECT = 8


@dataclass(frozen=True)
class Piece:
    """What one of Spark's tasks has written: a file, and how many records its chunks have."""

    name: str
    chunks: tuple[int, ...]


class PieceWriter:
    """What Spark's tasks run: writes a partition as one file and tells what is in it."""

    #: what it yields, as Spark's schema
    told = "partition int, name string, chunks array<int>"

    def __init__(self, place: AnyPath, partition: Callable[[], int]) -> None:
        self._place = place
        self._partition = partition

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            return
        number = self._partition()
        # a task may be run twice: only the file of the one whose answer counts is used
        name = f"{number}-{uuid.uuid4().hex}.arrow"
        put = _to_objects if isinstance(self._place, ObjectPath) else _to_file
        chunks = put(self._place / name, chain([first], filled))
        columns = [pa.array([number], pa.int32()), pa.array([name]), pa.array([chunks])]
        columns[2] = columns[2].cast(pa.list_(pa.int32()))
        yield pa.RecordBatch.from_arrays(columns, names=["partition", "name", "chunks"])


def _to_file(path: AnyPath, batches: Iterable[pa.RecordBatch]) -> list[int]:
    """Write a piece; how many records its chunks have."""
    with pa.OSFile(str(path), "wb") as file:
        return _written(file, batches)


def _to_objects(path: AnyPath, batches: Iterable[pa.RecordBatch]) -> list[int]:
    chunks: list[int] = []
    left, number = iter(batches), 0
    while some := list(islice(left, CHUNKS_OF_OBJECT)):
        with pa.BufferOutputStream() as buffer:
            chunks += _written(buffer, some)
            content = buffer.getvalue()
        path.with_name(f"{path.name}.{number}").write_bytes(content.to_pybytes())
        number += 1
    return chunks


def _written(file: Any, batches: Iterable[pa.RecordBatch]) -> list[int]:
    left = iter(batches)
    first = next(left)
    chunks = []
    with pa.ipc.new_file(file, first.schema) as writer:
        for batch in chain([first], left):
            writer.write_batch(batch)
            chunks.append(batch.num_rows)
    return chunks


def pieces_told(told: Iterable[Any]) -> list[tuple[str, list[int]]]:
    """What the :class:`PieceWriter` of each task has told, in the order of Spark's partitions."""
    ordered = sorted(told, key=lambda piece: int(piece[0]))
    return [(name, list(chunks)) for _, name, chunks in ordered]


class Landing:
    """The batches that have landed."""

    def __init__(self, room: Path) -> None:
        self._room = room

    def has(self, batch: int) -> bool:
        """Whether batch ``batch`` has landed and has not been removed."""
        return (self._room / str(batch)).exists()

    def land(self, batch: int, write: Callable[[AnyPath], Iterable[Any]]) -> None:
        """Let a batch land, unless it has. ``write`` is given a directory to fill, and returns what
        the :class:`PieceWriter` of each task has told."""
        if self.has(batch):
            return
        draft = self._room / f"draft-{uuid.uuid4().hex}"
        draft.mkdir(parents=True)
        (draft / MANIFEST).write_text(json.dumps(pieces_told(write(draft))))
        try:
            draft.rename(self._room / str(batch))
        except OSError:
            if not self.has(batch):
                raise
            # a driver that was taken for dead has been faster
            shutil.rmtree(draft)

    def pieces(self, batch: int) -> list[Piece]:
        """What a batch that has landed consists of."""
        text = (self._room / str(batch) / MANIFEST).read_text()
        return [Piece(name, tuple(chunks)) for name, chunks in json.loads(text)]

    def read(self, batch: int, name: str, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Chunks ``start`` to ``end`` of a piece."""
        path = self._room / str(batch) / name
        try:
            reader = _open(str(path))
        except FileNotFoundError:
            raise StateError(
                f"{path} is missing. It holds records of a DataFrame that the job has not "
                "processed yet, and must be on a file system that the driver and all executors "
                "share. If it was deleted, go on from an older copy of the checkpoint."
            ) from None
        for number in range(start, end):
            yield reader.get_batch(number)

    def remove_before(self, batch: int) -> None:
        """Remove batches before ``batch``, and what a driver that died has left unfinished."""
        for place in self._room.glob("*"):
            if place.name.isdigit() and int(place.name) < batch:
                shutil.rmtree(place, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what a driver that died has left unfinished. Called before anything lands."""
        for place in self._room.glob("draft-*"):
            shutil.rmtree(place, ignore_errors=True)


@lru_cache(maxsize=8)
def _open(path: str) -> pa.ipc.RecordBatchFileReader:
    return pa.ipc.open_file(pa.memory_map(path))
