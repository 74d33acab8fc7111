"""What reading has told of the keys of a table, so that writing need not look for them again.

A commit has to know how many of the keys that it writes exist already. Whoever changes an entry of
a map has, as a rule, read what lies below the key before. Then every key there is known: those that
were found exist, and no others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scurry.state.runs.key_rows import Hashes, KeyRows, Positions, joined, upper_halves


class Seen(NamedTuple):
    """What is known of the keys below prefixes that were looked for together."""

    #: upper halves of hashes, sorted: all keys with one of them that exist are known
    halves: Hashes
    #: those keys, in order
    keys: KeyRows
    #: where among them those are whose records were read, in the order of the prefixes
    read: Positions


def recalled(parts: Sequence[Seen], keys: list[bytes]) -> KeyRows | None:
    """``keys`` as rows, if they are just those whose records were read, in that order."""
    if not parts or sum(len(part.read) for part in parts) != len(keys):
        return None
    rows = joined([part.keys.take(part.read) for part in parts])
    return rows if rows.keys() == keys else None


def existing(parts: Sequence[Seen], wanted: KeyRows) -> tuple[int, KeyRows]:
    """How many of the sorted keys ``wanted`` are known to exist, and those of which nothing is
    known."""
    keys = joined([part.keys for part in parts])
    _, there = keys.take(keys.order()).find(wanted)
    rest = wanted.take(~there)
    halves, mine = np.sort(np.concatenate([p.halves for p in parts])), upper_halves(rest.hashes)
    at = np.minimum(halves.searchsorted(mine), len(halves) - 1)
    return int(there.sum()), rest.take(halves[at] != mine)
