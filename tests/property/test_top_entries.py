"""The first rows of keys: what a list that is kept sorted gives, for all keys at once."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scurry.runtime.relational.top_entries import NONE, Tops

#: Enough keys for rounds, each with the number of ranks it has and of those that come.
keys = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), min_size=1, max_size=40)


def expected(
    held: dict[int, list[int]], come: list[tuple[int, int]], first: int, last: int, moves: bool
) -> tuple[list[Any], list[int]]:
    sent: list[Any] = []
    for key, rank in come:
        top = held[key]
        before = top.copy()
        insort(top, rank)
        dropped = top[last:]
        del top[last:]
        if rank not in top:
            continue
        if not moves:
            sent.append((rank, 0, dropped[0] if dropped else NONE, rank))
            continue
        before += [NONE] * (last - len(before))
        for place, now in enumerate(top):
            if place >= first - 1 and now != before[place]:
                sent.append((rank, place, before[place], now))
    return sent, sorted(rank for top in held.values() for rank in top)


@given(keys, st.integers(1, 4), st.integers(0, 40), st.booleans(), st.randoms())
def test_rows_come(
    shape: list[tuple[int, int]], first: int, more: int, moves: bool, random: Any
) -> None:
    first, last = (first, first + more) if moves else (1, 1 + more)
    free = list(range(sum(map(sum, shape))))
    random.shuffle(free)
    held: dict[int, list[int]] = defaultdict(list)
    come: list[tuple[int, int]] = []
    for key, (there, coming) in enumerate(shape):
        held[key] = sorted(free.pop() for _ in range(min(there, last)))
        come += [(key, free.pop()) for _ in range(coming)]
    tops = Tops(len(shape), first, last, moves)
    known = [(rank, key) for key, ranks in held.items() for rank in ranks]
    tops.hold(*np.array(known, dtype=np.int64).reshape(-1, 2).T)
    new = np.array(come, dtype=np.int64).reshape(-1, 2)
    found = tops.take(new[:, 1], new[:, 0])
    sent, left = expected(held, come, first, last, moves)
    rows = np.stack(found).T.tolist()
    by_cause = {rank: at for at, (_, rank) in enumerate(come)}
    assert sorted(map(tuple, rows), key=lambda row: by_cause[row[0]]) == sent
    assert np.sort(tops.ranks).tolist() == left
