"""What a slot's store asks of its parts, and what it tells of a commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from scurry.state.feeds import QueryableState
from scurry.state.journal import Group
from scurry.state.local.store import Size


class Changing(Protocol):
    """A part of a slot's state that collects changes during a micro-batch: a table, a timer queue.

    At the end of the micro-batch the store calls ``changes``, and once these are written,
    ``settle``. It calls ``forget`` at the start of a micro-batch if another process has written the
    slot's state since.
    """

    def changes(self) -> Iterator[Group]:
        """What changed since the last commit, by table."""

    def settle(self) -> None:
        """The changes are written: what is in memory is now what is stored."""

    def forget(self) -> None:
        """What is stored is no longer what was read from it: drop all that is in memory."""


@runtime_checkable
class Told(Protocol):
    """A table that is told which keys are about to be handled."""

    name: str

    def prefetch(self, keys: list[Any]) -> None:
        """Bring what is stored of ``keys`` into memory, or be ready to."""


class Listed(Protocol):
    """A table whose keys can be listed."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """All keys and values, uncommitted changes included."""


class Outcome(NamedTuple):
    """What is known of a commit that a copy of the process has written, beside its head."""

    #: see :meth:`SlotStore.take_written`
    written: set[str]
    #: see :meth:`SlotStore.take_sizes`
    sizes: dict[str, Size]
    #: by table: where the search for expired records goes on, and how many were found
    sweeps: dict[str, tuple[bytes, int]]
    #: what the view has been told of queryable states, by their names
    shown: dict[str, QueryableState]
