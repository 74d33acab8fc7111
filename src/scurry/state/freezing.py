"""Commits that somebody else writes while the slot goes on.

To write what a million keys have changed takes seconds. The live engine has a copy of the process
do it: the system makes one within milliseconds, with everything that was in memory at that moment
(:mod:`scurry.engine.live.copies`). The process itself goes on with the next round. Until the copy
has written all, the local store and the runs are, for the process, what they were before; its
tables are *frozen*:

- what they held when the copy was made is not in the store yet, and they answer reads from it;
- what changes from now on is kept apart, because the next commit has to write it, and that alone.

When the commit is written, the process reads the new store, and the tables *thaw*. There is never
more than one commit under way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from scurry.state.journal import Group


class Leftovers:
    """Large collections that nobody needs any more. To let go of a million objects at once takes
    tens of milliseconds, so it is done a few at a time."""

    def __init__(self, *held: dict[Any, Any] | list[Any]) -> None:
        self._held = list(held)

    def add(self, *held: dict[Any, Any] | list[Any]) -> None:
        """Some more."""
        self._held.extend(held)

    def take(self, others: Leftovers) -> None:
        """Those of ``others``, too."""
        self._held.extend(others._held)
        others._held = []

    def shed(self, most: int) -> bool:
        """Let go of about ``most`` objects; whether any are left."""
        while self._held and most > 0:
            last = self._held[-1]
            some = min(most, len(last))
            most -= max(1, some)
            if isinstance(last, list):
                del last[len(last) - some :]
            else:
                for _ in range(some):
                    last.popitem()
            if not last:
                self._held.pop()
        return bool(self._held)


@runtime_checkable
class Freezing(Protocol):
    """A part of a slot's state whose changes somebody else may write; see the module.

    ``changes`` is asked of the copy, which was made before ``freeze``.
    """

    @property
    def freezes(self) -> bool:
        """Whether the part can be frozen as it is now. If not, its changes are encoded first, and
        are :mod:`pending <scurry.state.pending>` until they are written."""

    def changes(self) -> Iterator[Group]:
        """What changed since the last commit, by table."""

    @property
    def changed(self) -> int:
        """About how many records ``changes`` would be: the keys, where keys have several."""

    def freeze(self) -> None:
        """What has changed is written by somebody else, and is not in the store for a while."""

    def thaw(self) -> Leftovers:
        """What was frozen is in the store now; what is of no more use."""
