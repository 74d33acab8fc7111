"""What a join sends: for every record of a batch the changes that it causes, in Flink's order.

The changes of a record are those of its own padding, then those of pairs. Where the other side is
padded, a row loses its padding just before its first pair, and gets it back just after its last has
gone. Whether a row has partners is how many rows of its key there are on the
other side; only if there is a further condition, or rows expire, it is counted row by row.

An inner join hands on the kind of the record that causes a pair; where padding is involved a pair
is inserted and deleted. A semi or anti join sends rows of the left side only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from scurry.runtime.batch import Longs
from scurry.runtime.columnar.equal_rows import small_order
from scurry.runtime.kinds import Kinds
from scurry.runtime.relational.join_sides import Side
from scurry.runtime.relational.lifetimes import Mask
from scurry.runtime.relational.relation import DELETE, INSERT

SEMI, ANTI = "semi", "anti"
#: In which order the changes of a record are sent.
_OWN, _PAIRS = range(2)
#: Says which pairs of left and right rows a condition is true for.
Condition = Callable[[Longs, Longs], Mask]


class Changes(NamedTuple):
    """Changes on their way out: rows of each side, -1 where there is none."""

    ticks: Longs
    phase: int
    kinds: Kinds
    left: Longs
    right: Longs


class Pairs(NamedTuple):
    """Pairs that the records of one side cause: rows of that side and of the other."""

    mine: Longs
    others: Longs


class JoinChanges:
    """The changes that a batch causes in a join of a ``kind``."""

    def __init__(
        self, sides: Sequence[Side], kind: str, condition: Condition | None, counted: bool
    ) -> None:
        self._sides = sides
        self._kind = kind
        self._condition = condition
        self._counted = counted
        self._one_sided = kind in (SEMI, ANTI)
        self._padded = kind in ("left", "full"), kind in ("right", "full")
        #: the sides whose rows' partners matter
        self._watched = self._padded if not self._one_sided else (True, False)
        self.sent: list[Changes] = []
        #: by side: how many partners rows have after the batch, and which of them were counted
        self.partners = [side.partners for side in sides]
        self.counted = [np.zeros(side.size, dtype=bool) for side in sides]

    def run(self) -> list[Changes]:
        """All changes."""
        turning = [self._turning_keys(port) for port in (0, 1)]
        met = [self._meet(port, turning[port]) for port in (0, 1)]
        pairs, numbers = [one[0] for one in met], [one[1] for one in met]
        for side, partners, count in zip(self._sides, self.partners, numbers, strict=True):
            partners[side.old :] = count[side.old :]
        turned = [self._turning(port, pairs[port], turning[port]) for port in (0, 1)]
        for port in (0, 1):
            if self._one_sided:
                self._exist(port, pairs[port], numbers[port], turned[port])
            else:
                self._join(port, pairs[port], numbers[port], turned[port])
        return self.sent

    # --- who meets whom

    def _turning_keys(self, port: int) -> Mask | None:
        """The records of side ``port``, as rows, that bring the first row of their key or take the
        last; None if that is not asked for or does not tell enough."""
        side = self._sides[port]
        if self._counted or not self._watched[1 - port]:
            return None
        there = side.at_records_of(side).counts
        turns = np.zeros(side.size, dtype=bool)
        comes = side.comes[side.records]
        turns[side.records] = there == np.where(comes, 0, 1)
        turns &= ~side.missing
        return turns

    def _meet(self, port: int, turning: Mask | None) -> tuple[Pairs, Longs]:
        """The pairs of the records of side ``port``, and how many partners each of them, as rows,
        meets."""
        side, other = self._sides[port], self._sides[1 - port]
        presence = other.at_records_of(side)
        count = np.zeros(side.size, dtype=np.int64)
        wanted = None
        if self._condition is None:
            count[side.records] = presence.counts
            if self._one_sided:
                # of right records only those that turn keys do something, of left ones the number
                # of partners is enough
                wanted = np.zeros(len(side.records), dtype=bool)
                if port == 1:
                    wanted[:] = True if turning is None else turning[side.records]
        found = presence.meetings(wanted)
        mine, others = side.records[found.records], other.lives[found.lives]
        if self._condition is not None:
            rows = (others, mine) if port else (mine, others)
            true = self._condition(*rows)
            mine, others = mine[true], others[true]
            count = np.bincount(mine, minlength=side.size)
        return Pairs(mine, others), count

    def _turning(self, port: int, pairs: Pairs, keys: Mask | None) -> Mask:
        """For which of the pairs of side ``port`` the row of the other side gets its first partner,
        or loses its last."""
        if not self._watched[1 - port]:
            return np.zeros(len(pairs.mine), dtype=bool)
        if keys is not None:
            turned: Mask = keys[pairs.mine]
            return turned
        side, partners = self._sides[port], self.partners[1 - port]
        order = np.lexsort((side.ticks[pairs.mine], pairs.others))
        rows, comes = pairs.others[order], side.comes[pairs.mine[order]]
        steps = np.where(comes, 1, -1)
        total = np.cumsum(steps)
        begins = np.ones(len(rows), dtype=bool)
        begins[1:] = rows[1:] != rows[:-1]
        segment = np.cumsum(begins) - 1
        before = total - steps
        before = before - before[begins][segment] + partners[rows]
        turned = np.zeros(len(rows), dtype=bool)
        turned[order] = before == np.where(comes, 0, 1)
        ends = np.ones(len(rows), dtype=bool)
        ends[:-1] = begins[1:]
        partners[rows[ends]] = (before + steps)[ends]
        self.counted[1 - port][rows] = True
        return turned

    # --- what is sent

    def _send(
        self,
        port: int,
        phase: int,
        kinds: Kinds,
        ticks: Longs,
        mine: Longs,
        others: Longs | None = None,
    ) -> None:
        """Send rows of side ``port``, beside ``others`` or nothing."""
        if not len(mine):
            return
        other = np.full(len(mine), -1) if others is None else others
        rows = (other, mine) if port else (mine, other)
        self.sent.append(Changes(ticks, phase, kinds.astype(np.int8), *rows))

    def _join(self, port: int, pairs: Pairs, count: Longs, turned: Mask) -> None:
        side = self._sides[port]
        mine_padded, other_padded = self._padded[port], self._padded[1 - port]
        if mine_padded:
            own = np.arange(side.old, side.size)
            own = own[(count[own] == 0) | side.alone[own]]
            kinds = np.where(side.comes[own], INSERT, DELETE)
            self._send(port, _OWN, kinds, side.ticks[own], own)
        mine, others = pairs
        ticks, comes, kinds = side.ticks[mine], side.comes[mine], side.kinds[mine]
        if mine_padded:
            kinds = np.where(comes, INSERT, DELETE)
        elif other_padded:
            kinds = np.where(comes, INSERT, kinds)
        if not other_padded:
            self._send(port, _PAIRS, kinds, ticks, mine, others)
            return
        # the padding of a partner goes just before the pair comes, and comes just after it goes
        padding, every = np.flatnonzero(turned), np.arange(len(mine))
        places = np.concatenate([2 * every + 1, 2 * padding + np.where(comes[padding], 0, 2)])
        order = small_order(places)
        which = np.concatenate([every, padding])[order]
        padded = order >= len(mine)
        kinds = np.where(padded, np.where(comes[which], DELETE, INSERT), kinds[which])
        mine = np.where(padded, -1, mine[which])
        self._send(port, _PAIRS, kinds, ticks[which], mine, others[which])

    def _exist(self, port: int, pairs: Pairs, count: Longs, turned: Mask) -> None:
        side, anti = self._sides[port], self._kind == ANTI
        if port == 0:
            own = np.arange(side.old, side.size)
            own = own[((count[own] == 0) | side.alone[own]) == anti]
            self._send(0, _OWN, side.kinds[own], side.ticks[own], own)
            return
        mine, others = pairs.mine[turned], pairs.others[turned]
        kinds = side.kinds[mine]
        if anti:
            kinds = np.where(side.comes[mine], DELETE, INSERT)
        self._send(0, _PAIRS, kinds, side.ticks[mine], others)
