"""Where DataFrames land if the checkpoint is in an object store, which renames nothing.

::

    room/7/0-3f2a.0        some chunks of a piece of batch 7, as an Arrow file
    room/7/spark-91bc      the checkpoint of the query that lands a streaming DataFrame
    room/7/manifest.json   what batch 7 consists of

A batch appears with its manifest, which is created once, whoever comes first. Pieces of attempts
that came to nothing lie beside those that count, and go with them. What has landed is known from
one request when the job starts, so that asking for it costs none.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from scurry.common.any_paths import AnyPath, ObjectPath, create_whole, files_below, remove_tree
from scurry.common.errors import JobError, StateError
from scurry.connectors.data_frames.landing import (
    CHUNKS_OF_OBJECT,
    MANIFEST,
    Landing,
    Piece,
    pieces_told,
)


class StoredLanding(Landing):
    """The batches that have landed in an object store. ``resumed`` says that the query which lands
    them goes on from the last one, so that this one stays."""

    def __init__(self, room: ObjectPath, resumed: bool = False) -> None:
        self._place = room
        self._resumed = resumed
        #: what is known of the batches that have landed, None for those that were not looked at
        self._landed: dict[int, list[Piece] | None] | None = None

    def _known(self) -> dict[int, list[Piece] | None]:
        if self._landed is None:
            names = (name.split("/") for name, _ in files_below(self._place))
            self._landed = {int(parts[0]): None for parts in names if parts[-1] == MANIFEST}
        return self._landed

    def has(self, batch: int) -> bool:
        return batch in self._known()

    def land(self, batch: int, write: Callable[[AnyPath], Iterable[Any]]) -> None:
        self.land_with(batch, write, None)

    def land_with(
        self,
        batch: int,
        write: Callable[[AnyPath], Iterable[Any]],
        query: Callable[[], bytes] | None,
    ) -> None:
        """Let a batch land together with what ``query`` gives: the checkpoint of the query that
        lands it."""
        if self.has(batch):
            return
        place = self._place / str(batch)
        held: dict[str, Any] = {"pieces": pieces_told(write(place))}
        if query is not None:
            held["query"] = f"spark-{uuid.uuid4().hex}"
            (place / held["query"]).write_bytes(query())
        if not create_whole(place / MANIFEST, json.dumps(held).encode()) and query is not None:
            # Spark may have given the two of them other rows
            raise JobError(
                f"Another driver has landed batch {batch} of the streaming DataFrame meanwhile."
            )
        self._known()[batch] = None

    def query(self) -> bytes | None:
        """The checkpoint of the query as of the last batch that has landed, None if none has."""
        if not self._known():
            return None
        place = self._place / str(max(self._known()))
        name = json.loads((place / MANIFEST).read_bytes())["query"]
        content: bytes = (place / name).read_bytes()
        return content

    def pieces(self, batch: int) -> list[Piece]:
        found = self._known()[batch]
        if found is None:
            held = json.loads((self._place / str(batch) / MANIFEST).read_bytes())
            found = [Piece(name, tuple(chunks)) for name, chunks in held["pieces"]]
            self._known()[batch] = found
        return found

    def read(self, batch: int, name: str, start: int, end: int) -> Iterator[pa.RecordBatch]:
        piece = self._place / str(batch) / name
        for number in range(start, end):
            which, at = divmod(number, CHUNKS_OF_OBJECT)
            yield _opened(piece.with_name(f"{name}.{which}")).get_batch(at)

    def remove_before(self, batch: int) -> None:
        last = max(self._known(), default=-1) if self._resumed else None
        for number in [each for each in self._known() if each < batch and each != last]:
            remove_tree(self._place / str(number))
            del self._known()[number]

    def sweep(self) -> None:
        """Nothing: what is unfinished goes with what was finished."""


@lru_cache(maxsize=4)
def _opened(place: ObjectPath) -> pa.ipc.RecordBatchFileReader:
    try:
        return pa.ipc.open_file(pa.BufferReader(place.read_bytes()))
    except FileNotFoundError:
        raise StateError(
            f"{place} is missing. It holds records of a DataFrame that the job has not processed "
            "yet. If it was deleted, go on from an older savepoint."
        ) from None
