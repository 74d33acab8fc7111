"""All records below a prefix, found for many prefixes at once.

In the order of prefixes (:class:`scurry.state.runs.key_rows.Order`) what lies below a prefix is one
stretch of every run or index: two binary searches tell where it begins and where it ends, before
anything of it is read. The stretches of all runs together are then a small merge: rows are sorted,
and of those with one key the one of the latest run counts. A stretch may have rows of another
prefix with the same half of the hash; these are told apart by their keys.

What was found stays a column (:class:`Below`): which record belongs to which prefix is told by
numbers, and nobody needs the keys of records that are decoded right away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.state.runs.files import Run
from scurry.state.runs.index import Group, RunIndex, split_places
from scurry.state.runs.key_rows import (
    Hashes,
    KeyRows,
    Marks,
    Order,
    Positions,
    greatest_below,
    joined,
    prefix_length,
    row_width,
    upper_halves,
)
from scurry.state.runs.seen import Seen

#: The records below a prefix, by what follows it in their keys, or how many rows there are if these
#: were too many to be read.
Found = dict[bytes, bytes] | int


@dataclass(slots=True, eq=False)
class Below:
    """What lies below some prefixes, as columns."""

    #: by prefix: how many rows there are, at least as many as records
    rows: Positions
    #: by prefix: whether these were too many to be read
    large: Marks
    #: by record, in the order of the prefixes: the number of its prefix, itself
    owners: Positions
    records: list[bytes]
    seen: Seen

    def __len__(self) -> int:
        return len(self.rows)

    def counts(self) -> Positions:
        """By prefix: how many records were read."""
        return np.bincount(self.owners, minlength=len(self))

    def of(self, which: Marks) -> list[Found]:
        """The records of some of the prefixes."""
        mine = np.flatnonzero(which[self.owners])
        owners, records = self.owners[mine].tolist(), self.records
        found: dict[int, Any] = {owner: {} for owner in np.flatnonzero(which).tolist()}
        rests = self.seen.keys.take(self.seen.read[mine]).rests()
        for owner, rest, at in zip(owners, rests, mine.tolist(), strict=True):
            found[owner][rest] = records[at]
        for owner in np.flatnonzero(which & self.large).tolist():
            found[owner] = int(self.rows[owner])
        return list(found.values())

    def all(self) -> list[Found]:
        """The records of all prefixes."""
        return self.of(np.ones(len(self), dtype=np.bool_))


class Stretches:
    """Where in the runs and indexes of a table, the oldest first, rows below ``prefixes`` are. No
    prefix comes twice."""

    def __init__(self, groups: Sequence[Group], prefixes: Sequence[bytes]) -> None:
        self._groups = groups
        self._names = prefixes
        width = row_width(max(map(len, prefixes), default=0))
        self._prefixes = KeyRows.of(prefixes, width, Order.PREFIX)
        # sorted numbers are searched quicker, and prefixes with one half of a hash have one stretch
        halves = upper_halves(self._prefixes.hashes)
        order = halves.argsort()
        self._halves = halves[order]
        fresh = np.ones(len(order), dtype=np.bool_)
        np.not_equal(self._halves[1:], self._halves[:-1], out=fresh[1:])
        #: by stretch: the number of the first of its prefixes
        self._firsts = order[fresh]
        self._halves = self._halves[fresh]
        #: by prefix: the number of its stretch
        self._which = np.empty(len(order), np.intp)
        self._which[order] = np.cumsum(fresh) - 1
        self._spans = [_spans(group.hashes, self._halves) for group in groups]
        lengths = [end - begin for begin, end in self._spans]
        #: how many rows there are for each prefix: at least as many as records
        self.rows: Positions = sum(lengths, np.zeros(len(self._halves), np.intp))[self._which]

    def halves(self, wanted: Positions) -> Hashes:
        """The upper halves of the hashes of the prefixes ``wanted``, sorted."""
        return self._halves[self._chosen(wanted)]

    def _chosen(self, wanted: Positions) -> Positions:
        """The numbers of the stretches of the prefixes ``wanted``, in order."""
        marks = np.zeros(len(self._halves), dtype=np.bool_)
        marks[self._which[wanted]] = True
        return np.flatnonzero(marks)

    def latest(self, wanted: Positions) -> FoundRows:
        """The latest rows of the keys below the prefixes with the numbers ``wanted``, and of other
        keys with the same upper halves of hashes, in order."""
        chosen = self._chosen(wanted)
        runs: list[Run] = []
        sources, rows = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for group, (begin, end) in zip(self._groups, self._spans, strict=True):
            at = _spread(begin[chosen], end[chosen])
            number, row = split_places(group, at)
            sources.append(number + len(runs))
            rows.append(row)
            runs.extend(group.runs if isinstance(group, RunIndex) else [group])
        return _latest(runs, np.concatenate(sources), np.concatenate(rows))

    def owners(self, keys: KeyRows) -> Positions:
        """The numbers of the prefixes of ``keys``, which lie in the stretches; -1 for a key that
        has another prefix with the same half of a hash."""
        stretch = self._halves.searchsorted(upper_halves(keys.hashes))
        owners: Positions = self._firsts[stretch]
        others = np.flatnonzero(~keys.are_below(self._prefixes.take(owners)))
        if len(others):
            numbers = {prefix: number for number, prefix in enumerate(self._names)}
            names = keys.take(others).keys()
            owners[others] = [numbers.get(key[: prefix_length(key)], -1) for key in names]
        return owners


class FoundRows(NamedTuple):
    """Rows of several runs; their keys are all different."""

    keys: KeyRows
    runs: list[Run]
    #: the run of each row, and the place there
    source: Positions
    at: Positions

    def take(self, which: Positions | Marks) -> FoundRows:
        """Some of them."""
        return FoundRows(self.keys.take(which), self.runs, self.source[which], self.at[which])

    def there(self) -> FoundRows:
        """Those that do not say that their keys were removed."""
        removed = np.zeros(len(self.at), dtype=np.bool_)
        for number, mine in _by_source(self.source):
            removed[mine] = self.runs[number].removed(self.at[mine])
        return self.take(~removed) if removed.any() else self

    def records(self, which: Positions) -> list[bytes]:
        """Some of the records, which are all there."""
        source, at, found = self.source[which], self.at[which], np.empty(len(which), dtype=object)
        for number, mine in _by_source(source):
            content = self.runs[number].records.take(pa.array(at[mine]))
            found[mine] = content.to_numpy(zero_copy_only=False)
        records: list[bytes] = found.tolist()
        return records


def records_below(
    groups: Sequence[Group], prefixes: Sequence[bytes], most: int | None, at_once: int | None
) -> Below:
    """The records below ``prefixes``, which are all different. Of a prefix with more than ``most``
    rows just their number is told. The answer is about fewer prefixes, but at least one, if
    otherwise it had more than ``at_once`` rows."""
    stretches = Stretches(groups, prefixes)
    rows, last = stretches.rows, len(prefixes)
    large = rows > (rows.max(initial=0) if most is None else most)
    if at_once is not None:
        fetched = np.where(large, 0, rows)
        last = max(1, int(np.cumsum(fetched).searchsorted(at_once, "right")))
    rows, large = rows[:last], large[:last]
    wanted = np.flatnonzero(~large)
    found = stretches.latest(wanted).there()
    owners = stretches.owners(found.keys)
    mine = np.flatnonzero((owners >= 0) & (owners < last))
    order = mine[owners[mine].argsort(kind="stable")]
    seen = Seen(stretches.halves(wanted), found.keys, order)
    return Below(rows, large, owners[order], found.records(order), seen)


def keys_below(groups: Sequence[Group], prefixes: Sequence[bytes]) -> KeyRows:
    """The keys that exist below ``prefixes``, in order. There may be millions of them below one, so
    nothing is done with each by itself."""
    prefixes = list(dict.fromkeys(prefixes))
    stretches = Stretches(groups, prefixes)
    found = stretches.latest(np.arange(len(prefixes))).there().keys
    return found.take(stretches.owners(found) >= 0)


def _spans(hashes: Hashes, halves: Hashes) -> tuple[Positions, Positions]:
    """Where the stretches of sorted ``halves`` begin and end in a sorted column."""
    begin: Positions = hashes.searchsorted(halves)
    end, last, more = begin.copy(), greatest_below(halves), np.arange(len(halves))
    # most stretches have one row or none, so that there is no need to search for their ends
    for _ in range(2):
        more = more[end[more] < len(hashes)]
        more = more[hashes[end[more]] <= last[more]]
        end[more] += 1
    end[more] = hashes.searchsorted(last[more], "right")
    return begin, end


def _spread(begins: Positions, ends: Positions) -> Positions:
    """All places from each beginning to the end that belongs to it."""
    lengths = ends - begins
    before = np.cumsum(lengths) - lengths
    return np.repeat(begins - before, lengths) + np.arange(int(lengths.sum()))


def _latest(runs: list[Run], source: Positions, at: Positions) -> FoundRows:
    if not len(at):
        return FoundRows(KeyRows.of([], 8), runs, source, at)
    # the latest first, so that of equal keys it comes first
    parts = list(_by_source(source))[::-1]
    keys = joined([runs[number].keys.take(at[mine]) for number, mine in parts])
    order = np.concatenate([mine for _, mine in parts])
    source, at = source[order], at[order]
    order = keys.first_of_equals(keys.order())
    return FoundRows(keys.take(order), runs, source[order], at[order])


def _by_source(source: Positions) -> Iterator[tuple[int, Positions]]:
    """The numbers in ``source``, from the least on, each with its places, in order."""
    # numbers of two bytes are sorted many times quicker; there are never so many runs
    order = source.astype(np.uint16).argsort(kind="stable")
    ordered = source[order]
    cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    for mine in np.split(order, cuts) if len(order) else ():
        yield int(source[mine[0]]), mine
