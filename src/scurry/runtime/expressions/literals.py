"""Constants of a query as Arrow scalars."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from scurry.functions.expressions import Literal

__all__ = ["scalar_of"]


def scalar_of(literal: Literal) -> pa.Scalar:
    """The literal's value in the Arrow form of its type."""
    kind = literal.type.arrow_type()
    return pa.scalar(_fitting(literal.value, kind), kind)


def _fitting(value: Any, kind: pa.DataType) -> Any:
    if kinds.is_time32(kind) and isinstance(value, dt.time):
        whole = (value.hour * 60 + value.minute) * 60 + value.second
        return whole * 1000 + value.microsecond // 1000
    if kinds.is_map(kind) and isinstance(value, dict):
        return list(value.items())
    return value
