"""Functions of numbers: powers, logarithms, angles, rounding, digits."""

from __future__ import annotations

import decimal
import math
import random
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from scurry.common.data_types import CharacterStringType, DecimalType
from scurry.functions.expressions import Call
from scurry.runtime.expressions.errors import EvaluationError
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.java_random import JavaRandom
from scurry.runtime.expressions.kernels import Evaluate, constant, direct, kernel
from scurry.runtime.expressions.numbers import fitted_decimal, numpy_double, rounded
from scurry.runtime.expressions.python_values import apply, per_value

direct("+X", lambda value: value)
direct("-X", pc.negate)


@kernel("ABS")
def _abs(call: Call) -> Evaluate:
    if kinds.is_integer(call.type.arrow_type()):
        return lambda rows, value: pc.if_else(pc.less(value, 0), pc.negate(value), value)
    return lambda rows, value: pc.abs(value)


def _cot(value: Any) -> Any:
    return 1.0 / np.tan(value)


def _log(base: Any, value: Any = None) -> Any:
    return np.log(base) if value is None else np.log(value) / np.log(base)


_NUMPY: dict[str, Callable[..., Any]] = {
    "POWER": np.power,
    "SQRT": np.sqrt,
    "LN": np.log,
    "LOG10": np.log10,
    "LOG2": lambda value: np.log(value) / math.log(2.0),
    "LOG": _log,
    "EXP": np.exp,
    "SIN": np.sin,
    "COS": np.cos,
    "TAN": np.tan,
    "COT": _cot,
    "ASIN": np.arcsin,
    "ACOS": np.arccos,
    "ATAN": np.arctan,
    "ATAN2": np.arctan2,
    "SINH": np.sinh,
    "COSH": np.cosh,
    "TANH": np.tanh,
    "DEGREES": np.degrees,
    "RADIANS": np.radians,
}
for _name, _compute in _NUMPY.items():
    numpy_double(_name, _compute)


def _whole(arrow: Any) -> Any:
    def build(call: Call) -> Evaluate:
        kind = call.type.arrow_type()
        if kinds.is_integer(kind):
            return lambda rows, value: value
        return lambda rows, value: arrow(value).cast(kind)

    return build


kernel("CEIL")(_whole(pc.ceil))
kernel("FLOOR")(_whole(pc.floor))


@kernel("SIGN")
def _sign(call: Call) -> Evaluate:
    kind = call.type.arrow_type()
    if isinstance(call.type, DecimalType):
        return lambda rows, value: rounded(
            as_array(pc.sign(value), rows.count).cast(pa.decimal128(19, 0)), kind
        )
    return lambda rows, value: pc.sign(value).cast(kind)


def _digits(name: str, mode: str) -> None:
    """ROUND and TRUNCATE: decimal digits of any kind of number, through its decimal text."""

    def build(call: Call) -> Evaluate:
        kind = call.type.arrow_type()
        digits = constant(call.operands[1]) if len(call.operands) == 2 else 0
        given = call.operands[0].type
        if isinstance(given, DecimalType) and digits is not None and 0 <= digits <= given.scale:
            arrow = _ARROW_MODES[mode]
            wide = pa.decimal256(given.precision + 1, given.scale)
            return lambda rows, number, *rest: rounded(
                pc.round(as_array(number, rows.count).cast(wide), digits, arrow), kind
            )
        value = _exact(call, mode)
        return lambda rows, *values: apply(value, values, rows, kind)

    kernel(name)(build)


def _exact(call: Call, mode: str) -> Any:
    result, given = call.type, call.operands[0].type

    def value(number: Any, digits: int = 0) -> Any:
        if isinstance(number, float) and not math.isfinite(number):
            return number
        text = repr(float(np.float32(number))) if kinds.is_float32(given.arrow_type()) else None
        exact = decimal.Decimal(text if text is not None else str(number))
        made = exact.quantize(decimal.Decimal(1).scaleb(-digits), rounding=mode, context=_LONG)
        if isinstance(result, DecimalType):
            return fitted_decimal(made, result.precision, result.scale)
        return float(made) if isinstance(number, float) else _wrapped(int(made), result)

    return value


def _wrapped(value: int, kind: Any) -> int:
    """The low bits of an integer that is too large for its type."""
    half = int(1 << (kind.bits - 1))
    return (value + half) % (2 * half) - half


#: enough digits for every DOUBLE
_LONG = decimal.Context(prec=700, rounding=decimal.ROUND_HALF_UP)


_ARROW_MODES = {
    decimal.ROUND_HALF_UP: "half_towards_infinity",
    decimal.ROUND_DOWN: "towards_zero",
}
_digits("ROUND", decimal.ROUND_HALF_UP)
_digits("TRUNCATE", decimal.ROUND_DOWN)

direct("PI", lambda: pa.scalar(math.pi))
direct("E", lambda: pa.scalar(math.e))


@kernel("RAND")
def _rand(call: Call) -> Evaluate:
    if not call.operands:
        return lambda rows: pa.array([random.random() for _ in range(rows.count)], pa.float64())
    sequence = JavaRandom(constant(call.operands[0]) or 0)

    def evaluate(rows: Frame, seed: Datum) -> pa.Array:
        known = as_array(seed, rows.count).is_valid().to_pylist()
        return pa.array([sequence.next_double() if one else None for one in known], pa.float64())

    return evaluate


@kernel("RAND_INTEGER")
def _rand_integer(call: Call) -> Evaluate:
    seeded = len(call.operands) == 2
    sequence = JavaRandom(constant(call.operands[0]) or 0) if seeded else None

    def draw(bound: int) -> int:
        if bound <= 0:
            raise EvaluationError(f"the bound of RAND_INTEGER must be positive, got {bound}")
        return random.randrange(bound) if sequence is None else sequence.next_int(bound)

    def evaluate(rows: Frame, *values: Datum) -> pa.Array:
        given = [as_array(value, rows.count).to_pylist() for value in values]
        drawn = (None if None in one else draw(one[-1]) for one in zip(*given, strict=True))
        return pa.array(list(drawn), pa.int32())

    return evaluate


@kernel("UUID")
def _uuid(call: Call) -> Evaluate:
    return lambda rows: pa.array([str(uuid.uuid4()) for _ in range(rows.count)], pa.string())


@per_value("BIN")
def _bin(value: int) -> str:
    return format(value & 0xFFFFFFFFFFFFFFFF, "b")


@kernel("HEX")
def _hex(call: Call) -> Evaluate:
    kind = call.type.arrow_type()
    text = isinstance(call.operands[0].type, CharacterStringType)

    def value(given: Any) -> str:
        if text:
            return str(given).encode().hex().upper()
        return format(given & 0xFFFFFFFFFFFFFFFF, "X")

    return lambda rows, given: apply(value, (given,), rows, kind)


@per_value("UNHEX")
def _unhex(text: str) -> bytes | None:
    """Of an odd number of digits, Flink reads the first as the byte 0."""
    odd = len(text) % 2
    try:
        int(text[:1] or "0", 16)
        return b"\x00" * odd + bytes.fromhex(text[odd:]) if " " not in text else None
    except ValueError:
        return None


def _extreme(name: str, arrow: Any, better: Any) -> None:
    def build(call: Call) -> Evaluate:
        kind = call.type.arrow_type()
        if kinds.is_nested(kind):
            raise EvaluationError(f"{name} of {call.type.describe()} is not computed")
        if kinds.is_string(kind) or kinds.is_binary(kind) or kinds.is_boolean(kind):
            return lambda rows, *values: apply(lambda *v: better(v), values, rows, kind)
        return lambda rows, *values: arrow(*values, skip_nulls=False)

    kernel(name)(build)


_extreme("GREATEST", pc.max_element_wise, max)
_extreme("LEAST", pc.min_element_wise, min)
