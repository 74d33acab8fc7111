"""Built-in aggregates on columns: counts, sums, averages, extremes, first and last values.

An *accumulator* is what an aggregate holds for a group: one or more columns with a value for each
group, which start at zero. Given the rows of a batch, sorted by group, it says what the result of
each group was before, what it is after each row, and what the group holds in the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.aggregates.numbers import column_of, dtype_of, numbers
from scurry.runtime.relational.aggregates.segments import Array, Mask, Segments

#: What groups hold: columns by name.
Held = Mapping[str, Array]


class Scanned(NamedTuple):
    """What a batch does to an aggregate."""

    #: the result before the first row of each segment
    before: pa.Array
    #: the result after each row
    after: pa.Array
    #: what each segment's group holds after its last row
    final: dict[str, Array]


class Accumulator(ABC):
    """One aggregate of an operator. ``kinds`` are the types of its arguments."""

    #: whether rows whose argument is null count
    takes_nulls: bool = False

    def __init__(self, call: AggregateCall, kinds: list[pa.DataType]) -> None:
        self.call = call
        self.kinds = kinds

    @property
    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The columns that it holds for each group: numpy types by name."""

    @abstractmethod
    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        """Take the rows that are ``counted``, given what the segments' groups held before."""


class Count(Accumulator):
    """COUNT: how many rows there are, or how many whose arguments are not null."""

    @property
    def fields(self) -> dict[str, Any]:
        return {"n": np.int64}

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        after = rows.total(rows.ones(counted), held["n"])
        return Scanned(pa.array(held["n"]), pa.array(after), {"n": after[rows.last]})


class Sum(Accumulator):
    """SUM: null as long as there is no value."""

    @property
    def fields(self) -> dict[str, Any]:
        return {"sum": self._type(), "n": np.int64}

    def _type(self) -> Any:
        return dtype_of(self.kinds[0])

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        ones = rows.ones(counted)
        before = _or_zero(held["sum"])
        values = self.values(rows).astype(self._type(), copy=False)
        if self._exact(values, before):
            values, before = values.astype(np.int64), before.astype(np.int64)
        added = values if rows.signs is None and counted is None else _signed(values, ones)
        total = rows.total(added, before)
        count = rows.total(self.counts(rows, ones), held["n"])
        final = {"sum": total[rows.last], "n": count[rows.last]}
        return Scanned(self.result(before, held["n"]), self.result(total, count), final)

    def values(self, rows: Segments) -> Array:
        """What each row adds to the sum."""
        return numbers(rows.column(self.call.arguments[0]))

    def counts(self, rows: Segments, ones: Array) -> Array:
        """How many values each row adds; ``ones`` has -1 for rows that go and 0 for others that do
        not count."""
        return ones

    def _exact(self, values: Array, before: Array) -> bool:
        """Whether Python's whole numbers can be added as those of 64 bits, with room to spare."""
        if values.dtype != object:
            return False
        most = max(map(abs, values.tolist()), default=0) * len(values)
        return most + max(map(abs, before.tolist()), default=0) < 1 << 62

    def result(self, total: Array, count: Array) -> pa.Array:
        """The result, given sum and number of values."""
        return column_of(total, self.call.type, count == 0)


class Sum0(Sum):
    """SUM0: zero as long as there is no value."""

    def result(self, total: Array, count: Array) -> pa.Array:
        return column_of(total, self.call.type, np.zeros(len(count), dtype=bool))


class Avg(Sum):
    """AVG: of whole numbers a whole number, rounded towards zero; of decimals a decimal."""

    def _type(self) -> Any:
        held = dtype_of(self.kinds[0])
        return np.float64 if held == np.float32 else held

    def result(self, total: Array, count: Array) -> pa.Array:
        none = count == 0
        parts = np.where(none, 1, count)
        if pa.types.is_decimal(self.kinds[0]):
            shift = 10 ** max(0, self.call.type.scale - self.kinds[0].scale)
            pairs = zip(total.tolist(), parts.tolist(), strict=True)
            made = np.empty(len(total), dtype=object)
            made[:] = [_half_up(int(value) * shift, by) for value, by in pairs]
            return column_of(made, self.call.type, none)
        if total.dtype.kind == "f":
            return column_of(total / parts, self.call.type, none)
        return column_of(_towards_zero(total, parts), self.call.type, none)


def _towards_zero(totals: Array, parts: Array) -> Array:
    """The quotients without their fractions; the least number of 64 bits has no absolute value."""
    found: Array = totals // parts
    inexact = (found < 0) & (found * parts != totals)
    rounded: Array = found + inexact
    return rounded


class Variance(Accumulator):
    """VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP: of numbers as doubles."""

    @property
    def fields(self) -> dict[str, Any]:
        return {"n": np.int64, "sum": np.float64, "squares": np.float64}

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._scan(rows, counted, held)

    def _scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        ones = rows.ones(counted)
        moments = self.moments(rows)
        after = {name: rows.total(one * ones, held[name]) for name, one in moments.items()}
        final = {name: column[rows.last] for name, column in after.items()}
        return Scanned(self._result(held), self._result(after), final)

    def moments(self, rows: Segments) -> dict[str, Array]:
        """What each row adds to the columns that are held."""
        values = doubles(rows.column(self.call.arguments[0]))
        return {"n": np.ones(rows.size, dtype=np.int64), "sum": values, "squares": values * values}

    def _result(self, held: Held) -> pa.Array:
        count = held["n"]
        sample = self.call.function.endswith("_SAMP")
        none = count <= (1 if sample else 0)
        parts = np.where(none, 1, count - 1 if sample else count)
        mean_of = np.where(count == 0, 1, count)
        spread = (held["squares"] - held["sum"] * held["sum"] / mean_of) / parts
        if self.call.function.startswith("STDDEV"):
            spread = np.sqrt(np.maximum(spread, 0))
        if pa.types.is_decimal(self.call.type):
            spread = _units(spread, self.call.type.scale)
        return column_of(spread, self.call.type, none)


class Extreme(Accumulator):
    """MIN or MAX of numbers that never go."""

    @property
    def fields(self) -> dict[str, Any]:
        return {"value": dtype_of(self.kinds[0]), "n": np.int64}

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        values = numbers(rows.column(self.call.arguments[0]))
        least = self.call.function == "MIN"
        neutral, combine = _neutral(values.dtype, least)
        if counted is not None:
            values = np.where(counted, values, neutral)
        before = np.where(held["n"] == 0, neutral, held["value"]).astype(values.dtype, copy=False)
        if values.dtype == np.int64:
            after = rows.extremes(values, before, least)
        else:
            after = rows.running(combine, values, before)
        count = rows.total(rows.ones(counted), held["n"])
        final = {"value": after[rows.last], "n": count[rows.last]}
        return Scanned(self._result(before, held["n"]), self._result(after, count), final)

    def _result(self, values: Array, count: Array) -> pa.Array:
        none = count == 0
        return column_of(np.where(none, 0, values), self.call.type, none)


class Edge(Accumulator):
    """FIRST_VALUE or LAST_VALUE of values that never go: the first or last that is not null."""

    @property
    def fields(self) -> dict[str, Any]:
        return {"value": object}

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        column = rows.column(self.call.arguments[0])
        codec = RowCodec(pa.schema([("value", column.type)]))
        stored = held["value"]
        there = np.array([value is not None for value in stored.tolist()], dtype=bool)
        known = codec.decode(stored[there].tolist())[0] if there.any() else column.slice(0, 0)
        place = np.cumsum(there) - 1 + rows.size
        before = np.where(there, place, -1)
        number = np.arange(rows.size)
        usable = number if counted is None else np.where(counted, number, -1)
        start = before[rows.segment]
        if self.call.function == "LAST_VALUE":
            latest = np.maximum.accumulate(usable)
            chosen = np.where(latest >= rows.starts[rows.segment], latest, start)
        else:
            first = _first(usable, rows)
            reached = (first >= 0) & (first <= number)
            chosen = np.where(start >= 0, start, np.where(reached, first, -1))
        values = pa.concat_arrays([column, known])
        after = values.take(pa.array(chosen, mask=chosen < 0))
        last = after.take(pa.array(rows.last))
        kept = np.full(len(rows.starts), None, dtype=object)
        valid = last.is_valid().to_numpy(zero_copy_only=False)
        kept[valid] = codec.encode([last.drop_null()])
        return Scanned(values.take(pa.array(before, mask=before < 0)), after, {"value": kept})


def doubles(column: pa.Array) -> Array:
    """The values of a column of numbers as doubles; 0 for null."""
    return numbers(column.cast(pa.float64()))


def _neutral(kind: Any, least: bool) -> tuple[Any, np.ufunc]:
    """What changes no extreme, and what makes one of two values."""
    if kind.kind == "f":
        return np.nan, np.fmin if least else np.fmax
    combine: np.ufunc = np.minimum if least else np.maximum
    if kind.hasobject:
        return (1 if least else -1) * 10**40, combine
    bounds = np.iinfo(np.int64)
    return bounds.max if least else bounds.min, combine


def _first(usable: Array, rows: Segments) -> Array:
    """For each row the first usable row of its segment, -1 if there is none."""
    far = np.where(usable < 0, np.iinfo(np.int64).max, usable)
    least = np.minimum.reduceat(far, rows.starts)
    return np.where(least == np.iinfo(np.int64).max, -1, least)[rows.segment]


def _or_zero(column: Array) -> Array:
    """A column of objects with 0 for None."""
    if column.dtype != object:
        return column
    made = np.empty(len(column), dtype=object)
    made[:] = [value or 0 for value in column.tolist()]
    return made


def _signed(values: Array, ones: Array) -> Array:
    """``values`` with their signs, 0 for those that do not count, even if they are not finite."""
    if values.dtype.kind != "f":
        return values * ones
    return np.where(ones == 0, 0, values * ones).astype(values.dtype)


def _units(values: Array, scale: int) -> Array:
    """Floats as whole numbers of a decimal's smallest unit."""
    unit = Decimal(1).scaleb(-scale)
    made = np.empty(len(values), dtype=object)
    made[:] = [
        int(Decimal(value).quantize(unit, ROUND_HALF_UP).scaleb(scale)) for value in values.tolist()
    ]
    return made


def _half_up(value: int, by: int) -> int:
    """``value / by`` rounded to the nearest, halves away from zero."""
    whole = (2 * abs(value) + by) // (2 * by)
    return whole if value >= 0 else -whole
