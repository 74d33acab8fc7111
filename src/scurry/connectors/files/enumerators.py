"""Which piece of which file comes next: for a fixed set of files, and for directories that grow.

Files, or parts of large ones, are dealt out to *lanes*, as many as the source has tasks. A lane is
a partition of the source: it reads its parts one after the other, and has one watermark. That is
what a reader is in Flink, and it keeps the number of partitions small however many files there are.
Which part goes to which lane does not depend on how the input is cut into micro-batches.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from scurry.common.errors import JobError
from scurry.connectors.files.formats import FileFormat
from scurry.connectors.files.listing import Seen, find_files, pack, unpack
from scurry.connectors.files.positions import Entry, entries_of, growing, is_growing
from scurry.functions.source import FILES_LEFT, Json, ReadPlan, ReadRange, SourceEnumerator

_log = logging.getLogger("scurry.files")

#: The most pieces that a micro-batch reads of one lane, so that its plan stays small.
_MOST_PIECES = 1000
#: How many files may move on before the list of all files is written anew.
_MOST_CHANGES = 200


class StaticFiles(SourceEnumerator):
    """Reads a set of files that is fixed when the job first starts."""

    def __init__(
        self,
        roots: Sequence[str],
        form: FileFormat,
        parallelism: int,
        split_size: int | None,
        wanted: re.Pattern[str] | None = None,
    ) -> None:
        self._roots = roots
        self._wanted = wanted
        self._format = form
        self._parallelism = parallelism
        self._split_size = split_size
        self._packed = ""
        self._lanes: list[list[tuple[str, int, int]]] = []
        self._left = 0

    def initial_position(self) -> Json:
        return self._after([])

    def _after(self, read: list[Entry]) -> Json:
        """The position of all files that there are now, of which some have been read."""
        known = {path: place for path, place, _ in read}
        files = []
        for path in sorted(find_files(self._roots, self._wanted)):
            extent = self._format.extent(path, complete=True) or 0
            places = [known.get(path, 0), extent]
            if self._split_size is not None and path not in known:
                places = self._format.splits(path, extent, self._split_size)
            files.append([path, places])
        parts = sum(len(places) - 1 for _, places in files)
        # a lane that was there before has a watermark, and ends only if it is still there
        lanes = max(1, min(self._parallelism, parts), *(lane + 1 for _, _, lane in read))
        return {"files": pack(files), "lanes": [[0, -1]] * lanes}

    def partitions(self) -> list[str]:
        return [str(lane) for lane in range(len(self._lanes))]

    def _load(self, position: Json) -> None:
        if position["files"] == self._packed:
            return
        self._packed = position["files"]
        count = len(position["lanes"])
        parts = [
            (path, start, end)
            for path, places in unpack(self._packed)
            for start, end in pairwise(places)
            if end > start
        ]
        self._lanes = [parts[lane::count] for lane in range(count)]

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        if is_growing(position):
            position = self._after(entries_of(position))
        self._load(position)
        share = max(1, max_records // len(self._lanes))
        ranges: list[ReadRange] = []
        after = []
        for lane, (number, offset) in enumerate(position["lanes"]):
            pieces, place = self._take(lane, number, offset, share)
            ranges += [ReadRange(str(lane), piece) for piece in pieces]
            after.append(place)
        ended = {
            str(lane) for lane, (number, _) in enumerate(after) if number >= len(self._lanes[lane])
        }
        self._left = self._files_left(after)
        return ReadPlan(
            {"files": self._packed, "lanes": after},
            ranges,
            finished=len(ended) == len(self._lanes),
            ended=frozenset(ended),
        )

    def _files_left(self, places: list[list[int]]) -> int:
        """How many files the lanes have not read to their end."""
        parts = zip(self._lanes, places, strict=True)
        return len({path for lane, (number, _) in parts for path, _, _ in lane[number:]})

    def gauges(self) -> dict[str, int]:
        return {FILES_LEFT: self._left}

    def _take(
        self, lane: int, number: int, offset: int, records: int
    ) -> tuple[list[list[Any]], list[int]]:
        """About ``records`` records of a lane, from ``offset`` of its part ``number`` on."""
        parts = self._lanes[lane]
        pieces: list[list[Any]] = []
        while number < len(parts) and records > 0 and len(pieces) < _MOST_PIECES:
            path, start, end = parts[number]
            start = max(start, offset)
            place, count = self._format.cut(path, start, end, records, complete=True)
            pieces.append([path, start, place])
            records -= max(1, count)
            number, offset = (number + 1, -1) if place >= end else (number, place)
        return pieces, [number, offset]


class MonitoredFiles(SourceEnumerator):
    """Reads files as they appear below the given paths, and what is appended to them."""

    def __init__(
        self,
        roots: Sequence[str],
        form: FileFormat,
        parallelism: int,
        interval_ms: int,
        wanted: re.Pattern[str] | None = None,
    ) -> None:
        self._roots = roots
        self._wanted = wanted
        self._format = form
        self._parallelism = parallelism
        self._interval = interval_ms / 1000
        self._scanned = float("-inf")
        #: what is known of each file: how far it was read, and its lane
        self._files: dict[str, list[int]] = {}
        self._dealt = 0
        self._seen: dict[str, Seen] = {}
        self._extents: dict[str, int] = {}
        #: files with something left to read
        self._waiting: dict[str, None] = {}
        self._position: Json = None
        #: the position that was asked for last
        self._given: Json = None
        self._numbers: dict[str, str] = {}

    def initial_position(self) -> Json:
        return {"files": pack([]), "dealt": 0, "since": {}}

    def partitions(self) -> list[str]:
        return sorted({str(lane) for _, lane in self._files.values()})

    def _load(self, position: Json) -> None:
        entries = entries_of(position)
        self._files = {path: [offset, lane] for path, offset, lane in entries}
        self._numbers = {path: str(number) for number, path in enumerate(self._files)}
        self._dealt = position["dealt"]
        self._seen, self._extents, self._waiting = {}, {}, {}
        self._scanned = float("-inf")

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        if position is not self._given:
            self._given = position
            whole = is_growing(position)
            self._position = position if whole else growing(position, self._parallelism)
            self._load(self._position)
        if time.monotonic() - self._scanned >= self._interval:
            self._scan()
            self._scanned = time.monotonic()
        ranges = self._take(max_records)
        if ranges:
            self._given = self._position = self._after(self._position, ranges)
        return ReadPlan(self._position, ranges)

    def _scan(self) -> None:
        found = find_files(self._roots, self._wanted)
        self._forget([path for path in self._files if path not in found])
        changed = [path for path, seen in found.items() if self._seen.get(path) != seen]
        for path in sorted(changed, key=lambda name: (found[name][1], name)):
            self._seen[path] = found[path]
            extent = self._format.extent(path, complete=False)
            if extent is None:
                _log.warning("%s is not complete yet; waiting for its end", path)
                continue
            if path not in self._files:
                self._files[path] = [0, self._dealt % self._parallelism]
                self._dealt += 1
            if extent < self._files[path][0]:
                raise JobError(
                    f"{path!r} has become shorter: {self._files[path][0]} of it were read, it now "
                    f"ends at {extent}. A monitored file may only be appended to; write new data "
                    "to a new file."
                )
            self._extents[path] = extent
            if extent > self._files[path][0]:
                self._waiting[path] = None

    def _forget(self, gone: list[str]) -> None:
        for path in gone:
            if self._extents.get(path, 0) > self._files[path][0]:
                raise JobError(
                    f"{path!r} has disappeared, and only {self._files[path][0]} of "
                    f"{self._extents[path]} bytes (or blocks) of it were read. Put it back and "
                    "restart the job."
                )
            for known in (self._files, self._seen, self._extents, self._waiting):
                known.pop(path, None)

    def _take(self, max_records: int) -> list[ReadRange]:
        lanes = {self._files[path][1] for path in self._waiting}
        left = dict.fromkeys(lanes, max(1, max_records // max(1, len(lanes))))
        ranges = []
        for path in list(self._waiting)[: _MOST_PIECES * max(1, len(lanes))]:
            offset, lane = self._files[path]
            if left[lane] <= 0:
                continue
            extent = self._extents[path]
            place, count = self._format.cut(path, offset, extent, left[lane], complete=False)
            if place > offset:
                ranges.append(ReadRange(str(lane), [path, offset, place]))
                self._files[path][0] = place
                left[lane] -= max(1, count)
            if place in (offset, extent):
                del self._waiting[path]
        return ranges

    def gauges(self) -> dict[str, int]:
        return {FILES_LEFT: len(self._waiting)}

    def _after(self, before: Json, ranges: list[ReadRange]) -> Json:
        """The position behind ``ranges``: a few changes to the list of files, or a new list."""
        since = dict(before["since"])
        same = self._numbers.keys() == self._files.keys()
        if same and len(since) < _MOST_CHANGES:
            for item in ranges:
                path, _, place = item.what
                since[self._numbers[path]] = place
            return {**before, "since": since}
        entries = [[path, offset, lane] for path, (offset, lane) in self._files.items()]
        self._numbers = {path: str(number) for number, path in enumerate(self._files)}
        return {"files": pack(entries), "dealt": self._dealt, "since": {}}
