"""Regular joins: every row meets all rows of the other side, for ever, and rows can go again.

Both sides keep their rows as columns, by the hashes of their keys
(:mod:`scurry.runtime.columnar.row_table`). A batch of both inputs is joined as a whole: the rows
that are kept for its keys are found, the lifetimes of all rows within the batch worked out, and
from these which record meets which rows (:mod:`scurry.runtime.relational.join_sides`), and what
that sends (:mod:`scurry.runtime.relational.join_changes`). The changes are those of Flink, record
by record, however the input is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.equal_rows import distinct, small_order
from scurry.runtime.columnar.row_runs import Hashes
from scurry.runtime.columnar.row_table import TABLES_OF_ROWS, FoundRows, RowTable, passes
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.join_changes import ANTI, SEMI, Changes, JoinChanges
from scurry.runtime.relational.join_sides import Arrivals, Side, give_codes
from scurry.runtime.relational.kept_rows import (
    Output,
    in_order,
    told_apart,
)
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import take_all
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

_SIDES = "left", "right"


class JoinOperator(KeyedRelationalOperator):
    """Joins two relations on equal keys."""

    state_kind: ClassVar[str] = "columns of rows of two sides"
    two_inputs = True

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        kind: str,
        condition: Any,
        null_equal: tuple[bool, ...],
        retentions: tuple[int, int],
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._kind = kind
        self._retentions = retentions
        self._condition = condition
        self._null_equal = null_equal or (False,) * len(keys[0])
        self._counted = _counted(kind, condition, retentions)
        self._numbered = self._counted or retention_ms > 0
        self._sure = not any(self._null_equal) and all(map(told_apart, inputs, keys))

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        kind, condition, _, retentions = arguments
        return {"join": str(kind), "counted": str(_counted(kind, condition, retentions))}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store = store_of(context)
        compared = ((), ()) if self._sure else self.keys
        names = [f"{self.spec.uid}\x1f{TABLES_OF_ROWS} {side}" for side in _SIDES]
        for name, columns in zip(names, self.inputs, strict=True):
            self.describe(name, columns, numbers=self.numbers_of_rows())
        sides = zip(names, self.inputs, compared, self._retentions, strict=True)
        self._tables = [
            store.part(
                name,
                partial(RowTable, name, store, columns, keys, self._numbered, kept, self._now),
            )
            for name, columns, keys, kept in sides
        ]

    def numbers_of_rows(self) -> list[str]:
        """What the two numbers beside each row are; none if rows have no numbers."""
        return ["partners", "written"] if self._numbered else []

    def begin(self, watermark: int) -> None:
        for table in self._tables:
            table.begin()

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        arrivals = [self._arrivals(batch, ports, port) for port in (0, 1)]
        asked = distinct(np.concatenate([one.hashes[~one.alone] for one in arrivals]))
        sent: list[Output] = []
        parts = passes(self._tables, asked)
        for part in parts:
            mine = arrivals if len(parts) == 1 else [_within(one, part) for one in arrivals]
            sent += self._joined(mine, batch.size + 1)
            for table in self._tables:
                table.relax()
        if len(parts) > 1:
            alone = [one.take(np.flatnonzero(one.alone)) for one in arrivals]
            sent += self._joined(alone, batch.size + 1)
        if sent:
            whole = in_order(sent)
            self.send(batch, whole.columns, whole.places, whole.kinds)

    # --- records

    def _arrivals(self, batch: Batch, ports: Longs, port: int) -> Arrivals:
        part, places = batch.of_port(ports, port)
        if not len(places):
            schema = self.inputs[port]
            empty = [pa.array([], kind) for kind in schema.types]
            columns = pa.RecordBatch.from_arrays(empty, schema=schema)
            none = np.zeros(0, dtype=np.int64)
            return Arrivals(
                columns, none.astype(np.uint64), none, none.astype(np.int8), none.astype(bool)
            )
        columns = self.columns_of(part, port)
        kinds = part.kinds
        kinds = np.zeros(len(places), dtype=np.int8) if kinds is None else kinds
        hashes, alone = self._hashes(part, port), self._alone(columns, port)
        return Arrivals(columns, hashes, places + 1, kinds, alone)

    def _alone(self, columns: pa.RecordBatch, port: int) -> Any:
        """The records whose key has a null that equals nothing."""
        alone = np.zeros(columns.num_rows, dtype=bool)
        for index, equal in zip(self.keys[port], self._null_equal, strict=False):
            if not equal and columns.column(index).null_count:
                alone |= columns.column(index).is_null().to_numpy(zero_copy_only=False)
        return alone

    # --- joining

    def _joined(self, arrivals: Sequence[Arrivals], last: int) -> list[Output]:
        """What ``arrivals`` send; what they change is kept."""
        pairs = zip(self._find(arrivals), arrivals, strict=True)
        sides = [Side(found, mine, last) for found, mine in pairs]
        give_codes(sides, self.keys, self._sure)
        for side in sides:
            side.live(repeated=self.retention_ms > 0)
        condition = None if self._condition is None else partial(self._true, sides)
        changes = JoinChanges(sides, self._kind, condition, self._counted)
        sent = changes.run()
        for port, side in enumerate(sides):
            self._keep(port, side, changes.partners[port], changes.counted[port])
        return [self._output(sides, sent)] if sent else []

    def _find(self, arrivals: Sequence[Arrivals]) -> list[FoundRows]:
        """The rows of both sides that matter for ``arrivals``: those that can be partners of the
        other side's records, or go. Where it matters only whether there are any, one is enough."""
        comes = [distinct(one.hashes[~one.alone]) for one in arrivals]
        goes = [distinct(one.hashes[one.goes & ~one.alone]) for one in arrivals]
        if self.retention_ms:
            goes = comes
        one_sided = self._kind in (SEMI, ANTI) and not self._counted
        found: list[FoundRows] = []
        for port in (1, 0):
            asked, once = distinct(np.concatenate([comes[1 - port], goes[port]])), None
            if one_sided and port == 1:
                asked, once = goes[1], _without(np.concatenate(comes), goes[1])
            elif one_sided and self._sure:
                # where there are right rows that stay no left row turns
                steady = _without(found[0].hashes, goes[1])
                asked = distinct(np.concatenate([_without(comes[1], steady), goes[0]]))
            elif self._watches(1 - port):
                once = _without(comes[port], asked)
            found.append(self._tables[port].find(asked, once))
        return found[::-1]

    def _watches(self, port: int) -> bool:
        """Whether it matters for rows of a side that the other side gets its first row of a key."""
        return not self._counted and self._kind in (("left", "full"), ("right", "full"))[port]

    def _true(self, sides: Sequence[Side], left: Longs, right: Longs) -> Any:
        """For which pairs of rows the condition is true."""
        columns = [*take_all(sides[0].columns, left), *take_all(sides[1].columns, right)]
        schema = pa.schema([*self.inputs[0], *self.inputs[1]])
        return self.truth(self._condition, pa.RecordBatch.from_arrays(columns, schema=schema))

    def _output(self, sides: Sequence[Side], sent: Sequence[Changes]) -> Output:
        ticks = np.concatenate([one.ticks for one in sent])
        places = np.concatenate([one.ticks * 2 + one.phase for one in sent])
        order = small_order(places)
        kinds = np.concatenate([one.kinds for one in sent])[order]
        columns: list[pa.Array] = []
        count = 1 if self._kind in (SEMI, ANTI) else 2
        for side, name in list(zip(sides, _SIDES, strict=True))[:count]:
            rows = np.concatenate([getattr(one, name) for one in sent])[order]
            none = rows < 0
            index = pa.array(rows, mask=none) if none.any() else pa.array(rows)
            columns += [column.take(index) for column in side.columns]
        return Output(ticks[order] - 1, kinds, columns)

    # --- state

    def _keep(self, port: int, side: Side, partners: Longs, counted: Any) -> None:
        """Keep rows that came and are still there, and what became of those that were there."""
        table, old, last = self._tables[port], side.old, side.last
        gone = side.deaths[:old] != last
        changed = gone | counted[:old]
        if self.retention_ms:
            changed |= side.repeated
        if changed.any():
            table.change(side.found, changed, ~gone, self._numbers(partners[:old]))
        staying = side.comes & (side.deaths == last) & ~side.alone
        staying[:old] = False
        rows = np.flatnonzero(staying)
        if len(rows):
            columns = side.arrivals.columns
            if len(rows) < columns.num_rows:
                columns = columns.take(pa.array(rows - old))
            table.add(side.hashes[rows], columns, self._numbers(partners[rows]))

    def _numbers(self, partners: Longs) -> Longs:
        """The numbers of rows that are written now."""
        if not self._numbered:
            return np.zeros((0, len(partners)), dtype=np.int64)
        return np.stack([partners, np.full(len(partners), self.context.now)])


def _counted(kind: str, condition: Any, retentions: tuple[int, int]) -> bool:
    """Whether it is kept with each row how many partners it has."""
    return kind != "inner" and (condition is not None or any(retentions))


def _without(hashes: Hashes, others: Hashes) -> Hashes:
    """The distinct hashes that are none of ``others``, which are sorted too."""
    hashes = distinct(hashes)
    if not len(others):
        return hashes
    near = others[np.minimum(others.searchsorted(hashes), len(others) - 1)]
    left: Hashes = hashes[near != hashes]
    return left


def _within(arrivals: Arrivals, hashes: Hashes) -> Arrivals:
    """The records with hashes from the first to the last of ``hashes``, which are sorted."""
    mine = (arrivals.hashes >= hashes[0]) & (arrivals.hashes <= hashes[-1]) & ~arrivals.alone
    return arrivals.take(np.flatnonzero(mine))
