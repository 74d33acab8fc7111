"""SESSION without an aggregation: the rows of each session, with its bounds, when it has ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.relation import INSERT, timestamps
from scurry.runtime.relational.session_aggregate import NUMBER, SessionAggregateOperator
from scurry.runtime.specs import OperatorSpec


class SessionRowsOperator(SessionAggregateOperator):
    """Rows with the session that they belong to."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        time: int | None,
        gap: int,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms, (), time, gap, ())

    def _end(self, held: RowSet, session: list[Any], start: int, end: int, cause: int) -> None:
        in_order = [row for row, _ in sorted(session, key=lambda item: item[1][NUMBER])]
        for row in in_order:
            self._forget(held, row)
        made = self._rows.decode([row[8:] for row in in_order])
        for values in self.shown_bounds(np.array([start]), np.array([end])).values():
            kind = self.columns.field(len(made)).type
            made.append(timestamps(np.repeat(values, len(in_order)), kind))
        for row in self._made.encode(made):
            self.out.add(INSERT, cause, row)
