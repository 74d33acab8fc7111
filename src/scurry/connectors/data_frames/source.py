"""`DataFrameSource`: the rows of a Spark DataFrame, static or streaming, once each.

The order is that of the DataFrame: batch by batch, partition by partition, and within a partition
row by row. To keep it the source is one partition, read by one task; ``rebalance()`` behind it
spreads the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ProgramError
from scurry.common.row_types import RowTypeInfo
from scurry.connectors.data_frames.feed import Feed, land
from scurry.connectors.data_frames.landing import Landing
from scurry.connectors.data_frames.types import type_of_schema
from scurry.functions.source import Json, ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class DataFrameSource(Source):
    """Reads a DataFrame that lands in the job's checkpoint."""

    max_tasks = 1
    columnar = True
    changelog = ChangelogMode.INSERT_ONLY

    def __init__(self, frame: DataFrame, available_now: bool = False) -> None:
        """``available_now`` ends the source of a streaming DataFrame when everything that was there
        at its start has been read."""
        if available_now and not frame.isStreaming:
            raise ProgramError("available_now is for streaming DataFrames; a static one always is.")
        self._frame: DataFrame | None = frame
        self._streaming = frame.isStreaming
        self._available_now = available_now
        self._room: Path | None = None
        self._type = type_of_schema(frame.schema)
        self.bounded = available_now or not self._streaming

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_frame": None}

    @property
    def type_info(self) -> RowTypeInfo:
        return self._type

    @property
    def position_form(self) -> str:
        return "DataFrameSource, streaming" if self._streaming else "DataFrameSource, static"

    def take_room(self, room: Path) -> None:
        self._room = room

    @property
    def _landing(self) -> Landing:
        assert self._room is not None, "the engine gives a room before anything is read"
        return Landing(self._room)

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        assert self._frame is not None
        assert self._room is not None
        self._landing.sweep()
        if not self._streaming:
            return _Static(self._frame, self._landing)
        feed = Feed(self._frame, self._landing, self._room, self._available_now)
        return _Streaming(feed, self._landing)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        kind = self._type.arrow_type()
        assert kind is not None
        wanted = pa.schema(list(kind))
        for batch in self._landing.read(*what):
            yield SourceBatch(columns=batch.cast(wanted), bytes_read=batch.nbytes)


class _Landed(SourceEnumerator):
    """Walks batches that have landed. A position is a batch, a piece of it and a chunk of that."""

    def __init__(self, landing: Landing) -> None:
        self._landing = landing

    def initial_position(self) -> Json:
        return [0, 0, 0]

    def committed(self, position: Json) -> None:
        self._landing.remove_before(position[0])

    def _walk(self, position: Json, most: int) -> tuple[Json, list[ReadRange]]:
        """About ``most`` records from ``position`` on, of what has landed."""
        batch, number, chunk = position
        ranges: list[ReadRange] = []
        while most > 0 and self._landing.has(batch):
            pieces = self._landing.pieces(batch)
            while most > 0 and number < len(pieces):
                start, chunks = chunk, pieces[number].chunks
                while most > 0 and chunk < len(chunks):
                    most -= chunks[chunk]
                    chunk += 1
                ranges.append(ReadRange("0", [batch, pieces[number].name, start, chunk]))
                if chunk == len(chunks):
                    number, chunk = number + 1, 0
            if number == len(pieces):
                batch, number, chunk = batch + 1, 0, 0
        return [batch, number, chunk], ranges


class _Static(_Landed):
    """A static DataFrame: batch 0, which lands when the job first plans."""

    def __init__(self, frame: DataFrame, landing: Landing) -> None:
        super().__init__(landing)
        self._frame = frame

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        if position[0] == 0:
            land(self._landing, 0, self._frame)
        after, ranges = self._walk(position, max_records)
        return ReadPlan(after, ranges, finished=after[0] > 0)


class _Streaming(_Landed):
    """A streaming DataFrame, landed by a query that runs as long as the job."""

    def __init__(self, feed: Feed, landing: Landing) -> None:
        super().__init__(landing)
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
