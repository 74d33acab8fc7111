"""Regular joins: every row meets all rows of the other side, for ever, and rows can go again.

Both sides keep their rows by key, with how often each is there. A side that is padded with nulls
while it has no partner also keeps how many partners each row has: padding is sent when the number
is 0, and taken back when it is no longer. The order and the kinds of changes are Flink's: an inner
join hands on the kind of the row that caused a pair, where padding is involved a pair is inserted
and deleted.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet, collector_paused
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.pairs import true_pairs
from scurry.runtime.relational.relation import DELETE, INSERT, UPDATE_AFTER
from scurry.runtime.relational.rows_out import RowsOut, null_row
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

SEMI, ANTI = "semi", "anti"
#: Where an entry has its count, and the number of partners.
COUNT, PARTNERS = 1, 2


class Sides(NamedTuple):
    """The rows of a batch of two inputs, in order."""

    ports: list[int]
    rows: list[bytes]
    #: the number of the row's key, -1 if its key equals nothing
    codes: list[int]
    kinds: list[int]
    keys: list[Any]


class JoinOperator(KeyedRelationalOperator):
    """Joins two relations on equal keys."""

    state_kind: ClassVar[str] = "rows of two sides"
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
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._kind = kind
        self._condition = condition
        self._null_equal = null_equal
        self._padded = (kind in ("left", "full"), kind in ("right", "full"))
        self._codecs = [RowCodec(one) for one in inputs]

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"join": str(arguments[0])}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._nulls = [null_row(codec) for codec in self._codecs]
        self._sets = self.rows_of_keys("left"), self.rows_of_keys("right")

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        one_sided = self._kind in (SEMI, ANTI)
        out = RowsOut(self._codecs[:1] if one_sided else self._codecs)
        with collector_paused():
            self._process(batch, ports, one_sided, out)
        made = out.batch(batch, self.columns, self.codec)
        if made is not None:
            self.emit(made)

    def _process(self, batch: Batch, ports: Longs, one_sided: bool, out: RowsOut) -> None:
        sides = self._sides(batch, ports)
        matched = None if self._condition is None else self._matches(sides)
        if one_sided:
            self._check_existence(sides, matched, out)
        else:
            self._join(sides, matched, out)

    # --- rows and keys

    def _sides(self, batch: Batch, ports: Longs) -> Sides:
        rows: list[bytes] = [b""] * batch.size
        codes = np.zeros(batch.size, dtype=np.int64)
        numbers: dict[Any, int] = {}
        for port in (0, 1):
            part, places = batch.of_port(ports, port)
            if not len(places):
                continue
            columns = self.columns_of(part, port)
            for place, row in zip(
                places.tolist(), self._codecs[port].encode(columns.columns), strict=True
            ):
                rows[place] = row
            keys = batch_keys(part, self.picked[port])
            mine = [numbers.setdefault(key, len(numbers)) for key in keys.keys]
            mapped = np.array(mine, dtype=np.int64)[keys.codes]
            lonely = self._without_equal(columns, port)
            codes[places] = mapped if lonely is None else np.where(lonely, -1, mapped)
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        return Sides(ports.tolist(), rows, codes.tolist(), listed, list(numbers))

    def _without_equal(self, columns: pa.RecordBatch, port: int) -> Any:
        """The rows whose key has a null that equals nothing, None if there are none."""
        found = None
        for number, index in enumerate(self.keys[port]):
            column = columns.column(index)
            equal = number < len(self._null_equal) and self._null_equal[number]
            if column.null_count and not equal:
                null = column.is_null().to_numpy(zero_copy_only=False)
                found = null if found is None else found | null
        return found

    def _held(self, sides: Sides) -> tuple[list[RowSet], list[RowSet]]:
        return self._sets[0].of(sides.keys), self._sets[1].of(sides.keys)

    def _matches(self, sides: Sides) -> set[tuple[bytes, bytes]]:
        """The pairs for which the condition is true, of all that can meet in this batch."""
        held = self._held(sides)
        fresh: list[dict[int, dict[bytes, None]]] = [{}, {}]
        for port, row, code in zip(sides.ports, sides.rows, sides.codes, strict=True):
            if code >= 0:
                fresh[port].setdefault(code, {})[row] = None
        candidates: dict[tuple[bytes, bytes], None] = {}
        for code in {*fresh[0], *fresh[1]}:
            new = [side.get(code, {}) for side in fresh]
            every = [{**dict.fromkeys(held[port][code].rows), **new[port]} for port in (0, 1)]
            candidates.update(dict.fromkeys((left, right) for left in new[0] for right in every[1]))
            candidates.update(dict.fromkeys((left, right) for left in every[0] for right in new[1]))
        return true_pairs(self, self._condition, self._codecs, list(candidates))

    # --- pairs

    def _join(self, sides: Sides, matched: set[tuple[bytes, bytes]] | None, out: RowsOut) -> None:
        held = self._held(sides)
        lists, kinds, causes = out.parts, out.kinds, out.causes
        padded = self._padded
        for at, (port, row, code, kind) in enumerate(
            zip(sides.ports, sides.rows, sides.codes, sides.kinds, strict=True)
        ):
            comes = kind in (INSERT, UPDATE_AFTER)
            mine_padded, other_padded = padded[port], padded[1 - port]
            if code < 0:
                if mine_padded:
                    self._pad(out, port, INSERT if comes else DELETE, at, row)
                continue
            mine, other = held[port][code], held[1 - port][code]
            partners = other.rows
            if matched is not None:
                partners = {
                    that: entry
                    for that, entry in partners.items()
                    if ((that, row) if port else (row, that)) in matched
                }
            shown = (INSERT if comes else DELETE) if mine_padded or other_padded else kind
            if not comes:
                _take_back(mine, row)
            if not partners and mine_padded:
                self._pad(out, port, shown, at, row)
            if comes and other_padded:
                self._meet(out, other, partners, 1 - port, at)
            count = 0
            for that, entry in partners.items():
                times = entry[COUNT]
                count += times
                for _ in range(times):
                    lists[port].append(row)
                    lists[1 - port].append(that)
                    kinds.append(shown if comes or not other_padded or mine_padded else kind)
                    causes.append(at)
            if comes:
                _add(mine, row, count)
            elif other_padded:
                self._part(out, other, partners, 1 - port, at)

    def _pad(self, out: RowsOut, port: int, kind: int, cause: int, row: bytes) -> None:
        """A row of side ``port`` beside nulls."""
        out.add(kind, cause, *((row, self._nulls[1]) if port == 0 else (self._nulls[0], row)))

    def _meet(self, out: RowsOut, held: RowSet, rows: Any, port: int, cause: int) -> None:
        """Rows of a padded side get a partner."""
        for row, entry in rows.items():
            if entry[PARTNERS] == 0:
                for _ in range(entry[COUNT]):
                    self._pad(out, port, DELETE, cause, row)
            entry[PARTNERS] += 1
            held.changed(entry)

    def _part(self, out: RowsOut, held: RowSet, rows: Any, port: int, cause: int) -> None:
        """Rows of a padded side lose a partner."""
        for row, entry in rows.items():
            entry[PARTNERS] -= 1
            held.changed(entry)
            if entry[PARTNERS] == 0:
                for _ in range(entry[COUNT]):
                    self._pad(out, port, INSERT, cause, row)

    # --- semi and anti joins

    def _check_existence(
        self, sides: Sides, matched: set[tuple[bytes, bytes]] | None, out: RowsOut
    ) -> None:
        held = self._held(sides)
        anti = self._kind == ANTI
        for at, (port, row, code, kind) in enumerate(
            zip(sides.ports, sides.rows, sides.codes, sides.kinds, strict=True)
        ):
            comes = kind in (INSERT, UPDATE_AFTER)
            if code < 0:
                if port == 0 and anti:
                    out.add(kind, at, row)
                continue
            mine, other = held[port][code], held[1 - port][code]
            partners = other.rows
            if matched is not None:
                partners = {
                    that: entry
                    for that, entry in partners.items()
                    if ((that, row) if port else (row, that)) in matched
                }
            if port == 0:
                count = sum(entry[COUNT] for entry in partners.values())
                if (count == 0) == anti:
                    out.add(kind, at, row)
                if comes:
                    _add(mine, row, count)
                else:
                    _take_back(mine, row)
                continue
            if comes:
                _add(mine, row, 0)
            else:
                _take_back(mine, row)
            self._existence_changes(out, other, partners, at, kind, comes, anti)

    def _existence_changes(
        self,
        out: RowsOut,
        held: RowSet,
        rows: Any,
        cause: int,
        kind: int,
        comes: bool,
        anti: bool,
    ) -> None:
        """Left rows get or lose a partner."""
        for row, entry in rows.items():
            turns = entry[PARTNERS] == (0 if comes else 1)
            entry[PARTNERS] += 1 if comes else -1
            held.changed(entry)
            if turns:
                shown = kind if not anti else DELETE if comes else INSERT
                for _ in range(entry[COUNT]):
                    out.add(shown, cause, row)


def _add(held: RowSet, row: bytes, partners: int) -> None:
    entry = held.rows.get(row)
    if entry is None:
        held.put(row, 1, partners)
    else:
        entry[COUNT] += 1
        entry[PARTNERS] = partners
        held.changed(entry)


def _take_back(held: RowSet, row: bytes) -> None:
    """A row goes; one that is not there is ignored."""
    entry = held.rows.get(row)
    if entry is None:
        return
    if entry[COUNT] == 1:
        held.remove(row)
    else:
        entry[COUNT] -= 1
        held.changed(entry)
