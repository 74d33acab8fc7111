"""Values of the type VARIANT: JSON in one form, so that equal values are equal texts.

Keys are sorted and stand once, there are no spaces, and numbers are written as Flink writes them:
whole numbers and decimals without exponent and without zeros at the end, all others as Java's
doubles. An item of a value is part of its text, so its numbers are not read again.
"""

from __future__ import annotations

import decimal
import json
from functools import lru_cache
from typing import Any

from scurry.runtime.expressions.errors import EvaluationError
from scurry.runtime.expressions.python_values import per_value
from scurry.runtime.expressions.texts_of_values import java_double

__all__ = ["item"]

#: as many digits as a decimal has, before and behind the point
_DIGITS = 38
_LONGS = range(-(1 << 63), 1 << 63)


class _Number(str):
    """A number as it is written."""


class _Repeated(ValueError):
    """A key stands twice in an object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _Repeated
    return made


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_NUMBERS: dict[str, Any] = {
    "parse_int": _Number,
    "parse_float": _Number,
    "parse_constant": _no_constant,
}
_STRICT = json.JSONDecoder(object_pairs_hook=_once, **_NUMBERS)
_LENIENT = json.JSONDecoder(**_NUMBERS)


def _number(text: str) -> str:
    if not set(text) & set("eE"):
        value = decimal.Decimal(text)
        if "." not in text and int(text) in _LONGS:
            return str(int(text))
        digits = value.as_tuple()
        scale = -int(digits.exponent)
        if len(digits.digits) <= _DIGITS and scale <= _DIGITS:
            plain = format(value, "f")
            return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return java_double(float(text), False)


def _written(value: Any, number: Any) -> str:
    if isinstance(value, _Number):
        return str(number(value))
    if isinstance(value, list):
        return "[" + ",".join(_written(one, number) for one in value) + "]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        pairs = (
            f"{json.dumps(key, ensure_ascii=False)}:{_written(value[key], number)}" for key in keys
        )
        return "{" + ",".join(pairs) + "}"
    return json.dumps(value, ensure_ascii=False)


def _parsed(text: str, duplicates: bool) -> str:
    """The one form of a JSON text; ValueError if it is none."""
    decoder = _LENIENT if duplicates else _STRICT
    stripped = text.strip()
    try:
        value, end = decoder.raw_decode(stripped)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if isinstance(value, _Number) and stripped[end : end + 1].strip():
        raise ValueError("a number ends in something else")
    return _written(value, _number)


@per_value("PARSE_JSON")
def _parse(text: str, duplicates: bool = False) -> str:
    try:
        return _parsed(text, duplicates)
    except _Repeated:
        raise EvaluationError(
            f"{text!r} has a key twice in an object; PARSE_JSON(a, TRUE) takes the last one"
        ) from None
    except ValueError:
        raise EvaluationError(f"{text!r} is no JSON; TRY_PARSE_JSON gives NULL for it") from None


@per_value("TRY_PARSE_JSON")
def _try_parse(text: str, duplicates: bool = False) -> str | None:
    try:
        return _parsed(text, duplicates)
    except ValueError:
        return None


@lru_cache(maxsize=10_000)
def _read(text: str) -> Any:
    return _LENIENT.decode(text)


def item(text: str, at: int | str) -> str | None:
    """The item of an array at a position, counted from 1, or of an object at a key; None if there
    is none. Arrays have no keys, objects no positions, and other values neither."""
    value = _read(text)
    if isinstance(at, str):
        if not isinstance(value, dict):
            raise EvaluationError(f"the VARIANT {text} is no object, so it has no key {at!r}")
        return _written(value[at], str) if at in value else None
    if not isinstance(value, list):
        raise EvaluationError(f"the VARIANT {text} is no array, so it has no position {at}")
    return _written(value[at - 1], str) if 1 <= at <= len(value) else None
