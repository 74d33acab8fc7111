"""`DataFrameSource`: the rows of a Spark DataFrame, static or streaming, once each.

The rows of one of Spark's partitions stay together, in their order. Spark's partitions are dealt
out to those of the source in turn. A source of one partition has the order of the whole DataFrame:
batch by batch, partition by partition, row by row. A source of several has no order between them,
but all rows of a streaming DataFrame's batch come before those of the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from scurry.common.any_paths import AnyPath, ObjectPath
from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ProgramError
from scurry.common.row_types import RowTypeInfo
from scurry.connectors.data_frames.feed import Feed, is_sorted, land
from scurry.connectors.data_frames.landing import Landing, Piece
from scurry.connectors.data_frames.stored_landing import StoredLanding
from scurry.connectors.data_frames.types import type_of_schema
from scurry.functions.source import (
    LAG,
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class DataFrameSource(Source):
    """Reads a DataFrame that lands in the job's checkpoint."""

    columnar = True
    changelog = ChangelogMode.INSERT_ONLY
    room_anywhere = True

    def __init__(
        self, frame: DataFrame, available_now: bool = False, partitions: int | None = None
    ) -> None:
        """``available_now`` ends the source of a streaming DataFrame when everything that was there
        at its start has been read. Without ``partitions`` there is one for each task that reads,
        except where the whole has an order: a DataFrame that was sorted, or that is streaming."""
        if partitions is not None and (type(partitions) is not int or partitions < 1):
            raise ProgramError(f"A DataFrame is read as 1 partition or more, got {partitions!r}.")
        if available_now and not frame.isStreaming:
            raise ProgramError("available_now is for streaming DataFrames; a static one always is.")
        self._frame: DataFrame | None = frame
        self._streaming = frame.isStreaming
        self._available_now = available_now
        self._room: AnyPath | None = None
        self._type = type_of_schema(frame.schema)
        self.bounded = available_now or not self._streaming
        if partitions is None and (self._streaming or is_sorted(frame)):
            partitions = 1
        self._partitions = partitions
        self.max_tasks = partitions

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_frame": None}

    @property
    def type_info(self) -> RowTypeInfo:
        return self._type

    @property
    def position_form(self) -> str:
        kind = "streaming" if self._streaming else "static"
        several = self._partitions is not None and self._partitions > 1
        return f"DataFrameSource, {kind}" + (f", {self._partitions} partitions" if several else "")

    @property
    def needs_slot(self) -> bool:
        return True

    def take_room(self, room: AnyPath) -> None:
        self._room = room

    @property
    def _landing(self) -> Landing:
        assert self._room is not None, "the engine gives a room before anything is read"
        if isinstance(self._room, ObjectPath):
            return StoredLanding(self._room, resumed=self._streaming)
        return Landing(self._room)

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        assert self._frame is not None
        assert self._room is not None
        landing = self._landing
        landing.sweep()
        if not self._streaming:
            return _Static(self._frame, landing, self._partitions or parallelism)
        feed = Feed(self._frame, landing, self._room, self._available_now)
        return _Streaming(feed, landing, self._partitions or parallelism)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        kind = self._type.arrow_type()
        assert kind is not None
        wanted = pa.schema(list(kind))
        for batch in self._landing.read(*what):
            yield SourceBatch(columns=batch.cast(wanted), bytes_read=batch.nbytes)


class _Landed(SourceEnumerator):
    """Walks batches that have landed, with so many partitions.

    A position is the number of a batch and, for each partition, which piece of the batch is its
    next one and which chunk of that. Piece ``p`` belongs to partition ``p % partitions``.
    """

    def __init__(self, landing: Landing, partitions: int) -> None:
        self._landing = landing
        self._partitions = partitions
        self._left = 0

    def partitions(self) -> list[str]:
        return [str(number) for number in range(self._partitions)]

    def initial_position(self) -> Json:
        return [0, self._begin()]

    def _begin(self) -> list[list[int]]:
        return [[number, 0] for number in range(self._partitions)]

    def committed(self, position: Json) -> None:
        self._landing.remove_before(position[0])

    def gauges(self) -> dict[str, int]:
        return {LAG: self._left}

    def _walk(self, position: Json, most: int) -> tuple[Json, list[ReadRange]]:
        """About ``most`` records from ``position`` on, of what has landed: of one batch only if
        there are several partitions, as these do not wait for each other."""
        batch, places = _places(position)
        ranges: list[ReadRange] = []
        while most > 0 and self._landing.has(batch) and not (ranges and self._partitions > 1):
            pieces = self._landing.pieces(batch)
            share = max(1, most // self._partitions)
            for name, place in enumerate(places):
                read, taken = self._take(batch, pieces, place, share)
                ranges += [ReadRange(str(name), what) for what in read]
                most -= taken
            if all(number >= len(pieces) for number, _ in places):
                batch, places = batch + 1, self._begin()
        self._left = self._rest(batch, places)
        return [batch, places], ranges

    def _take(
        self, batch: int, pieces: list[Piece], place: list[int], most: int
    ) -> tuple[list[Json], int]:
        """About ``most`` records of one partition, and how many they are; moves ``place`` on."""
        found: list[Json] = []
        taken = 0
        while taken < most and place[0] < len(pieces):
            piece, start = pieces[place[0]], place[1]
            while taken < most and place[1] < len(piece.chunks):
                taken += piece.chunks[place[1]]
                place[1] += 1
            found.append([batch, piece.name, start, place[1]])
            if place[1] == len(piece.chunks):
                place[:] = place[0] + self._partitions, 0
        return found, taken

    def _rest(self, batch: int, places: list[list[int]]) -> int:
        """How many records have landed from there on."""
        rest = 0
        while self._landing.has(batch):
            pieces = self._landing.pieces(batch)
            for number, chunk in places:
                mine = pieces[number :: self._partitions]
                rest += sum(sum(piece.chunks) for piece in mine)
                rest -= sum(mine[0].chunks[:chunk]) if mine else 0
            batch, places = batch + 1, self._begin()
        return rest


def _places(position: Json) -> tuple[int, list[list[int]]]:
    """A position to walk on from. In older checkpoints it is a batch, a piece and a chunk, of the
    only partition."""
    if isinstance(position[1], int):
        return position[0], [[position[1], position[2]]]
    return position[0], [list(place) for place in position[1]]


class _Static(_Landed):
    """A static DataFrame: batch 0, which lands when the job first plans."""

    def __init__(self, frame: DataFrame, landing: Landing, partitions: int) -> None:
        super().__init__(landing, partitions)
        self._frame = frame

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        if position[0] == 0:
            land(self._landing, 0, self._frame)
        after, ranges = self._walk(position, max_records)
        if after[0] > 0:
            return ReadPlan(after, ranges, finished=True)
        pieces = len(self._landing.pieces(0))
        ended = (str(name) for name, (number, _) in enumerate(after[1]) if number >= pieces)
        return ReadPlan(after, ranges, ended=frozenset(ended))


class _Streaming(_Landed):
    """A streaming DataFrame, landed by a query that runs as long as the job."""

    def __init__(self, feed: Feed, landing: Landing, partitions: int) -> None:
        super().__init__(landing, partitions)
        self._feed = feed

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        if not self._feed.started:
            self._feed.start(position[0])
        # asked first: what lands between the two questions is found by the next plan
        ended = self._feed.ended()
        after, ranges = self._walk(position, max_records)
        self._feed.reading(after[0])
        return ReadPlan(after, ranges, finished=ended and not self._landing.has(after[0]))

    def goes_on(self, position: Json, bounded: bool) -> bool:
        # what was available at the last start is not all there will ever be
        return True

    def close(self) -> None:
        self._feed.stop()
