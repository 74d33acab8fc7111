"""Functions of single Python values, applied to columns.

Where Arrow has no kernel, a Python function computes the value of a row. It is called once for each
*distinct* combination of arguments, not for each row: columns of a stream repeat their values a
lot, and finding the distinct ones is fast. Dates, times and timestamps are handed over as the
integers of their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from scurry.functions.expressions import Call
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.kernels import Evaluate, kernel

__all__ = ["apply", "per_value", "pyvalues"]


def _plain(kind: pa.DataType) -> pa.DataType | None:
    """The integer type of a temporal column, None for others."""
    if kinds.is_timestamp(kind) or kinds.is_time64(kind):
        return pa.int64()
    if kinds.is_date32(kind) or kinds.is_time32(kind):
        return pa.int32()
    return None


def pyvalues(array: pa.Array) -> list[Any]:
    """The values of a column as Python objects, temporal ones as integers, maps as dicts."""
    plain = _plain(array.type)
    if plain is not None:
        return list(array.cast(plain).to_pylist())
    if kinds.is_map(array.type):
        return [None if pairs is None else dict(pairs) for pairs in array.to_pylist()]
    return list(array.to_pylist())


def column_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column of Python values; the opposite of `pyvalues`."""
    plain = _plain(kind)
    if plain is not None:
        return pa.array(values, plain).cast(kind)
    if _has_maps(kind):
        values = [_pairs(value, kind) for value in values]
    return pa.array(values, kind)


def _has_maps(kind: pa.DataType) -> bool:
    inner = [kind.field(at).type for at in range(kind.num_fields)] if kinds.is_nested(kind) else []
    return kinds.is_map(kind) or any(map(_has_maps, inner))


def _pairs(value: Any, kind: pa.DataType) -> Any:
    """A value with the maps in it as pairs, which is what pyarrow takes."""
    if value is None:
        return None
    if kinds.is_map(kind):
        entries = value.items() if isinstance(value, dict) else value
        return [(_pairs(k, kind.key_type), _pairs(v, kind.item_type)) for k, v in entries]
    if kinds.is_list(kind):
        return [_pairs(one, kind.value_type) for one in value]
    if kinds.is_struct(kind):
        return {f.name: _pairs(value[f.name], f.type) for f in kind}
    return value


def apply(
    function: Callable[..., Any],
    arguments: Sequence[Datum],
    rows: Frame,
    result: pa.DataType,
    null_in_null_out: bool = True,
) -> Datum:
    """The function of each row's arguments."""
    call = _strict(function) if null_in_null_out else function
    varying = [at for at, value in enumerate(arguments) if not isinstance(value, pa.Scalar)]
    if not varying:
        values = [pyvalues(as_array(value, 1))[0] for value in arguments]
        return column_of([call(*values)], result)[0]
    if len(varying) == 1 and not kinds.is_nested(arguments[varying[0]].type):
        return _by_distinct(call, arguments, varying[0], result)
    return _by_rows(call, arguments, rows.count, result)


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        return None if any(value is None for value in values) else function(*values)

    return call


def _by_distinct(
    call: Callable[..., Any], arguments: Sequence[Datum], at: int, result: pa.DataType
) -> pa.Array:
    encoded = arguments[at]
    if not isinstance(encoded, pa.DictionaryArray):
        encoded = pc.dictionary_encode(encoded, null_encoding="encode")
    fixed = [pyvalues(as_array(v, 1))[0] if i != at else None for i, v in enumerate(arguments)]
    before, after = fixed[:at], fixed[at + 1 :]
    made = [call(*before, value, *after) for value in pyvalues(encoded.dictionary)]
    return column_of(made, result).take(encoded.indices)


def _by_rows(
    call: Callable[..., Any], arguments: Sequence[Datum], count: int, result: pa.DataType
) -> pa.Array:
    columns = [pyvalues(as_array(value, count)) for value in arguments]
    if any(kinds.is_nested(value.type) for value in arguments):
        return column_of([call(*values) for values in zip(*columns, strict=True)], result)
    known: dict[Any, Any] = {}
    made = []
    for values in zip(*columns, strict=True):
        if values not in known:
            known[values] = call(*values)
        made.append(known[values])
    return column_of(made, result)


def per_value(
    *names: str, null_in_null_out: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function of Python values as kernel of SQL functions."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def build(call: Call) -> Evaluate:
            result = call.type.arrow_type()
            return lambda rows, *values: apply(function, values, rows, result, null_in_null_out)

        kernel(*names)(build)
        return function

    return register
