"""Top-N of rows that only come: of each key the first N rows by an order.

A key keeps no more than N rows. The rows that are kept and those of a batch are put in order
together, once; from there on they are numbers (:mod:`scurry.runtime.relational.top_entries`), and
what is sent becomes columns at once.

Changes are Flink's: with row numbers, or where the range does not begin at 1, each number that has
another row now is an update; without, the row that drops out is deleted and the one that comes in
is inserted, or, if there is one row only, updated.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.columnar.equal_rows import small_order
from scurry.runtime.relational.kept_rows import KeptRowsOperator, Output, RowsOfKeys
from scurry.runtime.relational.order_codes import order_codes
from scurry.runtime.relational.relation import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    take_all,
)
from scurry.runtime.relational.sort_keys import order_words
from scurry.runtime.relational.top_entries import NONE, Entries, Tops
from scurry.runtime.specs import OperatorSpec


class AppendedTopOperator(KeptRowsOperator):
    """The rows of each key from number ``first`` to number ``last``."""

    state_kind: ClassVar[str] = "first rows of each key"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        order: tuple[SortKey, ...],
        first: int,
        last: int,
        number: bool,
        update_before: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._order = order
        self._first, self._last = first, last
        self._number = number
        self._numbered = number or first > 1
        self._update_before = update_before

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        order, first, last = arguments[:3]
        return {"order": order_words(order), "kept rows": str(last), "first": str(first)}

    def changes(self, rows: RowsOfKeys) -> Output | None:
        # equal rows are in the order in which they came, as their numbers are
        by_rank = small_order(order_codes(rows.columns, self._order))
        ranks = np.empty_like(by_rank)
        ranks[by_rank] = np.arange(rows.size)
        tops = Tops(len(rows.starts), self._first, self._last, self._numbered)
        tops.hold(ranks[: rows.held], rows.codes[: rows.held])
        new = rows.order[rows.order >= rows.held]
        entries = tops.take(ranks[new], rows.codes[new])
        kept = np.zeros(rows.size, dtype=bool)
        kept[by_rank[tops.ranks]] = True
        self.keep(rows, kept)
        return self._output(rows, by_rank, entries) if len(entries.causes) else None

    def _output(self, rows: RowsOfKeys, by_rank: np.ndarray[Any, Any], entries: Entries) -> Output:
        """Entries as changes: the row that was there, if it is sent, and the row that is."""
        places = by_rank[entries.causes] - rows.held
        order = small_order(places)
        old, new = entries.old[order], entries.new[order]
        replaces = old != NONE
        deletes = not self._numbered and self._last > 1
        both = replaces & (self._update_before or deletes)
        at = np.repeat(np.arange(len(order)), 1 + both)
        before = both[at]
        before[1:] &= at[1:] != at[:-1]
        came = INSERT if deletes else np.where(replaces[at], UPDATE_AFTER, INSERT)
        kinds = np.where(before, DELETE if deletes else UPDATE_BEFORE, came).astype(np.int8)
        columns = take_all(rows.columns, by_rank[np.where(before, old[at], new[at])])
        if self._number:
            columns.append(pa.array(entries.places[order][at] + 1))
        return Output(places[order][at], kinds, columns)
