"""Constants: how a value is written decides its type, as in Flink."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from scurry.common.data_types import (
    BigIntType,
    DataType,
    DataTypes,
    DayTimeIntervalType,
    DecimalType,
    IntType,
    NullType,
    YearMonthIntervalType,
    data_type_from_arrow,
)
from scurry.functions.expressions import Literal
from scurry.planner.bind.data_types import bind_interval
from scurry.planner.errors import SqlValidationError
from scurry.sql import ast

_MS = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
#: the types that intervals have in Flink, whatever units they are written in
MILLISECONDS = DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, 2, 3, False)
MONTHS = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH, 2, False)
#: of the units that stand behind another one
_FEWER_THAN = {"MONTH": 12, "HOUR": 24, "MINUTE": 60, "SECOND": 60}
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def bind_literal(node: ast.Expression) -> Literal | None:
    """The constant that a node is, None for anything else."""
    bind = _LITERALS.get(type(node))
    if bind is None:
        return None
    value, kind = bind(node)
    return Literal(value, kind, span=node.span)


def _null(node: ast.NullLiteral) -> tuple[Any, DataType]:
    return None, NullType()


def _boolean(node: ast.BooleanLiteral) -> tuple[Any, DataType]:
    return node.value, DataTypes.BOOLEAN(node.value is None)


def _number(node: ast.NumberLiteral) -> tuple[Any, DataType]:
    if "e" in node.text.lower():
        return _floating(node)
    if node.text.rstrip(".").isdigit():
        return whole_number(int(node.text.rstrip(".")), node)
    exact = Decimal(node.text)
    scale = len(node.text.partition(".")[2])
    return exact, _decimal(len(node.text) - 1, scale, node)


def _floating(node: ast.NumberLiteral) -> tuple[Any, DataType]:
    value = float(node.text)
    if value in (float("inf"), float("-inf")):
        raise SqlValidationError(f"The number {node.text} is out of range", node.span)
    return value, DataTypes.DOUBLE(False)


def whole_number(value: int, node: ast.Expression) -> tuple[Any, DataType]:
    """A whole number: INT if it fits, or BIGINT."""
    if -(2**31) <= value < 2**31:
        return value, IntType(False)
    if -(2**63) <= value < 2**63:
        return value, BigIntType(False)
    advice = f"Write CAST('{value}' AS DECIMAL(38, 0))."
    raise SqlValidationError(f"The number {value} is out of range", node.span, advice)


def _decimal(precision: int, scale: int, node: ast.Expression) -> DataType:
    if precision > 38:
        message = f"The number has {precision} digits, but a DECIMAL has at most 38"
        raise SqlValidationError(message, node.span)
    return DecimalType(precision, scale, False)


def _string(node: ast.StringLiteral) -> tuple[Any, DataType]:
    return node.value, DataTypes.CHAR(_length(node.value), False)


def _length(text: str) -> int:
    """The length of a text as Java counts it, in units of UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _binary(node: ast.BinaryLiteral) -> tuple[Any, DataType]:
    return node.value, DataTypes.BINARY(len(node.value), False)


def _temporal(node: ast.TemporalLiteral) -> tuple[Any, DataType]:
    text = node.text.strip()
    try:
        if node.kind == "DATE":
            return _date(text), DataTypes.DATE(False)
        if node.kind == "TIME":
            return _time(text), DataTypes.TIME(min(3, _digits(text)), False)
        return _timestamp(text, zoned=node.kind != "TIMESTAMP")
    except ValueError:
        raise SqlValidationError(f"There is no {node.kind} '{text}'", node.span) from None


def _date(text: str) -> date:
    year, month, day = map(int, text.split("-"))
    return date(year, month, day)


def _time(text: str) -> time:
    clock, _, fraction = text.partition(".")
    hour, minute, second = map(int, clock.split(":"))
    return time(hour, minute, second, int(fraction[:3].ljust(3, "0") or 0) * 1000)


def _digits(text: str) -> int:
    return len(text.partition(".")[2])


def _timestamp(text: str, zoned: bool) -> tuple[Any, DataType]:
    day, _, clock = text.partition(" ")
    digits = min(9, _digits(clock))
    kind = DataTypes.TIMESTAMP_LTZ if zoned else DataTypes.TIMESTAMP
    whole = datetime.combine(_date(day), _time((clock or "00:00:00").partition(".")[0]))
    nanos = int(clock.partition(".")[2][:9].ljust(9, "0") or 0)
    if digits > 6:
        seconds = int(whole.replace(tzinfo=UTC).timestamp())
        return seconds * 1_000_000_000 + nanos, kind(digits, False)
    return whole.replace(microsecond=nanos // 1000), kind(digits, False)


def _interval(node: ast.IntervalLiteral) -> tuple[Any, DataType]:
    bind_interval(node.qualifier)
    value = _interval_value(node)
    months = node.qualifier.start in _MONTHS
    return (-value if node.negative else value), MONTHS if months else MILLISECONDS


def _interval_value(node: ast.IntervalLiteral) -> int:
    """Months, or milliseconds."""
    start, end = node.qualifier.start, node.qualifier.end or node.qualifier.start
    text = node.text.strip()
    negative, text = text.startswith("-"), text.lstrip("+-")
    parts = re.split(r"[-\s:]", text)
    first = _UNITS.index(start) if start in _UNITS else -1
    count = _UNITS.index(end) - first + 1 if first >= 0 else 1
    if len(parts) != count or not all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts):
        message = f"'{node.text}' is no interval of {start}{f' TO {end}' if end != start else ''}"
        raise SqlValidationError(message, node.span, _interval_example(start, end))
    units = [start] if count == 1 else list(_UNITS[first : first + count])
    for part, unit in list(zip(parts, units, strict=True))[1:]:
        if Decimal(part) >= _FEWER_THAN[unit]:
            most = _FEWER_THAN[unit] - 1
            message = f"'{node.text}' has {part} as its {unit}, which is at most {most}"
            raise SqlValidationError(message, node.span, _interval_example(start, end))
    value = sum(Decimal(part) * units_of(unit) for part, unit in zip(parts, units, strict=True))
    if value >= (1 << 31 if start in _MONTHS else 1 << 63):
        raise SqlValidationError(f"The interval '{node.text}' is out of range", node.span)
    return -int(value) if negative else int(value)


def units_of(unit: str) -> int:
    """How many months or milliseconds a unit is."""
    return _MONTHS.get(unit) or _MS[unit]


def _interval_example(start: str, end: str) -> str:
    examples = {
        ("DAY", "SECOND"): "'1 02:03:04.5' DAY TO SECOND",
        ("YEAR", "MONTH"): "'1-6' YEAR TO MONTH",
    }
    return f"Write it as INTERVAL {examples.get((start, end), f'{chr(39)}10{chr(39)} {start}')}."


def is_months(kind: DataType) -> bool:
    """Whether an interval counts months, not milliseconds."""
    return isinstance(kind, YearMonthIntervalType)


def _constant(node: ast.Constant) -> tuple[Any, DataType]:
    if isinstance(node.type, DataType):
        return node.value, node.type
    if node.value is None:
        return None, NullType()
    return _python(node)


def _python(node: ast.Constant) -> tuple[Any, DataType]:
    value = node.value
    if isinstance(value, bool):
        return value, DataTypes.BOOLEAN(False)
    if isinstance(value, int):
        return whole_number(value, node)
    if isinstance(value, str):
        return value, DataTypes.CHAR(_length(value), False)
    if isinstance(value, Decimal):
        scale = max(0, -int(value.as_tuple().exponent))
        return value, _decimal(max(len(value.as_tuple().digits), scale), scale, node)
    return value, data_type_from_arrow(pa.scalar(value).type).not_null()


_LITERALS: dict[type[ast.Node], Any] = {
    ast.NullLiteral: _null,
    ast.BooleanLiteral: _boolean,
    ast.NumberLiteral: _number,
    ast.StringLiteral: _string,
    ast.BinaryLiteral: _binary,
    ast.TemporalLiteral: _temporal,
    ast.IntervalLiteral: _interval,
    ast.Constant: _constant,
}
