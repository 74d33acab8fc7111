"""Indexes over runs: where to look for a key in many runs at once.

Searching each of many runs for the keys of a micro-batch takes long; merging the runs takes long as
well, because all records are written again. An index over some runs holds the hashes of all their
keys, sorted, and for each hash the run and the row. It is an eighth of the size of the runs, so it
can be made anew often, and the runs are merged seldom.

Of equal hashes those of later runs come first. So the first row with the key that is looked for has
its latest record, and rows that were superseded can stay in the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scurry.state.runs.files import Run, RunDirectory, alike, stretches
from scurry.state.runs.key_rows import Hashes, KeyRows, Positions

#: Runs or indexes of about one size that get an index over all of them.
_ALIKE = 4
#: The most runs and indexes that are searched one after the other.
_MOST = 16
_SHIFT = np.uint64(40)
_ROW_BITS = (1 << 40) - 1
_ROW = np.uint64(_ROW_BITS)

Places = npt.NDArray[np.uint64]


class IndexInfo(NamedTuple):
    """What has to be known of an index to open it."""

    name: str
    #: the first of the table's runs that it covers, and how many
    first: int
    runs: int
    rows: int


class RunIndex:
    """An index over ``runs``, open for reading."""

    def __init__(self, place: RunDirectory, info: IndexInfo, runs: Sequence[Run]) -> None:
        self.info = info
        self.runs = list(runs)
        hashes, places = place.opened(place.index_files(info.name))
        if not len(hashes) == len(places) == info.rows * 8:
            raise OSError(f"{info.name} is not as long as it should be")
        self.hashes: Hashes = np.frombuffer(hashes, np.uint64)
        #: the number of the run among those that are covered, in the high bits, and the row
        self.places: Places = np.frombuffer(places, np.uint64)

    @property
    def rows(self) -> int:
        """How many rows all runs have."""
        return self.info.rows

    def covers(self, runs: Sequence[Run]) -> bool:
        """Whether it is an index over some of these runs of a table."""
        end = self.info.first + self.info.runs
        return [run.info for run in runs[self.info.first : end]] == [run.info for run in self.runs]

    def find(self, wanted: KeyRows) -> Iterator[tuple[Run, Positions, Positions]]:
        """By run: for which of the keys ``wanted`` it has the latest record, and where."""
        at = self.hashes.searchsorted(wanted.hashes)
        same = self._same_hash(at, np.arange(len(wanted)), wanted)
        while len(same):
            sources, rows = split_places(self, at[same])
            other = np.ones(len(same), dtype=np.bool_)
            for number in np.unique(sources).tolist():
                run = self.runs[number]
                mine = np.flatnonzero(sources == number)
                mine = mine[run.keys.rows[rows[mine]] == wanted.rows[same[mine]]]
                other[mine] = False
                yield run, same[mine], rows[mine]
            # another key with the same hash: the one wanted may follow
            same = same[other]
            at[same] += 1
            same = self._same_hash(at, same, wanted)

    def find_one(self, wanted: np.uint64, row: bytes) -> tuple[Run, int] | None:
        """Which run has the latest record of the key with this hash and row, and where."""
        at = int(self.hashes.searchsorted(wanted))
        while at < len(self.hashes) and self.hashes[at] == wanted:
            place = int(self.places[at])
            run, place = self.runs[place >> 40], place & _ROW_BITS
            if run.keys.rows[place] == row:
                return run, place
            at += 1
        return None

    def _same_hash(self, at: Positions, which: Positions, wanted: KeyRows) -> Positions:
        """For which of the keys ``which`` there is the hash wanted where they are looked for."""
        which = which[at[which] < len(self.hashes)]
        found: Positions = which[self.hashes[at[which]] == wanted.hashes[which]]
        return found


Group = Run | RunIndex


def split_places(group: Group, at: Positions) -> tuple[Positions, Positions]:
    """The runs of the rows that a group has ``at`` some places, as numbers among its runs, and
    the rows there."""
    if isinstance(group, Run):
        return np.zeros(len(at), np.intp), at
    places = group.places[at]
    return (places >> _SHIFT).astype(np.intp), (places & _ROW).astype(np.intp)


def grouped(runs: Sequence[Run], indexes: Sequence[RunIndex]) -> list[Group]:
    """What to search, the oldest first: indexes, and runs that none of them covers."""
    by_first = {index.info.first: index for index in indexes}
    groups: list[Group] = []
    at = 0
    while at < len(runs):
        index = by_first.get(at)
        groups.append(runs[at] if index is None else index)
        at += 1 if index is None else index.info.runs
    return groups


def index_over(
    place: RunDirectory, runs: Sequence[Run], known: Sequence[RunIndex]
) -> list[RunIndex]:
    """Indexes over ``runs``, so that there are few of them and of other runs to search; those
    ``known`` that still hold are used."""
    groups = grouped(runs, [index for index in known if index.covers(runs)])
    made: list[RunIndex] = []
    while len(groups) > 1:
        last = alike([group.rows for group in groups])
        if last < _ALIKE and len(groups) <= _MOST:
            break
        first = len(groups) - last if len(groups) <= _MOST else 0
        made.append(_written(place, groups[:first], groups[first:]))
        groups = [*groups[:first], made[-1]]
    for index in made:
        if index not in groups:
            place.delete(index.info.name)
    return [group for group in groups if isinstance(group, RunIndex)]


def _runs_of(groups: Sequence[Group]) -> list[Run]:
    return [r for g in groups for r in (g.runs if isinstance(g, RunIndex) else [g])]


def _written(place: RunDirectory, before: Sequence[Group], groups: Sequence[Group]) -> RunIndex:
    """An index over the runs of ``groups``, which come after those of ``before``."""
    name, rows = place.new_name(), sum(group.rows for group in groups)
    numbers = np.cumsum([0, *(len(_runs_of([group])) for group in groups[:-1])])
    with ExitStack() as files:
        hashes, places = (files.enter_context(f.open("wb")) for f in place.index_files(name))
        for pieces in stretches([group.hashes for group in groups]):
            spans = [
                (group.hashes[begin:end], _places(group, int(number), begin, end))
                for group, number, (begin, end) in zip(groups, numbers, pieces, strict=True)
                if begin < end
            ]
            # the latest first, so that of equal hashes it comes first
            parts = [np.concatenate(column) for column in zip(*reversed(spans), strict=True)]
            if len(spans) > 1:
                order = parts[0].argsort(kind="stable")
                parts = [part[order] for part in parts]
            hashes.write(np.ascontiguousarray(parts[0]).data)
            places.write(np.ascontiguousarray(parts[1]).data)
    place.add(place.index_files(name))
    place.written += rows * 16
    runs = _runs_of(groups)
    return RunIndex(place, IndexInfo(name, len(_runs_of(before)), len(runs), rows), runs)


def _places(group: Group, number: int, begin: int, end: int) -> Places:
    """Rows of a group, whose first run is the one with that ``number``, as places."""
    start = np.uint64(number) << _SHIFT
    if isinstance(group, RunIndex):
        return group.places[begin:end] + start
    return np.arange(begin, end, dtype=np.uint64) + start
