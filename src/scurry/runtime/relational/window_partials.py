"""What windows hold of SQL's aggregates, as columns that can be combined in any order.

Counts, sums and extremes are *partials* (:mod:`scurry.runtime.columnar.partials`): each row is one,
those of a key and window are combined, and so are those of several micro-batches. Sums of floats
are exact until the end, so that neither order nor cut matters. Where one of the aggregates is of
another kind (DISTINCT, lists, functions of the user's), the rows themselves are kept instead, in
their order, and aggregated when the window ends.

A table that is updated takes rows back, too (*retracting*): such a row counts as one less, and a
window whose rows are as many as those taken back has no result. Extremes then need the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import Longs
from scurry.runtime.columnar.exact import limbs_of, round_limbs
from scurry.runtime.columnar.partials import Columns, objects
from scurry.runtime.columnar.plain_values import column_of_plain, plain_values
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.kinds import Kinds
from scurry.runtime.relational.aggregates.accumulators import Avg, Sum, Sum0
from scurry.runtime.relational.aggregates.numbers import column_of, numbers, numeric
from scurry.runtime.relational.aggregates.scratch import aggregate_rows
from scurry.runtime.relational.keyed import stored_calls
from scurry.runtime.relational.relation import signs_of, true_places

_SUMS = {"SUM": Sum, "SUM0": Sum0, "$SUM0": Sum0, "AVG": Avg}
#: the partial that is the rows themselves
ROWS = "rows:"
#: what stands before a row that is kept, where rows can be taken back
_COMES, _GOES = b"\x01", b"\x00"
#: how many rows there are, less those taken back
_NET = "n:all"


def combinable(calls: Sequence[AggregateCall], retracting: bool = False) -> bool:
    """Whether all of ``calls`` can be combined from partials."""
    known = {"COUNT", *_SUMS} if retracting else {"COUNT", "MIN", "MAX", *_SUMS}
    return all(call.built_in and not call.distinct and call.function in known for call in calls)


class WindowPartials:
    """The partials of ``calls`` over rows of ``schema``."""

    def __init__(
        self, calls: Sequence[AggregateCall], schema: pa.Schema, retracting: bool = False
    ) -> None:
        self._calls = calls
        self._schema = schema
        self._retracting = retracting
        self._combinable = combinable(calls, retracting)
        self._codec = RowCodec(schema)

    @property
    def form(self) -> dict[str, Any]:
        """What is to be said of a table of these partials, see :class:`TableForm`."""
        calls = stored_calls(self._calls, self._schema) if self._combinable else {}
        return {"retracting": self._retracting, **calls}

    def of(self, columns: pa.RecordBatch, kinds: Kinds | None = None) -> Columns:
        """A partial for each row; ``kinds`` says which of them are taken back."""
        made: Columns = {}
        signs = None
        if self._retracting:
            found = signs_of(kinds)
            signs = np.ones(columns.num_rows, dtype=np.int64) if found is None else found
            made[_NET] = signs
        if not self._combinable:
            rows = self._codec.encode(columns.columns)
            if signs is not None:
                marks = [_COMES if sign > 0 else _GOES for sign in signs.tolist()]
                rows = [mark + row for mark, row in zip(marks, rows, strict=True)]
            made[ROWS] = objects([len(row).to_bytes(4, "big") + row for row in rows])
            return made
        ones = np.ones(columns.num_rows, dtype=np.int64) if signs is None else signs
        for number, call in enumerate(self._calls):
            made.update(_partials(number, call, columns, signs, ones))
        return made

    def present(self, columns: Columns) -> Longs | None:
        """Which of combined partials have a result, None if all."""
        net = columns.get(_NET)
        return None if net is None or net.all() else np.flatnonzero(net)

    def results(self, columns: Columns, groups: int) -> list[pa.Array]:
        """The results of combined partials, a column for each call."""
        if not self._combinable:
            return self._of_rows(columns[ROWS].tolist())
        return [
            _result(number, call, self._schema, columns, groups)
            for number, call in enumerate(self._calls)
        ]

    def _of_rows(self, held: list[bytes]) -> list[pa.Array]:
        """The results of rows that were kept."""
        lists = [_split(one) for one in held]
        rows = [row for one in lists for row in one]
        starts = [0, *accumulate(map(len, lists))][:-1]
        signs = None
        if self._retracting:
            signs = np.array([1 if row[:1] == _COMES else -1 for row in rows], dtype=np.int64)
            rows = [row[1:] for row in rows]
        table = pa.RecordBatch.from_arrays(self._codec.decode(rows), schema=self._schema)
        return aggregate_rows(self._calls, table, np.array(starts, dtype=np.int64), signs)


def rows_of(held: bytes, retracting: bool) -> list[bytes]:
    """The rows that are kept for a window, less those that were taken back."""
    rows: list[bytes] = []
    for row in _split(held):
        if not retracting:
            rows.append(row)
        elif row[:1] == _COMES:
            rows.append(row[1:])
        elif row[1:] in rows:
            rows.remove(row[1:])
    return rows


def _split(held: bytes) -> list[bytes]:
    rows, at = [], 0
    while at < len(held):
        end = at + 4 + int.from_bytes(held[at : at + 4], "big")
        rows.append(held[at + 4 : end])
        at = end
    return rows


def _partials(
    number: int, call: AggregateCall, columns: pa.RecordBatch, signs: Longs | None, whole: Longs
) -> Columns:
    """What each row is to an aggregate; ``whole`` is what rows count that all have a value."""
    counted = _counted(call, columns)
    every = counted is None
    ones = whole if counted is None else counted * whole
    made: Columns = {f"n:{number}": ones}
    if call.function == "COUNT":
        return made
    if counted is None:
        counted = np.ones(columns.num_rows, dtype=bool)
    column = columns.column(call.arguments[0])
    if call.function in _SUMS:
        values = numbers(column)
        if values.dtype.kind == "f":
            signed = values.astype(np.float64) * (1 if signs is None else signs)
            return {**made, **_floats(number, signed, counted)}
        added = values if every else np.where(counted, values, 0)
        return {**made, f"sum:{number}": added if signs is None else added * signs}
    how = call.function.lower()
    return {**made, f"{how}:{number}": _extremes(how, column, counted)}


def _counted(call: AggregateCall, columns: pa.RecordBatch) -> Any | None:
    """Which rows an aggregate takes; None for all of them."""
    nullable = [index for index in call.arguments if columns.column(index).null_count]
    if call.filter is None and not nullable:
        return None
    counted = np.ones(columns.num_rows, dtype=bool)
    if call.filter is not None:
        counted &= true_places(columns.column(call.filter))
    for index in nullable:
        counted &= columns.column(index).is_valid().to_numpy(zero_copy_only=False)
    return counted


def _floats(number: int, values: Any, counted: Any) -> Columns:
    finite = np.isfinite(values) & counted
    made = {
        f"limb:{number}:{place}": limb
        for place, limb in limbs_of(np.where(finite, values, 0.0)).items()
    }
    special = counted & ~finite
    if special.any():
        made[f"special:{number}"] = np.where(special, values, 0.0)
    return made


def _extremes(how: str, column: pa.Array, counted: Any) -> Any:
    if not numeric(column.type) or pa.types.is_decimal(column.type):
        plain = numbers(column).tolist() if numeric(column.type) else plain_values(column)
        pairs = zip(plain, counted.tolist(), strict=True)
        return objects([value if use else None for value, use in pairs])
    values = numbers(column)
    if values.dtype.kind == "f":
        return np.where(counted, values.astype(np.float64), np.nan if how == "min" else -np.inf)
    bounds = np.iinfo(np.int64)
    return np.where(counted, values, bounds.max if how == "min" else bounds.min)


def _result(
    number: int, call: AggregateCall, schema: pa.Schema, columns: Columns, groups: int
) -> pa.Array:
    count = columns[f"n:{number}"]
    if call.function == "COUNT":
        return pa.array(count)
    kind = schema.field(call.arguments[0]).type
    if call.function in _SUMS:
        total = _total(number, columns, groups)
        return _SUMS[call.function](call, [kind]).result(total, count)
    values, none = columns[f"{call.function.lower()}:{number}"], count == 0
    if values.dtype == object and not pa.types.is_decimal(kind):
        return column_of_plain(values.tolist(), call.type)
    return column_of(np.where(none, 0, values), call.type, none)


def _total(number: int, columns: Columns, groups: int) -> Any:
    whole = columns.get(f"sum:{number}")
    if whole is not None:
        return whole
    prefix = f"limb:{number}:"
    limbs = {int(n[len(prefix) :]): c for n, c in columns.items() if n.startswith(prefix)}
    total = round_limbs(limbs, groups)
    special = columns.get(f"special:{number}")
    return total if special is None else np.where(special != 0, special, total)
