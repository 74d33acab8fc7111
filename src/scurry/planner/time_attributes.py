"""Time attributes: columns that are event time or processing time, as their types say."""

from __future__ import annotations

import copy

from scurry.common.data_types import (
    DataType,
    DataTypes,
    LocalZonedTimestampType,
    TimestampKind,
    TimestampType,
)
from scurry.functions.expressions import Call, Expression
from scurry.planner.columns import Column


def with_kind(given: DataType, kind: TimestampKind) -> DataType:
    """A timestamp type as a time attribute of this kind, or as none."""
    if not isinstance(given, TimestampType | LocalZonedTimestampType) or given.kind is kind:
        return given
    found = copy.copy(given)
    found.kind = kind
    return found


def as_rowtime(given: DataType) -> DataType:
    """The type of a rowtime attribute."""
    return with_kind(given, TimestampKind.ROWTIME)


def plain(given: DataType) -> DataType:
    """The type without being a time attribute."""
    return with_kind(given, TimestampKind.REGULAR)


def is_rowtime(given: DataType) -> bool:
    """Whether a column of this type is event time."""
    return getattr(given, "kind", None) is TimestampKind.ROWTIME


def is_proctime(given: DataType) -> bool:
    """Whether a column of this type is processing time."""
    return getattr(given, "kind", None) is TimestampKind.PROCTIME


def is_time_attribute(given: DataType) -> bool:
    """Whether a column of this type is event time or processing time."""
    return is_rowtime(given) or is_proctime(given)


def is_window_time(given: DataType, batch: bool) -> bool:
    """Whether windows can be made of a column of this type: of a time attribute, and in batch mode,
    where all rows are there before a window ends, of any timestamp."""
    if batch and isinstance(given, TimestampType | LocalZonedTimestampType):
        return True
    return is_time_attribute(given)


PROCTIME = with_kind(DataTypes.TIMESTAMP_LTZ(3, False), TimestampKind.PROCTIME)


def materialized(expression: Expression) -> Expression:
    """The expression as a value: one that is not just a column is no time attribute any more."""
    if isinstance(expression, Call) and is_rowtime(expression.type):
        return Call(
            expression.function,
            expression.operands,
            plain(expression.type),
            expression.deterministic,
            span=expression.span,
        )
    return expression


def window_columns(time: DataType) -> tuple[Column, ...]:
    """The columns that a window table function adds: start, end, and a time attribute."""
    if is_proctime(time):
        bound: DataType = DataTypes.TIMESTAMP(3, False)
        return (
            Column("window_start", bound),
            Column("window_end", bound),
            Column("window_time", PROCTIME),
        )
    zoned = isinstance(time, LocalZonedTimestampType)
    bound = DataTypes.TIMESTAMP(3, False)
    attribute = as_rowtime(DataTypes.TIMESTAMP_LTZ(3, False) if zoned else bound)
    return (
        Column("window_start", bound),
        Column("window_end", bound),
        Column("window_time", attribute),
    )
