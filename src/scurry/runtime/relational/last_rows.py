"""The changelog behind upserts and deletions by key."""

from __future__ import annotations

from typing import Any

import numpy as np

from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.relational.best_rows import RowOfKeyOperator
from scurry.runtime.relational.relation import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from scurry.runtime.relational.rows_out import RowsOut


class ChangelogNormalizeOperator(RowOfKeyOperator):
    """Makes a whole changelog of upserts and deletions by key."""

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        places = self._state.positions(keys.keys)
        rows = self._codec.encode(columns.columns)
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        held: list[Any] = self._state.column("row")[places].tolist()
        out = RowsOut([self._codec])
        changed: set[int] = set()
        for at, (code, row, kind) in enumerate(zip(keys.codes.tolist(), rows, listed, strict=True)):
            old = held[code]
            if kind in (INSERT, UPDATE_AFTER):
                changed.add(code)
                if old == row and not self.retention_ms:
                    continue
                self._replaced(out, at, old, row)
                held[code] = row
            elif old is not None:
                out.add(DELETE, at, old)
                held[code] = None
                changed.add(code)
        self._keep(places, held, changed)
        made = out.batch(batch, self.columns, self.codec)
        if made is not None:
            self.emit(made)

    def _keep(self, places: Any, held: list[Any], changed: set[int]) -> None:
        there = np.array([c for c in sorted(changed) if held[c] is not None], dtype=np.int64)
        gone = np.array([c for c in sorted(changed) if held[c] is None], dtype=np.int64)
        for code in there.tolist():
            self._state.column("row")[places[code]] = held[code]
        self._state.touch(places[there])
        self._state.clear(places[gone])

    def _replaced(self, out: RowsOut, at: int, old: bytes | None, new: bytes) -> None:
        """Send that ``new`` takes the place of ``old``, which may be none."""
        if old is None:
            out.add(INSERT, at, new)
            return
        if self._update_before:
            out.add(UPDATE_BEFORE, at, old)
        out.add(UPDATE_AFTER, at, new)
