"""All records below a prefix, found for many prefixes at once.

In the order of prefixes (:class:`scurry.state.runs.key_rows.Order`) what lies below a prefix is one
stretch of every run or index: two binary searches tell where it begins and where it ends, before
anything of it is read. The stretches of all runs together are then a small merge: rows are sorted,
and of those with one key the one of the latest run counts. A stretch may have rows of another
prefix with the same half of the hash; these are told apart by their keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scurry.state.runs.files import Run
from scurry.state.runs.index import Group, RunIndex, split_places
from scurry.state.runs.key_rows import (
    KeyRows,
    Marks,
    Order,
    Positions,
    joined,
    spans_below,
    upper_halves,
)


class Stretches:
    """Where in the runs and indexes of a table, the oldest first, rows below ``prefixes`` are."""

    def __init__(self, groups: Sequence[Group], prefixes: Sequence[bytes]) -> None:
        self._groups = groups
        least, greatest = spans_below(prefixes)
        # sorted numbers are searched quicker, and prefixes with one hash have one stretch
        least, firsts, self._which = np.unique(least, return_index=True, return_inverse=True)
        greatest = greatest[firsts]
        self._spans = [
            (group.hashes.searchsorted(least), group.hashes.searchsorted(greatest, "right"))
            for group in groups
        ]
        lengths = [end - begin for begin, end in self._spans]
        #: how many rows there are for each prefix: at least as many as records
        self.rows: Positions = sum(lengths, np.zeros(len(least), np.intp))[self._which]

    def latest(self, wanted: Positions) -> FoundRows:
        """The latest rows of the keys below the prefixes with the numbers ``wanted``."""
        chosen = np.unique(self._which[wanted])
        runs: list[Run] = []
        sources, rows = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for group, (begin, end) in zip(self._groups, self._spans, strict=True):
            at = _spread(begin[chosen], end[chosen])
            number, row = split_places(group, at)
            sources.append(number + len(runs))
            rows.append(row)
            runs.extend(group.runs if isinstance(group, RunIndex) else [group])
        return _latest(runs, np.concatenate(sources), np.concatenate(rows))


class FoundRows(NamedTuple):
    """Rows of several runs, in the order of their keys, which are all different."""

    keys: KeyRows
    runs: list[Run]
    #: the run of each row, and the place there
    source: Positions
    at: Positions

    def there(self) -> KeyRows:
        """The keys of rows that do not say that their keys were removed."""
        removed = np.zeros(len(self.at), dtype=np.bool_)
        for number in np.unique(self.source).tolist():
            mine = np.flatnonzero(self.source == number)
            removed[mine] = self.runs[number].removed(self.at[mine])
        return self.keys.take(~removed)

    def records(self) -> npt.NDArray[np.object_]:
        """The records, None for those that say that their keys were removed."""
        found = np.full(len(self.at), None, dtype=object)
        for number in np.unique(self.source).tolist():
            mine = np.flatnonzero(self.source == number)
            run, at = self.runs[number], self.at[mine]
            content = run.records.take(pa.array(at)).to_numpy(zero_copy_only=False)
            removed = run.removed(at)
            if removed.any():
                content[removed] = None
            found[mine] = content
        return found

    def by_prefix(self) -> dict[bytes, dict[bytes, bytes]]:
        """The records that are there, by the prefix of their key and by what follows it."""
        found: dict[bytes, dict[bytes, bytes]] = {}
        keys, ends = self.keys.keys(), self.keys.prefix_lengths().tolist()
        for key, end, record in zip(keys, ends, self.records().tolist(), strict=True):
            if record is not None:
                prefix, rest = key[:end], key[end:]
                held = found.get(prefix)
                if held is None:
                    found[prefix] = {rest: record}
                else:
                    held[rest] = record
        return found


def keys_below(groups: Sequence[Group], prefixes: Sequence[bytes]) -> KeyRows:
    """The keys that exist below ``prefixes``. There may be millions of them below one, so nothing
    is done with each by itself."""
    found = Stretches(groups, prefixes).latest(np.arange(len(prefixes))).there()
    return found.take(_really_below(found, prefixes)) if len(found) else found


def _really_below(keys: KeyRows, prefixes: Sequence[bytes]) -> Marks:
    """Which of ``keys`` have one of ``prefixes``, and not just its half of a hash."""
    width = keys.width
    wanted = KeyRows.of(
        [prefix for prefix in prefixes if len(prefix) <= width], width, Order.PREFIX
    )
    wanted = wanted.take(wanted.order())
    halves, all_halves = upper_halves(wanted.hashes), upper_halves(keys.hashes)
    at, found = halves.searchsorted(all_halves), np.zeros(len(keys), dtype=np.bool_)
    left = np.arange(len(keys))
    while True:
        left = left[at[left] < len(halves)]
        left = left[halves[at[left]] == all_halves[left]]
        if not len(left):
            return found
        below = keys.take(left).are_below(wanted.take(at[left]))
        found[left[below]] = True
        # another prefix with the same half of a hash: that of the key may follow
        left = left[~below]
        at[left] += 1


def _spread(begins: Positions, ends: Positions) -> Positions:
    """All places from each beginning to the end that belongs to it."""
    lengths = ends - begins
    before = np.cumsum(lengths) - lengths
    return np.repeat(begins - before, lengths) + np.arange(int(lengths.sum()))


def _latest(runs: list[Run], source: Positions, at: Positions) -> FoundRows:
    if not len(at):
        return FoundRows(KeyRows.of([], 8), runs, source, at)
    # the latest first, so that of equal keys it comes first
    order = np.argsort(-source, kind="stable")
    source, at = source[order], at[order]
    cuts = np.flatnonzero(np.diff(source)) + 1
    parts = zip(np.split(source, cuts), np.split(at, cuts), strict=True)
    keys = joined([runs[number[0]].keys.take(rows) for number, rows in parts])
    order = keys.first_of_equals(keys.order())
    return FoundRows(keys.take(order), runs, source[order], at[order])
