"""How much a round may read, so that what it makes fits into memory; and how much that holds up.

What tasks send each other in a round waits in memory until all of it is there. Nobody knows before
a round what its records will make: a function may make thousands of one. So rounds begin small, and
each may read at most twice as many records as those before it have read. What a record makes in
bytes is taken from the last rounds, a round of large ones being believed at once and forgotten
slowly. The sources are read as much more slowly.
"""

from __future__ import annotations

#: Bytes that tasks may send each other in a round.
_MOST_BYTES = 32 << 20
#: Records of a source that any round may read, as far as is known.
_FIRST = 500
#: The share of what was known that is forgotten with every round.
_FORGOTTEN = 0.05


class Flow:
    """Says how many records the next round may read from each of ``sources`` sources, of which none
    may give more than ``most``."""

    def __init__(self, most: int, sources: int) -> None:
        self._most = most
        self._sources = max(1, sources)
        #: records that rounds read, and bytes that one of them makes
        self._read = self._size = 0.0
        self.limit = min(most, _FIRST)
        #: rounds that are over
        self.rounds = 0
        self._full_since: float | None = None
        self._full = 0.0
        self._began: float | None = None

    def after(self, read: int, sent: int) -> None:
        """A round is over that has read so many records, and for which tasks have sent each other
        so many bytes."""
        self.rounds += 1
        if not read:
            return
        self._read = max(read, self._read * (1 - _FORGOTTEN))
        self._size = max(sent / read, self._size * (1 - _FORGOTTEN))
        fitting = int(_MOST_BYTES / (self._size * self._sources)) if self._size else self._most
        wanted = max(_FIRST, int(2 * self._read))
        self.limit = max(1, min(self._most, wanted, fitting))

    def look(self, full: bool, now: float) -> None:
        """Whether sources wait at this moment, because as many rounds are under way as may be."""
        if self._began is None:
            self._began = now
        if self._full_since is not None:
            self._full += now - self._full_since
        self._full_since = now if full else None

    def held_up(self, now: float) -> float:
        """The share of the time since this was last asked for which sources have waited."""
        self.look(self._full_since is not None, now)
        assert self._began is not None
        share = self._full / max(now - self._began, 1e-9)
        self._full, self._began = 0.0, now
        return min(1.0, share)
