"""Records of different schemas in one order: batches stay as they are, an index merges them.

Where two inputs meet, or streams that are united, records have one order and several schemas, so
that one set of columns cannot hold them. Making rows of all of them would be dear for an operator
that works on columns, and is no help to it: it looks at one input at a time. So each schema keeps
its columns, as a *piece*, and the order is an index into the pieces put one behind the other. Who
wants rows gets them in order; who takes the records of one schema gets columns.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from scurry.runtime.picking import Longs, pick

if TYPE_CHECKING:
    from scurry.runtime.batch import Batch


class Parts:
    """The records of ``pieces`` in the order of ``index``, which counts through all pieces."""

    __slots__ = ("_ends", "_index", "_pieces")

    def __init__(self, pieces: tuple[Batch, ...], index: Longs) -> None:
        self._pieces = pieces
        self._ends = np.cumsum([piece.size for piece in pieces])
        self._index = index

    @property
    def size(self) -> int:
        """How many records there are."""
        return len(self._index)

    def rows(self) -> list[Any]:
        """The records as Python objects."""
        index = self._index
        if 2 * len(index) > int(self._ends[-1]):
            return pick(list(chain.from_iterable(piece.rows for piece in self._pieces)), index)
        # a slice of something large: only what is in it becomes rows
        owners = self._owners(index)
        by_piece = np.argsort(owners, kind="stable")
        found: list[Any] = []
        for number in np.unique(owners).tolist():
            places = index[by_piece[owners[by_piece] == number]] - self._start(number)
            found.extend(self._pieces[number].take(places, compact=True).rows)
        back = np.empty(len(index), dtype=np.int64)
        back[by_piece] = np.arange(len(index))
        return pick(found, back)

    def rows_fixed(self) -> bool:
        """Whether the rows cannot change."""
        return all(piece.rows_fixed() for piece in self._pieces)

    def take(self, wanted: Longs) -> Parts:
        """The records at ``wanted``."""
        return Parts(self._pieces, self._index[wanted])

    def only_piece(self) -> tuple[Batch, Longs] | None:
        """The piece that all records are in, and their places in it, if it is only one."""
        if not len(self._index):
            return None
        owners = self._owners(self._index)
        number = int(owners[0])
        if not (owners == number).all():
            return None
        return self._pieces[number], self._index - self._start(number)

    def _owners(self, index: Longs) -> Longs:
        return np.searchsorted(self._ends, index, side="right")

    def _start(self, number: int) -> int:
        return int(self._ends[number]) - self._pieces[number].size
