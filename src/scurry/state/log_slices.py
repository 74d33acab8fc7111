"""Slices of the live records, of which the compaction of a log writes one with each commit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate, compress
from typing import Any

from scurry.state.journal import Group


def fitting_within(keys: list[bytes], records: list[bytes], budget: int) -> int:
    """How many records fit into ``budget`` bytes, and one more, so that a record larger than the
    budget is written too; 0 if nothing is left of the budget."""
    if budget <= 0:
        return 0
    sizes = accumulate(len(k) + len(r) + 8 for k, r in zip(keys, records, strict=True))
    return min(len(keys), bisect_left(list(sizes), budget) + 1)


def without_dead(group: Group, judge: Callable[[Any], bool], dead: list[Group]) -> Group:
    """``group`` without the records that ``judge`` says have expired; their removals are added to
    ``dead``."""
    name, keys, records = group
    condemned = list(map(judge, records))
    removed = list(compress(keys, condemned))
    dead.append((name, removed, [None] * len(removed)))
    spared = [not gone for gone in condemned]
    return name, list(compress(keys, spared)), list(compress(records, spared))
