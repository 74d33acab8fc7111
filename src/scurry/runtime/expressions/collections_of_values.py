"""Arrays, maps and rows on columns.

Building them, taking items and counting is done on columns. The functions that look at single
elements (ARRAY_CONTAINS, ARRAY_UNION, ...) go through Python lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.common.data_types import ArrayType, MapType, RowType, VariantType
from scurry.functions.expressions import Call
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.kernels import Evaluate, constant, kernel
from scurry.runtime.expressions.lists import element_at
from scurry.runtime.expressions.python_values import apply, column_of, per_value, pyvalues
from scurry.runtime.expressions.variants import item


def _interleaved(columns: list[pa.Array]) -> pa.Array:
    """The first values of all columns, then the second ones, and so on."""
    count, width = len(columns[0]), len(columns)
    whole = pa.concat_arrays(columns)
    order = np.arange(count * width).reshape(width, count).T.reshape(-1)
    return whole.take(pa.array(order))


@kernel("ARRAY")
def _array(call: Call) -> Evaluate:
    assert isinstance(call.type, ArrayType)
    kind = call.type.element_type.arrow_type()

    def evaluate(rows: Frame, *values: Datum) -> pa.Array:
        columns = [as_array(value, rows.count).cast(kind) for value in values]
        offsets = pa.array(np.arange(rows.count + 1) * len(values), pa.int32())
        return pa.ListArray.from_arrays(offsets, _interleaved(columns))

    return evaluate


@kernel("MAP")
def _map(call: Call) -> Evaluate:
    assert isinstance(call.type, MapType)
    kind = call.type.arrow_type()

    def evaluate(rows: Frame, *values: Datum) -> pa.Array:
        columns = [pyvalues(as_array(value, rows.count)) for value in values]
        made = [dict(zip(row[::2], row[1::2], strict=True)) for row in zip(*columns, strict=True)]
        return column_of(made, kind)

    return evaluate


@kernel("ROW")
def _row(call: Call) -> Evaluate:
    assert isinstance(call.type, RowType)
    names = call.type.names
    return lambda rows, *values: pa.StructArray.from_arrays(
        [as_array(value, rows.count) for value in values], names
    )


@kernel("FIELD")
def _field(call: Call) -> Evaluate:
    at = constant(call.operands[1])
    return lambda rows, value, index: pc.struct_field(as_array(value, rows.count), [at])


@kernel("ITEM")
def _item(call: Call) -> Evaluate:
    kind = call.type.arrow_type()
    if isinstance(call.operands[0].type, MapType):
        return lambda rows, value, key: apply(lambda m, k: m.get(k), (value, key), rows, kind)
    if isinstance(call.type, VariantType):
        return lambda rows, value, key: apply(item, (value, key), rows, kind)
    at = constant(call.operands[1])
    if at is not None:
        return lambda rows, value, index: element_at(as_array(value, rows.count), at)
    return lambda rows, value, index: apply(
        lambda a, i: a[i - 1] if 1 <= i <= len(a) else None, (value, index), rows, kind
    )


@kernel("CARDINALITY")
def _cardinality(call: Call) -> Evaluate:
    if isinstance(call.operands[0].type, ArrayType):
        return lambda rows, value: pc.list_value_length(as_array(value, rows.count))
    return lambda rows, value: apply(len, (value,), rows, pa.int32())


@per_value("ELEMENT")
def _element(values: list[Any]) -> Any:
    if len(values) > 1:
        raise ValueError(f"ELEMENT needs an array of one element, got {len(values)}")
    return values[0] if values else None


def _key(value: Any) -> Any:
    """A value that can be looked up: arrays, rows and maps by their contents."""
    if isinstance(value, list):
        return tuple(map(_key, value))
    if isinstance(value, dict):
        return tuple((_key(k), _key(v)) for k, v in value.items())
    return value


per_value("ARRAY_CONCAT")(lambda *arrays: [item for array in arrays for item in array])
per_value("ARRAY_APPEND", null_in_null_out=False)(
    lambda array, item: None if array is None else [*array, item]
)
per_value("ARRAY_PREPEND", null_in_null_out=False)(
    lambda array, item: None if array is None else [item, *array]
)
per_value("ARRAY_CONTAINS", null_in_null_out=False)(
    lambda array, item: None if array is None else any(one == item for one in array)
)
per_value("ARRAY_REMOVE", null_in_null_out=False)(
    lambda array, item: None if array is None else [one for one in array if one != item]
)
per_value("ARRAY_REVERSE")(lambda array: array[::-1])


@per_value("ARRAY_DISTINCT")
def _array_distinct(values: list[Any]) -> list[Any]:
    known: dict[Any, Any] = {}
    for value in values:
        known.setdefault(_key(value), value)
    return list(known.values())


@per_value("ARRAY_EXCEPT")
def _except(values: list[Any], others: list[Any]) -> list[Any]:
    taken = {_key(other) for other in others}
    return [v for v in _array_distinct(values) if _key(v) not in taken]


@per_value("ARRAY_INTERSECT")
def _intersect(values: list[Any], others: list[Any]) -> list[Any]:
    common = {_key(other) for other in others}
    return [v for v in _array_distinct(values) if _key(v) in common]


@per_value("ARRAY_UNION")
def _union(values: list[Any], others: list[Any]) -> list[Any]:
    result: list[Any] = _array_distinct([*values, *others])
    return result


@per_value("ARRAY_JOIN")
def _join(values: list[str | None], separator: str, instead: str | None = None) -> str:
    texts = (instead if value is None else value for value in values)
    return separator.join(text for text in texts if text is not None)


def _extreme(pick: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def value(values: list[Any]) -> Any:
        known = [v for v in values if v is not None]
        return pick(known) if known else None

    return value


per_value("ARRAY_MAX")(_extreme(max))
per_value("ARRAY_MIN")(_extreme(min))


@per_value("ARRAY_POSITION")
def _position(values: list[Any], item: Any) -> int:
    return values.index(item) + 1 if item in values else 0


@per_value("ARRAY_SLICE")
def _slice(values: list[Any], start: int, end: int | None = None) -> list[Any]:
    count = len(values)
    first = start - 1 if start > 0 else max(count + start, 0) if start < 0 else 0
    last = count if end is None else end if end >= 0 else count + end + 1
    if end == 0:
        last = 1
    return values[first:last] if first < last else []


@per_value("ARRAY_SORT")
def _sort(values: list[Any], ascending: bool = True, nulls_first: bool | None = None) -> list[Any]:
    first = ascending if nulls_first is None else nulls_first
    known = sorted((v for v in values if v is not None), reverse=not ascending)
    missing = [None] * (len(values) - len(known))
    return missing + known if first else known + missing


per_value("MAP_KEYS")(lambda entries: list(entries))
per_value("MAP_VALUES")(lambda entries: list(entries.values()))
per_value("MAP_ENTRIES")(
    lambda entries: [{"key": key, "value": value} for key, value in entries.items()]
)
per_value("MAP_UNION")(lambda *maps: {key: value for one in maps for key, value in one.items()})


@per_value("MAP_FROM_ARRAYS")
def _from_arrays(keys: list[Any], values: list[Any]) -> dict[Any, Any]:
    if len(keys) != len(values):
        raise ValueError(
            f"MAP_FROM_ARRAYS needs as many keys as values, got {len(keys)} and {len(values)}"
        )
    return dict(zip(keys, values, strict=True))
