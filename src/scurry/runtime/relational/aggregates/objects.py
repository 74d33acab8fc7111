"""Aggregates that hold a Python object for each group: lists, multisets, functions of the user's.

They are called for each row. What a group holds is stored as it is, so it should stay small.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.data_types import data_type_from_arrow
from scurry.common.errors import TypeMismatchError
from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.columnar.plain_values import column_of_plain, plain_values
from scurry.runtime.expressions.json_texts import value_json
from scurry.runtime.expressions.user_values import from_user, to_user
from scurry.runtime.relational.aggregates.accumulators import Accumulator, Held, Scanned
from scurry.runtime.relational.aggregates.segments import Mask, Segments


class ObjectAccumulator(Accumulator):
    """An aggregate that is told of rows one by one."""

    @property
    def fields(self) -> dict[str, Any]:
        return {"object": object}

    @abstractmethod
    def create(self) -> Any:
        """What a group without rows holds."""

    @abstractmethod
    def accumulate(self, held: Any, *arguments: Any) -> Any:
        """A row comes; returns what the group holds now."""

    @abstractmethod
    def retract(self, held: Any, *arguments: Any) -> Any:
        """A row goes."""

    @abstractmethod
    def value(self, held: Any) -> Any:
        """The result."""

    def arguments_of(self, column: pa.Array) -> list[Any]:
        """The values of an argument."""
        return plain_values(column)

    def results(self, values: list[Any]) -> pa.Array:
        """A column of results."""
        return column_of_plain(values, self.call.type)

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        arguments = (
            list(
                zip(*(self.arguments_of(rows.column(n)) for n in self.call.arguments), strict=True)
            )
            or [()] * rows.size
        )
        ones = rows.ones(counted).tolist()
        before, after = [], []
        final = np.full(len(rows.starts), None, dtype=object)
        bounds = zip(rows.starts.tolist(), rows.ends.tolist(), held["object"], strict=True)
        for number, (start, end, found) in enumerate(bounds):
            # a function of the user's may have no value for a group without rows
            before.append(None if found is None else self.value(found))
            current = self.create() if found is None else found
            for at in range(start, end):
                if ones[at] > 0:
                    current = self.accumulate(current, *arguments[at])
                elif ones[at] < 0:
                    current = self.retract(current, *arguments[at])
                after.append(self.value(current))
            final[number] = current
        return Scanned(self.results(before), self.results(after), {"object": final})


class Listed(ObjectAccumulator):
    """An aggregate that holds its values in order; one that goes is the first of its equals."""

    def create(self) -> list[Any]:
        return []

    def accumulate(self, held: list[Any], *arguments: Any) -> list[Any]:
        held.append(arguments[0])
        return held

    def retract(self, held: list[Any], *arguments: Any) -> list[Any]:
        if arguments[0] in held:
            held.remove(arguments[0])
        return held


class ListAgg(Listed):
    """LISTAGG: the texts in order, with a separator between them; null if there are none."""

    def value(self, held: list[str]) -> str | None:
        separator = self.call.constants[0] if self.call.constants else ","
        return separator.join(held) if held else None


class ArrayAgg(Listed):
    """ARRAY_AGG: the values in order, with nulls unless these are ignored; null if there are
    none."""

    def __init__(self, call: AggregateCall, kinds: list[pa.DataType]) -> None:
        super().__init__(call, kinds)
        self.takes_nulls = "IGNORE" not in call.constants

    def value(self, held: list[Any]) -> list[Any] | None:
        return list(held) or None


class EdgeOfList(Listed):
    """FIRST_VALUE or LAST_VALUE of values that can go."""

    def value(self, held: list[Any]) -> Any:
        if not held:
            return None
        return held[0] if self.call.function == "FIRST_VALUE" else held[-1]


class Collect(ObjectAccumulator):
    """COLLECT: the values as a multiset."""

    def create(self) -> dict[Any, int]:
        return {}

    def accumulate(self, held: dict[Any, int], *arguments: Any) -> dict[Any, int]:
        value = _hashable(arguments[0])
        held[value] = held.get(value, 0) + 1
        return held

    def retract(self, held: dict[Any, int], *arguments: Any) -> dict[Any, int]:
        value = _hashable(arguments[0])
        count = held.get(value, 0) - 1
        if count > 0:
            held[value] = count
        else:
            held.pop(value, None)
        return held

    def value(self, held: dict[Any, int]) -> list[tuple[Any, int]]:
        return list(held.items())


class ExtremeOfObjects(ObjectAccumulator):
    """MIN or MAX of texts and other values that are no numbers and never go."""

    def create(self) -> Any:
        return ()

    def scan(self, rows: Segments, counted: Mask | None, held: Held) -> Scanned:
        column = rows.column(self.call.arguments[0])
        if rows.signs is not None or not pa.types.is_string(column.type):
            return super().scan(rows, counted, held)
        found = column.dictionary_encode(null_encoding="encode")
        distinct, stored = found.dictionary.to_pylist(), held["object"].tolist()
        known = {one[0] for one in stored if one} | {text for text in distinct if text is not None}
        # the best has the highest rank, and none at all the rank 0
        ordered = [None, *sorted(known, reverse=self.call.function == "MIN")]
        ranks = {text: rank for rank, text in enumerate(ordered)}
        of_rows = np.array([ranks[text] for text in distinct], dtype=np.int64)[
            found.indices.to_numpy(zero_copy_only=False)
        ]
        if counted is not None:
            of_rows = np.where(counted, of_rows, 0)
        before = np.array([ranks[one[0]] if one else 0 for one in stored], dtype=np.int64)
        after = rows.highest(of_rows, before)
        texts = pa.array(ordered, column.type)
        final = np.full(len(rows.starts), None, dtype=object)
        for at, rank in enumerate(after[rows.last].tolist()):
            final[at] = (ordered[rank],) if rank else ()
        return Scanned(texts.take(pa.array(before)), texts.take(pa.array(after)), {"object": final})

    def accumulate(self, held: tuple[Any, ...], *arguments: Any) -> tuple[Any, ...]:
        value = arguments[0]
        if not held:
            return (value,)
        wins = value < held[0] if self.call.function == "MIN" else value > held[0]
        return (value,) if wins else held

    def retract(self, held: tuple[Any, ...], *arguments: Any) -> tuple[Any, ...]:
        raise AssertionError("values that can go are counted")

    def value(self, held: tuple[Any, ...]) -> Any:
        return held[0] if held else None


class SingleValue(ObjectAccumulator):
    """SINGLE_VALUE: the only row of a scalar query; null if there is none."""

    takes_nulls = True

    def create(self) -> list[Any]:
        return []

    def accumulate(self, held: list[Any], *arguments: Any) -> list[Any]:
        if held:
            raise TypeMismatchError(
                "a query that stands for a single value has more than one row; make it one row, "
                "with an aggregate or LIMIT 1"
            )
        return [arguments[0]]

    def retract(self, held: list[Any], *arguments: Any) -> list[Any]:
        return []

    def value(self, held: list[Any]) -> Any:
        return held[0] if held else None


class Lag(ObjectAccumulator):
    """LAG: the value some rows before. The constants are how many, 1 if left out, and what stands
    for a value where there are fewer rows."""

    takes_nulls = True

    def create(self) -> list[Any]:
        return []

    def accumulate(self, held: list[Any], *arguments: Any) -> list[Any]:
        return [*held, arguments[0]][-self._back() - 1 :]

    def retract(self, held: list[Any], *arguments: Any) -> list[Any]:
        raise AssertionError("rows of an OVER clause never go")

    def value(self, held: list[Any]) -> Any:
        if len(held) > self._back():
            return held[0]
        return self.call.constants[1] if len(self.call.constants) > 1 else None

    def _back(self) -> int:
        return int(self.call.constants[0]) if self.call.constants else 1


class JsonArray(Listed):
    """JSON_ARRAYAGG: the values as the text of a JSON array. The constants are what becomes of
    nulls, and whether the values are JSON already."""

    def __init__(self, call: AggregateCall, kinds: list[pa.DataType]) -> None:
        super().__init__(call, kinds)
        self.takes_nulls = "NULL" in call.constants

    def arguments_of(self, column: pa.Array) -> list[Any]:
        return json_texts(column, "RAW" in self.call.constants)

    def value(self, held: list[str]) -> str:
        return f"[{','.join(held)}]"


class JsonObject(ObjectAccumulator):
    """JSON_OBJECTAGG: keys and values as the text of a JSON object, in the order of the keys; of
    equal keys the last. The constants are those of :class:`JsonArray`."""

    def __init__(self, call: AggregateCall, kinds: list[pa.DataType]) -> None:
        super().__init__(call, kinds)
        self.takes_nulls = "ABSENT" not in call.constants

    def create(self) -> dict[str, list[str]]:
        return {}

    def arguments_of(self, column: pa.Array) -> list[Any]:
        return json_texts(column, False)

    def accumulate(self, held: dict[str, list[str]], *arguments: Any) -> dict[str, list[str]]:
        if arguments[0] == "null":
            raise TypeMismatchError("a key of JSON_OBJECTAGG is NULL: leave such rows out")
        held.setdefault(arguments[0], []).append(arguments[1])
        return held

    def retract(self, held: dict[str, list[str]], *arguments: Any) -> dict[str, list[str]]:
        values = held.get(arguments[0], [])
        if arguments[1] in values:
            values.remove(arguments[1])
        if not values:
            held.pop(arguments[0], None)
        return held

    def value(self, held: dict[str, list[str]]) -> str:
        pairs = (f"{key}:{values[-1]}" for key, values in sorted(held.items(), key=_text_of_key))
        return "{" + ",".join(pairs) + "}"


def _text_of_key(entry: tuple[str, list[str]]) -> str:
    """The key of an entry, without its quotes."""
    return entry[0][1:-1]


class Percentile(ObjectAccumulator):
    """PERCENTILE: the value below which a share of the values lies, between two of them in
    proportion; for several shares several values. A value may count several times."""

    def create(self) -> list[Any]:
        return [{}, None]

    def accumulate(self, held: list[Any], *arguments: Any) -> list[Any]:
        return self._counted(held, 1, *arguments)

    def retract(self, held: list[Any], *arguments: Any) -> list[Any]:
        return self._counted(held, -1, *arguments)

    def _counted(
        self, held: list[Any], sign: int, value: Any, shares: Any, times: int = 1
    ) -> list[Any]:
        counts, number = held[0], float(value)
        counts[number] = counts.get(number, 0) + sign * times
        if not counts[number]:
            del counts[number]
        held[1] = shares
        return held

    def value(self, held: list[Any]) -> Any:
        counts, shares = held
        if not counts:
            return None
        values = sorted(counts)
        until = np.cumsum([counts[value] for value in values])
        if isinstance(shares, list):
            return [_between(values, until, float(share)) for share in shares]
        return _between(values, until, float(shares))


def _between(values: list[float], until: Any, share: float) -> float:
    """The value at a share of the way through sorted values; ``until`` is how many there are up to
    each."""
    if not 0 <= share <= 1:
        raise TypeMismatchError(f"PERCENTILE needs a percentage between 0 and 1, got {share}")
    place = (int(until[-1]) - 1) * share
    low, high = math.floor(place), math.ceil(place)
    lower = values[int(np.searchsorted(until, low + 1))]
    upper = values[int(np.searchsorted(until, high + 1))]
    return lower if lower == upper else (high - place) * lower + (place - low) * upper


class UserAggregate(ObjectAccumulator):
    """An aggregate function of the user's."""

    takes_nulls = True

    def create(self) -> Any:
        return self.call.function.create_accumulator()

    def accumulate(self, held: Any, *arguments: Any) -> Any:
        self.call.function.accumulate(held, *arguments)
        return held

    def retract(self, held: Any, *arguments: Any) -> Any:
        self.call.function.retract(held, *arguments)
        return held

    def value(self, held: Any) -> Any:
        return self.call.function.get_value(held)

    def arguments_of(self, column: pa.Array) -> list[Any]:
        return to_user(column, data_type_from_arrow(column.type))

    def results(self, values: list[Any]) -> pa.Array:
        name = type(self.call.function).__name__
        return from_user(values, data_type_from_arrow(self.call.type), name)


def json_texts(column: pa.Array, raw: bool = False) -> list[str]:
    """The values of a column as JSON, which they may be already."""
    if raw:
        return ["null" if value is None else value for value in column.to_pylist()]
    kind = data_type_from_arrow(column.type)
    return [value_json(value, kind) for value in column.to_pylist()]


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return tuple(value.items()) if isinstance(value, dict) else value
