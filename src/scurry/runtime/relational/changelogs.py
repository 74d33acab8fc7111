"""Kinds of changes as values of a column, and back: TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scurry.common.errors import ProgramError
from scurry.common.types import RowKind
from scurry.runtime.batch import Batch
from scurry.runtime.relational.relation import INSERT, RelationalOperator, take_all
from scurry.runtime.specs import OperatorSpec


class ToChangelogOperator(RelationalOperator):
    """Sends each change as an insertion, with the code of its kind in front."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        codes: tuple[str | None, ...],
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._codes = pa.array(codes, pa.string())
        self._known = np.array([code is not None for code in codes])

    def process(self, batch: Batch, port: int = 0) -> None:
        kinds = batch.kinds
        if kinds is None:
            kinds = np.full(batch.size, INSERT, dtype=np.int8)
        places = np.flatnonzero(self._known[kinds])
        if not len(places):
            return
        codes = self._codes.take(pa.array(kinds[places]))
        self.send(batch, [codes, *take_all(self.columns_of(batch).columns, places)], places)


class FromChangelogOperator(RelationalOperator):
    """Sends each row as a change, of the kind that the code in a column stands for."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        code: int,
        kinds: tuple[tuple[str, int], ...],
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._code = code
        self._codes = pa.array([one for one, _ in kinds], pa.string())
        self._kinds = np.array([kind for _, kind in kinds], dtype=np.int8)

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        codes = columns.column(self._code)
        found = pa.compute.index_in(codes, value_set=self._codes)
        if found.null_count:
            wrong = codes[pa.compute.index(found.is_null(), True).as_py()].as_py()
            raise self.failed(self._unknown(columns.schema.names[self._code], wrong), wrong)
        places = found.to_numpy(zero_copy_only=False)
        self.send(batch, columns.columns, None, self._kinds[places])

    def _unknown(self, column: str, code: str | None) -> ProgramError:
        known = ", ".join(
            f"{one} for {RowKind(kind).name}"
            for one, kind in zip(self._codes.to_pylist(), self._kinds.tolist(), strict=True)
        )
        return ProgramError(
            f"FROM_CHANGELOG: the column {column} has {code!r}, which stands for no kind of "
            f"change. It knows {known}. Leave such rows out with WHERE, or name the code in "
            "op_mapping."
        )
