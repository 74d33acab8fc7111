"""Positions of file sources, when a fixed set of files becomes one that grows, or the reverse.

A job may read a directory to its end, and later go on watching it; or watch it, and be told to end
with what is there. Both are one source to the checkpoint, so each kind of position can be turned
into the other.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from scurry.common.errors import StateError
from scurry.connectors.files.listing import pack, unpack
from scurry.functions.source import Json

#: A file, the place up to which it was read, and its lane.
Entry = list[Any]


def entries_of(position: Json) -> list[Entry]:
    """The files that the position of a growing set knows."""
    entries: list[Entry] = unpack(position["files"])
    for number, offset in position["since"].items():
        entries[int(number)][1] = offset
    return entries


def is_growing(position: Json) -> bool:
    """Whether a position is of a set of files that grows."""
    return "since" in position


def growing(position: Json, parallelism: int) -> Json:
    """The position of a growing set of files, where one of a fixed set stands."""
    entries: list[Entry] = []
    lanes, first = position["lanes"], 0
    for path, places in unpack(position["files"]):
        parts = [(start, end) for start, end in pairwise(places) if end > start]
        reached = [_reached(lanes, number, part) for number, part in enumerate(parts, start=first)]
        first += len(parts)
        entries.append([path, _prefix(path, parts, reached), len(entries) % parallelism])
    return {"files": pack(entries), "dealt": len(entries), "since": {}}


def _reached(lanes: list[list[int]], number: int, part: tuple[int, int]) -> int:
    """Up to which place part ``number`` of all parts was read."""
    turn, lane = divmod(number, len(lanes))
    current, offset = lanes[lane]
    if turn < current:
        return part[1]
    return max(part[0], offset) if turn == current else part[0]


def _prefix(path: str, parts: list[tuple[int, int]], reached: list[int]) -> int:
    """Up to which place a file was read, all of whose parts are read side by side."""
    place, whole = 0, True
    for (start, end), at in zip(parts, reached, strict=True):
        if at > start and not whole:
            raise StateError(
                f"{path!r} was being read in parts, side by side, and is read in the middle "
                "already. Let the job read the files to their end as before, then watch them."
            )
        place = at if whole else place
        whole = whole and at == end
    return place
