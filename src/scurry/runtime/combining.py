"""What routers know of combining: records of one operator's input may travel as less than they are.

Some operators do not need each record, only what the records of a key come to, such as sums. A
*combiner* on the wire to such an operator works that out where the records are, before they travel;
what it makes is handed to the operator's ``process_combined`` at the start of the micro-batch. The
operator that asks for a combiner knows what is in those bytes. Routers do not: they ask the
combiner, send each slot its part, and count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.key_columns import KeyColumn


class Combined(Protocol):
    """What a combiner made of some records: rows, each with a key."""

    @property
    def keys(self) -> Longs | list[Any]:
        """The key of each row."""

    @property
    def size(self) -> int:
        """How many rows there are."""

    @property
    def records(self) -> int:
        """How many records they stand for."""

    def by_slot(self, chosen: Longs) -> Iterator[tuple[int, Combined]]:
        """The rows for each slot, given the slot of each row."""


class Combiner(Protocol):
    """Combines what is on its way to one operator. It is pickled and sent to the workers."""

    def split(self, batch: Batch, keys: KeyColumn | None) -> tuple[Combined | None, Batch]:
        """What records come to, and those that travel as they are. ``keys`` are the records' keys,
        None if they are not to be had as a column."""

    def pack(self, parts: Sequence[Any]) -> bytes:
        """What this combiner made, for one slot, as the bytes that the operator is given."""
