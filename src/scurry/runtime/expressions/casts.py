"""CAST and TRY_CAST on columns.

Numbers are cut and wrap around as Java's do; decimals are rounded, and a number that does not fit
into a decimal type becomes NULL. Texts are read leniently about spaces and strictly about the rest.
A text that cannot be read fails in CAST and is NULL in TRY_CAST.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from scurry.common.data_types import (
    ArrayType,
    BinaryStringType,
    BinaryType,
    BooleanType,
    CharacterStringType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from scurry.functions.expressions import Call
from scurry.runtime.expressions.errors import EvaluationError
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.kernels import Evaluate, kernel
from scurry.runtime.expressions.numbers import fitted_decimal, rounded, zero_of
from scurry.runtime.expressions.python_values import apply, column_of, pyvalues
from scurry.runtime.expressions.texts_of_values import text_column
from scurry.runtime.expressions.time_texts import read_date, read_time, read_timestamp
from scurry.runtime.expressions.times import DAY, masked, per_second, unmasked
from scurry.runtime.expressions.zones import to_local, to_utc

__all__ = ["caster"]

#: casts a column; with `safe`, what cannot be cast is NULL
Caster = Callable[[pa.Array, Frame, bool], pa.Array]
_STAMPS = (TimestampType, LocalZonedTimestampType)


@kernel("CAST")
def _cast(call: Call) -> Evaluate:
    return _build(call, False)


@kernel("TRY_CAST")
def _try_cast(call: Call) -> Evaluate:
    return _build(call, True)


def _build(call: Call, safe: bool) -> Evaluate:
    cast = caster(call.operands[0].type, call.type)

    def evaluate(rows: Frame, value: Datum) -> Datum:
        made = cast(as_array(value, 1 if isinstance(value, pa.Scalar) else rows.count), rows, safe)
        return made[0] if isinstance(value, pa.Scalar) else made

    return evaluate


def caster(source: DataType, target: DataType) -> Caster:
    """The function that casts columns of one type to another."""
    kind = target.arrow_type()
    if isinstance(source, NullType):
        return lambda column, rows, safe: pa.nulls(len(column), kind)
    if isinstance(target, CharacterStringType):
        return _to_text(source, target)
    if isinstance(source, CharacterStringType):
        return _from_text(target)
    if isinstance(target, BinaryStringType):
        return lambda column, rows, safe: _sized_bytes(column, target)
    if isinstance(target, BooleanType) and isinstance(source, NumericType):
        return lambda column, rows, safe: pc.not_equal(column, zero_of(column.type))
    if isinstance(target, NumericType) and isinstance(source, NumericType | BooleanType):
        return _to_number(source, target)
    if isinstance(target, DateType | TimeType | TimestampType | LocalZonedTimestampType):
        return _to_time(source, target)
    if isinstance(target, ArrayType | MapType | MultisetType | RowType):
        return _nested(source, target)
    return lambda column, rows, safe: column.cast(kind)


def _to_number(source: DataType, target: NumericType) -> Caster:
    kind = target.arrow_type()
    if isinstance(source, BooleanType):
        as_number = caster(TinyIntType(), target)
        return lambda column, rows, safe: as_number(column.cast(pa.int8()), rows, safe)
    if isinstance(target, DecimalType):
        return _to_decimal(target)
    if isinstance(source, DecimalType) and not isinstance(target, IntegralType):
        return lambda column, rows, safe: _nearest(column).cast(kind, safe=False)
    if isinstance(target, IntegralType):
        if isinstance(source, DecimalType):
            return lambda column, rows, safe: _cut(pc.trunc(column), kind)
        if not isinstance(source, IntegralType):
            return lambda column, rows, safe: _saturated(column, target)
    return lambda column, rows, safe: column.cast(kind, safe=False)


def _nearest(column: pa.Array) -> pa.Array:
    """The nearest DOUBLE of each decimal: exact integers divided by an exact power of ten, or by
    way of the digits where there are too many."""
    kind = column.type
    if kind.precision > 15:
        return column.cast(pa.string()).cast(pa.float64())
    low = np.frombuffer(column.buffers()[1], dtype=np.int64)[::2]
    unscaled = low[column.offset : column.offset + len(column)]
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(unscaled / 10.0**kind.scale, mask=nulls)


def _cut(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Whole decimals as integers, the low bits of those that are too large."""
    whole = column.cast(pa.decimal128(38, 0), safe=False)
    try:
        return whole.cast(pa.int64()).cast(kind, safe=False)
    except pa.ArrowInvalid:
        mask = (1 << 64) - 1
        bits = [None if v is None else int(v) & mask for v in whole.to_pylist()]
        return pa.array(bits, pa.uint64()).cast(pa.int64(), safe=False).cast(kind, safe=False)


def _saturated(column: pa.Array, target: IntegralType) -> pa.Array:
    """Java's cast of floating-point numbers: cut, NaN is 0, large ones the greatest INT or BIGINT;
    smaller types take the low bits of an INT."""
    wide = 64 if target.bits == 64 else 32
    low, high = -(1 << (wide - 1)), (1 << (wide - 1)) - 1
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    values = np.nan_to_num(
        np.trunc(column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)), nan=0.0
    )
    inside = np.clip(values, float(low), float(high))
    whole = np.where(inside >= float(high), high, np.where(inside <= float(low), low, 0)).astype(
        np.int64
    )
    usual = (inside < float(high)) & (inside > float(low))
    whole[usual] = inside[usual].astype(np.int64)
    return pa.array(whole, mask=nulls).cast(target.arrow_type(), safe=False)


def _to_decimal(target: DecimalType) -> Caster:
    kind = target.arrow_type()

    def cast(column: pa.Array, rows: Frame, safe: bool) -> pa.Array:
        if kinds.is_floating(column.type):
            made = apply(
                lambda v: fitted_decimal(decimal.Decimal(repr(v)), kind.precision, kind.scale),
                (column,),
                rows,
                kind,
            )
        elif kinds.is_integer(column.type):
            made = rounded(column.cast(pa.decimal128(19, 0)), kind)
        else:
            made = rounded(column, kind)
        return made

    return cast


def _sized_bytes(column: pa.Array, target: BinaryStringType) -> pa.Array:
    fixed, length = isinstance(target, BinaryType), target.length
    if not fixed and length == 2147483647:
        return column.cast(pa.binary())
    made = [
        None if v is None else v[:length].ljust(length, b"\0") if fixed else v[:length]
        for v in column.cast(pa.binary()).to_pylist()
    ]
    return pa.array(made, pa.binary())


def _to_text(source: DataType, target: CharacterStringType) -> Caster:
    def cast(column: pa.Array, rows: Frame, safe: bool) -> pa.Array:
        text = text_column(column, source, rows)
        if target.length == 2147483647:
            return text
        cut = pc.utf8_slice_codeunits(text, 0, target.length) if _too_long(text, target) else text
        return pc.utf8_rpad(cut, target.length, " ") if isinstance(target, CharType) else cut

    return cast


def _too_long(text: pa.Array, target: CharacterStringType) -> bool:
    longest = pc.max(pc.utf8_length(text)).as_py()
    return longest is not None and longest > target.length


_TRUE = {"t", "true", "y", "yes", "1"}
_FALSE = {"f", "false", "n", "no", "0"}


def _boolean(text: str) -> bool:
    word = text.lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise EvaluationError(f"{text!r} is no BOOLEAN")


def _integer(target: IntegralType) -> Callable[[str], int]:
    low, high = -(1 << (target.bits - 1)), (1 << (target.bits - 1)) - 1

    def read(text: str) -> int:
        body, dot, fraction = text.strip().partition(".")
        digits = body[1:] if body[:1] in ("+", "-") else body
        good = digits.isascii() and (digits.isdigit() or (not digits and dot and fraction))
        if not good or (fraction and not (fraction.isascii() and fraction.isdigit())):
            raise EvaluationError(f"{text!r} is no {target.describe()}")
        value = int(body) if digits else 0
        if not low <= value <= high:
            raise EvaluationError(f"{text!r} does not fit into {target.describe()}")
        return value

    return read


def _floating(text: str) -> float:
    word = text.strip()
    try:
        if word.lower() in ("inf", "+inf", "-inf", "infinity") and "Infinity" not in word:
            raise ValueError
        return float(word.rstrip("dDfF") if word[-1:] in "dDfF" and word != "Inf" else word)
    except ValueError:
        raise EvaluationError(f"{text!r} is no number") from None


def _decimal(target: DecimalType) -> Callable[[str], decimal.Decimal]:
    def read(text: str) -> decimal.Decimal:
        try:
            value = decimal.Decimal(text.strip())
            made = fitted_decimal(value, target.precision, target.scale)
        except (decimal.InvalidOperation, ValueError):
            raise EvaluationError(f"{text!r} is no number") from None
        if made is None:
            raise EvaluationError(f"{text!r} does not fit into {target.describe()}")
        return made

    return read


def _reader(target: DataType) -> Callable[[str], Any]:
    if isinstance(target, BooleanType):
        return _boolean
    if isinstance(target, IntegralType):
        return _integer(target)
    if isinstance(target, DecimalType):
        return _decimal(target)
    if isinstance(target, NumericType):
        return _floating
    if isinstance(target, DateType):
        return read_date
    if isinstance(target, TimeType):
        return lambda text: read_time(text, target.precision)
    assert isinstance(target, _STAMPS), target
    cut = 10 ** (9 - target.precision)
    unit = 10**9 // per_second(target.arrow_type())
    return lambda text: read_timestamp(text) // cut * cut // unit


def _from_text(target: DataType) -> Caster:
    if isinstance(target, BinaryStringType):
        return lambda column, rows, safe: _sized_bytes(column, target)
    read, kind = _reader(target), target.arrow_type()
    zoned = isinstance(target, LocalZonedTimestampType)

    def cast(column: pa.Array, rows: Frame, safe: bool) -> pa.Array:
        if isinstance(target, IntegralType) and _plain_digits(column, target):
            return column.cast(kind)
        plain = pa.timestamp(kind.unit) if zoned else kind
        made = apply(_trying(read) if safe else read, (column,), rows, plain)
        return to_utc(made, rows.context.zone) if zoned else made

    return cast


_SURE = {8: 2, 16: 4, 32: 9, 64: 18}


def _plain_digits(column: pa.Array, target: IntegralType) -> bool:
    """Whether all texts are integers, without more ado, that surely fit."""
    pattern = f"^-?[0-9]{{1,{_SURE[target.bits]}}}$"
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is not False


def _trying(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def attempt(text: str) -> Any:
        try:
            return read(text)
        except EvaluationError:
            return None

    return attempt


def _to_time(source: DataType, target: DataType) -> Caster:
    kind = target.arrow_type()

    def cast(column: pa.Array, rows: Frame, safe: bool) -> pa.Array:
        zone = rows.context.zone
        if isinstance(source, LocalZonedTimestampType):
            if isinstance(target, LocalZonedTimestampType):
                return _restamp(column, target, kind)
            column = to_local(column, zone)
        if isinstance(target, DateType):
            return column.cast(pa.date32(), safe=False)
        if isinstance(target, TimeType):
            return _time_of(column, target)
        if isinstance(source, TimeType):
            today = rows.context.current // DAY * DAY
            values, nulls = unmasked(column)
            column = masked(values + today, nulls, pa.timestamp("ms"))
        made = column.cast(pa.timestamp(kind.unit), safe=False)
        made = _restamp(made, target, pa.timestamp(kind.unit))
        return to_utc(made, zone) if isinstance(target, LocalZonedTimestampType) else made

    return cast


def _restamp(column: pa.Array, target: DataType, kind: pa.DataType) -> pa.Array:
    """Timestamps cut to the digits of the target's precision."""
    precision: int = getattr(target, "precision", 3)
    made = column.cast(kind, safe=False)
    step = per_second(kind) // 10**precision if per_second(kind) > 10**precision else 1
    if step == 1:
        return made
    values, nulls = unmasked(made)
    return masked(values // step * step, nulls, kind)


def _time_of(column: pa.Array, target: TimeType) -> pa.Array:
    values, nulls = unmasked(column)
    scale = 1000 if kinds.is_time32(column.type) else per_second(column.type)
    millis = values % (86400 * scale) * 1000 // scale
    step = 10 ** max(3 - target.precision, 0)
    return masked(millis // step * step, nulls, pa.time32("ms"))


def _nested(source: DataType, target: DataType) -> Caster:
    if source.nullable() == target.nullable():
        return lambda column, rows, safe: column
    if isinstance(target, RowType):
        return _row(source, target)
    inner = [caster(a, b) for a, b in zip(source.children, target.children, strict=True)]

    def cast(column: pa.Array, rows: Frame, safe: bool) -> pa.Array:
        if safe:
            return _each(column, target, lambda one: cast(one, rows, False))
        if isinstance(target, ArrayType):
            flat = inner[0](column.flatten(), rows, False)
            offsets = _offsets(column)
            return pa.ListArray.from_arrays(offsets, flat, mask=_nulls(column))
        keys = inner[0](column.keys, rows, False)
        values = inner[1](column.items, rows, False) if len(inner) > 1 else column.items
        made = pa.MapArray.from_arrays(column.offsets, keys, values)
        return pc.if_else(pc.is_valid(column), made, pa.scalar(None, made.type))

    return cast


def _offsets(column: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _nulls(column: pa.Array) -> pa.Array | None:
    return column.is_null() if column.null_count else None


def _each(column: pa.Array, target: DataType, cast: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Row by row, so that only what cannot be cast becomes NULL."""
    made: list[Any] = []
    for at in range(len(column)):
        try:
            made.append(pyvalues(cast(column.slice(at, 1)))[0])
        except EvaluationError:
            made.append(None)
    return column_of(made, target.arrow_type())


def _row(source: DataType, target: RowType) -> Caster:
    inner = [caster(a, b) for a, b in zip(source.children, target.children, strict=True)]
    names = target.names

    def cast(column: pa.Array, rows: Frame, safe: bool) -> pa.Array:
        fields = [
            cast_field(f, rows, safe) for cast_field, f in zip(inner, column.flatten(), strict=True)
        ]
        return pa.StructArray.from_arrays(fields, names, mask=_nulls(column))

    return cast
