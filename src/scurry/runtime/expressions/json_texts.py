"""Values as JSON texts, and JSON texts as values. Numbers with a fraction are decimals."""

from __future__ import annotations

import base64
import decimal
import json
from functools import lru_cache
from typing import Any

from scurry.common.data_types import (
    ArrayType,
    BinaryStringType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
)
from scurry.runtime.expressions.texts_of_values import java_double

__all__ = ["parse", "serialise", "value_json"]


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_float=decimal.Decimal, parse_constant=_no_constant)


@lru_cache(maxsize=10_000)
def parse(text: str) -> Any:
    """The value that a JSON text begins with; ValueError if there is none. What follows it does not
    matter, as in Flink. The value must not be changed."""
    value, _ = _DECODER.raw_decode(text.strip())
    return value


def serialise(value: Any) -> str:
    """A parsed value as JSON again, without spaces."""
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(serialise, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k, ensure_ascii=False)}:{serialise(v)}" for k, v in value.items())
        return "{" + ",".join(pairs) + "}"
    return json.dumps(value, ensure_ascii=False)


def value_json(value: Any, data_type: DataType) -> str:
    """A value of SQL as JSON."""
    if value is None:
        return "null"
    if isinstance(data_type, DecimalType):
        return format(value, "f")
    if isinstance(data_type, DoubleType | FloatType):
        return java_double(value, isinstance(data_type, FloatType))
    if isinstance(data_type, BinaryStringType):
        return json.dumps(base64.b64encode(value).decode())
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return json.dumps(_stamp(value, isinstance(data_type, LocalZonedTimestampType)))
    if isinstance(data_type, ArrayType):
        return "[" + ",".join(value_json(v, data_type.element_type) for v in value) + "]"
    if isinstance(data_type, MapType | MultisetType):
        return _entries(dict(value), data_type)
    if isinstance(data_type, RowType):
        fields = zip(value.items(), data_type.children, strict=True)
        inner = (f"{json.dumps(k)}:{value_json(v, t)}" for (k, v), t in fields)
        return "{" + ",".join(inner) + "}"
    return json.dumps(value, ensure_ascii=False)


def _entries(value: dict[Any, Any], data_type: MapType | MultisetType) -> str:
    def one(key: Any, item: Any) -> str:
        shown = (
            value_json(item, data_type.value_type) if isinstance(data_type, MapType) else str(item)
        )
        return f"{json.dumps(str(key), ensure_ascii=False)}:{shown}"

    return "{" + ",".join(one(k, v) for k, v in value.items()) + "}"


def _stamp(value: Any, zoned: bool) -> str:
    """As Java writes it: seconds only if needed, and three, six or nine digits of one."""
    local = value.replace(tzinfo=None)
    precision = "milliseconds" if local.microsecond % 1000 == 0 else "microseconds"
    text = str(local.isoformat(timespec="seconds" if not local.microsecond else precision))
    return text + "Z" if zoned else text
