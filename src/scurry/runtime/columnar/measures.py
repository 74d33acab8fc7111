"""From elements to partials, and from partials to results."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.functions.window_aggregates import SCALE, Aggregate, number, rounded, value_of
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.exact import Array, limbs_of, round_limbs
from scurry.runtime.columnar.partials import Columns, objects
from scurry.runtime.failures import ElementFailed
from scurry.runtime.picking import pick

_ROWS = "n"
#: Whole numbers up to this are floats as well.
_EXACT = 1 << 53
_LONGS = range(-(1 << 63), 1 << 63)


class Measures:
    """Which partials the aggregates of one operator need, and how results are made of them."""

    def __init__(self, aggregates: Iterable[Aggregate]) -> None:
        self.aggregates = tuple(aggregates)
        self._fields: dict[str, list[Aggregate]] = {}
        for one in self.aggregates:
            if one != Aggregate("count"):
                self._fields.setdefault(_name(one), []).append(one)

    def plain(self, batch: Batch) -> bool:
        """Whether all fields are columns of plain numbers."""
        return all(_plain(batch, wanted[0].field) is not None for wanted in self._fields.values())

    def of(self, batch: Batch, kept: Longs | None = None) -> Columns:
        """The partials of the elements at ``kept``, or of all."""
        size = batch.size if kept is None else len(kept)
        found: Columns = {_ROWS: np.ones(size, dtype=np.int64)}
        for name, wanted in self._fields.items():
            values, there = self._values(batch, kept, wanted)
            found[f"n:{name}"] = there.astype(np.int64)
            kinds = {one.how for one in wanted}
            if kinds & {"sum", "avg"}:
                found |= _sums(name, values, there)
            for how in ("min", "max"):
                if how in kinds:
                    found[f"{how}:{name}"] = _extremes(how, values, there)
        return found

    def _values(
        self, batch: Batch, kept: Longs | None, wanted: list[Aggregate]
    ) -> tuple[Array, Array]:
        """The values of a field, and where there is one."""
        column = _plain(batch, wanted[0].field)
        if column is not None:
            there = np.ones(batch.size, dtype=bool)
            if column.null_count:
                there = np.asarray(column.is_valid())
                column = column.fill_null(0)
            kind = np.float64 if pa.types.is_floating(column.type) else np.int64
            numbers = column.to_numpy(zero_copy_only=False).astype(kind, copy=False)
            return (numbers, there) if kept is None else (numbers[kept], there[kept])
        return _read(batch.rows if kept is None else pick(batch.rows, kept), wanted)

    def results(self, columns: Columns) -> list[pa.Array | list[Any]]:
        """The results of the aggregates, a column each."""
        with np.errstate(invalid="ignore", over="ignore"):
            return [self._result(one, columns) for one in self.aggregates]

    def _result(self, one: Aggregate, columns: Columns) -> pa.Array | list[Any]:
        if one == Aggregate("count"):
            return pa.array(columns[_ROWS])
        name = _name(one)
        there = columns[f"n:{name}"]
        if one.how == "count":
            return pa.array(there)
        if one.how in ("min", "max"):
            return _column(columns[f"{one.how}:{name}"], there == 0)
        total = _total(name, columns)
        if one.how == "avg":
            total = _mean(total, there)
        return _column(total, there == 0)


def _name(one: Aggregate) -> str:
    return "" if one.field is None else str(one.field)


def _plain(batch: Batch, field: str | int | None) -> pa.Array | None:
    """The column of a field of plain numbers."""
    column = batch.column(field)
    if column is None:
        return None
    kind = column.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return column
    return column if pa.types.is_float32(kind) or pa.types.is_float64(kind) else None


def _read(rows: list[Any], wanted: list[Aggregate]) -> tuple[Array, Array]:
    values, row = [], None
    adds = next((one.how for one in wanted if one.how in ("sum", "avg")), None)
    try:
        for row in rows:
            value = value_of(row, wanted[0])
            if adds is not None and value is not None:
                number(value, adds)
            values.append(value)
    except Exception as failure:
        raise ElementFailed(row) from failure
    there = np.array([value is not None for value in values], dtype=bool)
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {int} and all(value is None or value in _LONGS for value in values):
        return np.array([value or 0 for value in values], dtype=np.int64), there
    if kinds == {float}:
        return np.array([value or 0.0 for value in values], dtype=np.float64), there
    return objects(values), there


def _sums(name: str, values: Array, there: Array) -> Columns:
    if values.dtype == np.int64:
        return {f"sum:{name}": values if there.all() else np.where(there, values, 0)}
    if values.dtype == object:
        floats = np.array([isinstance(value, float) for value in values.tolist()], dtype=bool)
        pairs = zip(values.tolist(), (there & ~floats).tolist(), strict=True)
        whole = objects([int(value) if use else 0 for value, use in pairs])
        numbers = np.where(floats, values, 0.0).astype(np.float64)
        return {f"sum:{name}": whole, **_float_sums(name, numbers, floats)}
    return _float_sums(name, values, there)


def _float_sums(name: str, values: Array, there: Array) -> Columns:
    finite = np.isfinite(values) & there
    found: Columns = {f"floats:{name}": there.astype(np.int64)}
    for place, limb in limbs_of(np.where(finite, values, 0.0)).items():
        found[f"limb:{name}:{place}"] = limb
    special = there & ~finite
    if special.any():
        found[f"special:{name}"] = np.where(special, values, 0.0)
    return found


def _extremes(how: str, values: Array, there: Array) -> Array:
    if values.dtype == object:
        return objects([v + 0.0 if type(v) is float else v for v in values.tolist()])
    if values.dtype == np.float64:
        return np.where(there, values + 0.0, np.nan if how == "min" else -np.inf)
    if there.all():
        return values
    bounds = np.iinfo(np.int64)
    return np.where(there, values, bounds.max if how == "min" else bounds.min)


def _total(name: str, columns: Columns) -> Array:
    """The sums of a field: floats where there were floats, else whole numbers."""
    whole, floats = columns.get(f"sum:{name}"), columns.get(f"floats:{name}")
    if floats is None or not floats.any():
        if whole is not None:
            return whole
        assert floats is not None
        return floats
    prefix = f"limb:{name}:"
    limbs = {int(n[len(prefix) :]): c for n, c in columns.items() if n.startswith(prefix)}
    total = round_limbs(limbs, len(floats))
    special = columns.get(f"special:{name}")
    if whole is not None and bool((whole != 0).any() or (floats == 0).any()):
        made: list[Any] = total.tolist()
        for at, (some, add) in enumerate(zip(floats.tolist(), whole.tolist(), strict=True)):
            if not some:
                made[at] = add
            elif add:
                units = sum(int(column[at]) << (32 * place) for place, column in limbs.items())
                made[at] = rounded(units + (add << SCALE))
        total = objects(made)
    if special is not None:
        total = np.where((special != 0) & (floats > 0), special, total)
    return total


def _mean(total: Array, there: Array) -> Array:
    if total.dtype == object or (
        total.dtype == np.int64 and len(total) and int(np.abs(total).max()) > _EXACT
    ):
        pairs = zip(total.tolist(), there.tolist(), strict=True)
        return np.array([value / n if n else math.nan for value, n in pairs])
    return np.asarray(total / np.maximum(there, 1))


def _column(values: Array, missing: Array) -> pa.Array | list[Any]:
    if values.dtype != object:
        return pa.array(values, mask=missing) if missing.any() else pa.array(values)
    pairs = zip(values.tolist(), missing.tolist(), strict=True)
    return [None if absent else value for value, absent in pairs]
