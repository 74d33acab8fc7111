"""Aggregates that count each value of a group: DISTINCT, and extremes of values that can go.

The values of a group are a set of rows with counts (:mod:`scurry.runtime.columnar.row_sets`). What
DISTINCT lets an aggregate see are the rows that take a count from 0 to 1, and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.columnar.plain_values import number_type
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.aggregates.accumulators import Accumulator, Held, Scanned
from scurry.runtime.relational.aggregates.seen_values import SeenValues
from scurry.runtime.relational.aggregates.segments import Mask, Segments


class Rows(Protocol):
    """A table of rows by key."""

    def of(self, keys: list[Any]) -> list[RowSet]:
        """The rows of each of ``keys``."""


#: Opens the table of a name for values of some types.
OpenRows = Callable[[str, list[pa.DataType]], Rows]


class CountedValues:
    """The values of ``call``'s arguments in each group, with counts."""

    def __init__(self, call: AggregateCall, kinds: list[pa.DataType], sets: Rows) -> None:
        self._call = call
        self.codec = RowCodec(pa.schema([(f"a{n}", kind) for n, kind in enumerate(kinds)]))
        self._sets = sets

    def of(self, keys: list[Any]) -> list[RowSet]:
        """The values of groups."""
        return self._sets.of(keys)

    def encoded(self, rows: Segments) -> list[bytes]:
        """The values of rows."""
        return self.codec.encode([rows.column(index) for index in self._call.arguments])

    def clear(self, keys: list[Any]) -> None:
        """Groups are gone."""
        for one in self._sets.of(keys):
            if one.rows:
                one.clear()


def count_up(held: RowSet, value: bytes) -> bool:
    """A value comes; True if it is the first of its equals."""
    entry = held.rows.get(value)
    if entry is None:
        held.put(value, 1)
        return True
    entry[1] += 1
    held.changed(entry)
    return False


def count_down(held: RowSet, value: bytes) -> bool:
    """A value goes; True if it was the last of its equals."""
    entry = held.rows.get(value)
    if entry is None:
        return False
    if entry[1] == 1:
        held.remove(value)
        return True
    entry[1] -= 1
    held.changed(entry)
    return False


def first_of_equals(
    rows: Segments, arguments: tuple[int, ...], counted: Mask | None
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The rows that are the first of their group with their arguments, of those that count."""
    codes = rows.of_segments(f"equal {arguments}", lambda: _equal_codes(rows, arguments))
    if counted is None:
        return _first_of_codes(codes)
    candidates = np.flatnonzero(counted)
    found: np.ndarray[Any, np.dtype[np.int64]] = candidates[_first_of_codes(codes[candidates])]
    return found


def _equal_codes(rows: Segments, arguments: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A number for each row: the same for rows of a group that are equal in ``arguments``."""
    codes = rows.groups[rows.segment]
    for index in arguments:
        found = rows.column(index).dictionary_encode(null_encoding="encode")
        numbers = found.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes = _numbered(codes * max(len(found.dictionary), 1) + numbers)
    return codes


def _numbered(codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers of values, in the order in which these come first."""
    indices = pa.array(codes).dictionary_encode().indices
    return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _first_of_codes(codes: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each value comes first."""
    numbers = _numbered(codes)
    highest = np.maximum.accumulate(numbers)
    return np.flatnonzero(np.diff(highest, prepend=-1) > 0)


class Distinct(Accumulator):
    """An aggregate that sees each value of a group once."""

    def __init__(
        self,
        call: AggregateCall,
        kinds: list[pa.DataType],
        inner: Accumulator,
        sets: Rows,
        retracting: bool,
        seen: Callable[[], SeenValues] | None = None,
    ) -> None:
        super().__init__(call, kinds)
        self._inner = inner
        # nested values cannot be numbered
        self._counts = retracting or any(map(pa.types.is_nested, kinds))
        self.values = CountedValues(call, kinds, sets)
        self._seen = None if seen is None or self._counts else seen()

    @property
    def fields(self) -> dict[str, Any]:
        return self._inner.fields

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        seen = self._turns(rows, counted) if self._counts else self._firsts(rows, counted)
        return self._inner.scan(rows, seen, held)

    def _firsts(self, rows: Segments, counted: Mask | None) -> Mask:
        """Where no row goes: the rows whose value the group has not had before."""
        first = first_of_equals(rows, self.call.arguments, counted)
        if self._seen is not None:
            fresh = np.zeros(rows.size, dtype=bool)
            fresh[first[self._seen.unseen(rows, first)]] = True
            return fresh
        arguments = [rows.column(index).take(pa.array(first)) for index in self.call.arguments]
        groups = rows.groups[rows.segment[first]]
        distinct = _distinct(rows)
        sets = self.values.of([rows.keys[group] for group in distinct])
        by_group = dict(zip(distinct, sets, strict=True))
        seen = np.zeros(rows.size, dtype=bool)
        encoded = self.values.codec.encode(arguments)
        for at, group, value in zip(first.tolist(), groups.tolist(), encoded, strict=True):
            mine = by_group[group]
            if value not in mine.rows:
                mine.put(value, 1)
                seen[at] = True
        return seen

    def _turns(self, rows: Segments, counted: Mask | None) -> Mask:
        """The rows that take the count of a value from 0 to 1, or back."""
        ones = rows.ones(counted).tolist()
        encoded = self.values.encoded(rows)
        groups = self.values.of([rows.keys[group] for group in _distinct(rows)])
        by_group = dict(zip(_distinct(rows), groups, strict=True))
        seen = np.zeros(rows.size, dtype=bool)
        sets = [by_group[group] for group in rows.groups.tolist()]
        for at, segment in enumerate(rows.segment.tolist()):
            if ones[at] > 0:
                seen[at] = count_up(sets[segment], encoded[at])
            elif ones[at] < 0:
                seen[at] = count_down(sets[segment], encoded[at])
        return seen


class ExtremeOfCounted(Accumulator):
    """MIN or MAX of values that can go."""

    def __init__(self, call: AggregateCall, kinds: list[pa.DataType], sets: Rows) -> None:
        super().__init__(call, kinds)
        self.values = CountedValues(call, kinds, sets)
        self._least = call.function == "MIN"

    @property
    def fields(self) -> dict[str, Any]:
        return {}

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        ones = rows.ones(counted).tolist()
        encoded = self.values.encoded(rows)
        plain = self._plain(rows.column(self.call.arguments[0]))
        distinct = _distinct(rows)
        sets = self.values.of([rows.keys[group] for group in distinct])
        by_group = dict(zip(distinct, sets, strict=True))
        before: list[Any] = []
        after: list[Any] = []
        bounds = zip(rows.starts.tolist(), rows.ends.tolist(), rows.groups.tolist(), strict=True)
        for start, end, group in bounds:
            mine = by_group[group]
            best = self._best(mine)
            before.append(best)
            for at in range(start, end):
                value = plain[at]
                if ones[at] > 0:
                    new = count_up(mine, encoded[at])
                    best = value if new and (best is None or self._wins(value, best)) else best
                elif ones[at] < 0 and count_down(mine, encoded[at]) and value == best:
                    mine.note = None
                    best = self._best(mine)
                after.append(best)
            mine.note = best
        return Scanned(self._column(before), self._column(after), {})

    def _wins(self, value: Any, best: Any) -> bool:
        return bool(value < best if self._least else value > best)

    def _best(self, mine: RowSet) -> Any:
        """The extreme of all values, None if there are none."""
        if mine.note is None and mine.rows:
            values = self._plain(self.values.codec.decode(list(mine.rows))[0])
            mine.note = min(values) if self._least else max(values)
        return mine.note if mine.rows else None

    def _plain(self, column: pa.Array) -> list[Any]:
        held = number_type(column.type)
        return list((column if held == column.type else column.cast(held)).to_pylist())

    def _column(self, values: list[Any]) -> pa.Array:
        held = number_type(self.call.type)
        made = pa.array(values, held)
        return made if held == self.call.type else made.cast(self.call.type)


def _distinct(rows: Segments) -> list[int]:
    return list(dict.fromkeys(rows.groups.tolist()))
