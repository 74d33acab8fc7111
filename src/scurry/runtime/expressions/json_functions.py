"""The JSON functions on columns: Python per distinct text; a text is parsed once."""

from __future__ import annotations

import decimal
import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scurry.common.data_types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntType,
)
from scurry.functions.builtin.json import is_json
from scurry.functions.expressions import Call, Expression
from scurry.runtime.expressions.errors import EvaluationError
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.json_paths import json_path
from scurry.runtime.expressions.json_texts import parse, serialise, value_json
from scurry.runtime.expressions.kernels import Evaluate, constant, kernel
from scurry.runtime.expressions.python_values import apply, per_value


def _is_json(name: str, fits: Callable[[Any], bool]) -> None:
    def value(text: str | None) -> bool:
        if text is None:
            return False
        try:
            return fits(parse(text))
        except ValueError:
            return False

    per_value(f"IS JSON {name}", null_in_null_out=False)(value)


_is_json("VALUE", lambda value: True)
_is_json("SCALAR", lambda value: not isinstance(value, list | dict))
_is_json("ARRAY", lambda value: isinstance(value, list))
_is_json("OBJECT", lambda value: isinstance(value, dict))


class _Empty(Exception):
    """The path leads nowhere, and that is no error."""


def _at(text: str, path: str) -> Any:
    """What a path leads to in a text; raises `_Empty`, or ValueError where it is an error."""
    way = json_path(path)
    found = way.find(parse(text))
    if not way.definite:
        return found
    if not found:
        if way.lax:
            raise _Empty
        raise ValueError(f"nothing is at the path {path!r}")
    if found[0] is None and way.lax:
        raise _Empty
    return found[0]


@kernel("JSON_EXISTS")
def _exists(call: Call) -> Evaluate:
    on_error = constant(call.operands[2]) if len(call.operands) > 2 else "FALSE"
    instead = {"TRUE": True, "FALSE": False, "UNKNOWN": None}

    def value(text: str, path: str) -> bool | None:
        try:
            return _at(text, path) is not None
        except _Empty:
            return False
        except ValueError as failure:
            if on_error == "ERROR":
                raise EvaluationError(str(failure)) from None
            return instead[on_error]

    return lambda rows, text, path, *rest: apply(value, (text, path), rows, pa.bool_())


def _behaviour(kind: str, default: Any, reason: str) -> Any:
    if kind == "ERROR":
        raise EvaluationError(reason)
    return {"NULL": None, "EMPTY ARRAY": [], "EMPTY OBJECT": {}, "DEFAULT": default}[kind]


def _clause(call: Call, at: int, otherwise: str) -> str:
    found = constant(call.operands[at]) if len(call.operands) > at else None
    return str(found) if found else otherwise


@kernel("JSON_VALUE")
def _value(call: Call) -> Evaluate:
    on_empty, on_error = _clause(call, 3, "NULL"), _clause(call, 5, "NULL")
    returned = _returned(call.type)

    def value(text: str | None, path: str | None, empty: Any, wrong: Any) -> Any:
        if text is None or path is None:
            return None
        try:
            found = _at(text, path)
            if found is None or isinstance(found, list | dict):
                if json_path(path).lax:
                    raise _Empty
                raise ValueError(f"no scalar is at the path {path!r}")
        except _Empty:
            return _behaviour(on_empty, empty, f"nothing is at the path {path!r}")
        except ValueError as failure:
            return _behaviour(on_error, wrong, str(failure))
        return returned(found)

    kind = call.type.arrow_type()
    nothing = pa.scalar(None, kind)

    def evaluate(rows: Frame, text: Datum, path: Datum, *rest: Datum) -> Datum:
        empty = rest[2].cast(kind) if len(rest) > 2 else nothing
        wrong = rest[4].cast(kind) if len(rest) > 4 else nothing
        return apply(value, (text, path, empty, wrong), rows, kind, null_in_null_out=False)

    return evaluate


def _returned(wanted: DataType) -> Callable[[Any], Any]:
    """A scalar of JSON as a value of the type after RETURNING."""

    def value(found: Any) -> Any:
        if isinstance(wanted, BooleanType) and isinstance(found, bool):
            return found
        number = isinstance(found, int | decimal.Decimal) and not isinstance(found, bool)
        if isinstance(wanted, IntType) and number:
            return int(found)
        if isinstance(wanted, DoubleType) and number:
            return float(found)
        if isinstance(wanted, BooleanType | IntType | DoubleType):
            raise EvaluationError(f"{serialise(found)} is no {wanted.describe()}")
        return found if isinstance(found, str) else serialise(found)

    return value


@kernel("JSON_QUERY")
def _query(call: Call) -> Evaluate:
    wrapper = _clause(call, 3, "WITHOUT")
    on_empty, on_error = _clause(call, 4, "NULL"), _clause(call, 5, "NULL")
    as_list = isinstance(call.type, ArrayType)

    def found_at(text: str, path: str) -> Any:
        found = _at(text, path)
        wrapped = wrapper == "UNCONDITIONAL" or (
            wrapper == "CONDITIONAL" and not isinstance(found, list | dict)
        )
        found = [found] if wrapped else found
        if not isinstance(found, list | dict):
            if json_path(path).lax:
                raise _Empty
            raise ValueError(f"no object or array is at the path {path!r}")
        return found

    def value(text: str, path: str) -> Any:
        try:
            found = found_at(text, path)
        except _Empty:
            found = _behaviour(on_empty, None, f"nothing is at the path {path!r}")
        except ValueError as failure:
            found = _behaviour(on_error, None, str(failure))
        if found is None:
            return None
        return _texts(found) if as_list else serialise(found)

    kind = call.type.arrow_type()
    return lambda rows, text, path, *rest: apply(value, (text, path), rows, kind)


def _texts(found: Any) -> list[str | None]:
    return [
        one if isinstance(one, str) else None if one is None else serialise(one) for one in found
    ]


def _column_json(operand: Expression, datum: Datum, rows: Frame) -> list[str | None]:
    values = as_array(datum, rows.count).to_pylist()
    if is_json(operand):
        return list(values)
    return [None if value is None else value_json(value, operand.type) for value in values]


@kernel("JSON_STRING")
def _string(call: Call) -> Evaluate:
    operand = call.operands[0]
    return lambda rows, value: pa.array(_column_json(operand, value, rows), pa.string())


@kernel("JSON_OBJECT")
def _object(call: Call) -> Evaluate:
    absent = constant(call.operands[0]) == "ABSENT"
    operands = call.operands[1:]

    def evaluate(rows: Frame, mode: Datum, *values: Datum) -> pa.Array:
        keys = [as_array(key, rows.count).to_pylist() for key in values[::2]]
        texts = [
            _column_json(o, v, rows) for o, v in zip(operands[1::2], values[1::2], strict=True)
        ]
        return pa.array(
            [_members(row, keys, texts, absent) for row in range(rows.count)], pa.string()
        )

    return evaluate


def _members(row: int, keys: list[list[Any]], texts: list[list[str | None]], absent: bool) -> str:
    pairs = ((key[row], text[row]) for key, text in zip(keys, texts, strict=True))
    shown = (
        f"{json.dumps(key, ensure_ascii=False)}:{'null' if text is None else text}"
        for key, text in pairs
        if text is not None or not absent
    )
    return "{" + ",".join(shown) + "}"


@kernel("JSON_ARRAY")
def _array(call: Call) -> Evaluate:
    keep = constant(call.operands[0]) == "NULL"
    operands = call.operands[1:]

    def evaluate(rows: Frame, mode: Datum, *values: Datum) -> pa.Array:
        texts = [_column_json(o, v, rows) for o, v in zip(operands, values, strict=True)]
        made = []
        for row in range(rows.count):
            items = (text[row] for text in texts)
            made.append(
                ",".join("null" if i is None else i for i in items if keep or i is not None)
            )
        return pa.array([f"[{inside}]" for inside in made], pa.string())

    return evaluate


@per_value("JSON")
def _json(text: str) -> str:
    try:
        return serialise(parse(text))
    except ValueError:
        raise EvaluationError(f"{text!r} is no JSON") from None


_SHORT = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n",
          "\r": "\\r", "\t": "\\t"}  # fmt: skip


@per_value("JSON_QUOTE")
def _quote(text: str) -> str:
    def one(char: str) -> str:
        if char in _SHORT:
            return _SHORT[char]
        if " " <= char <= "~":
            return char
        units = char.encode("utf-16-be").hex()
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

    return '"' + "".join(map(one, text)) + '"'


_STRING = re.compile(r'"(?:[^"\\]|\\["\\/bfnrtu])*"', re.DOTALL)


@per_value("JSON_UNQUOTE")
def _unquote(text: str) -> str:
    if not _STRING.fullmatch(text):
        return text
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text
