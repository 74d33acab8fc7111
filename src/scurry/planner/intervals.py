"""Bounds in time between the two sides of a join, such as ``l.ts BETWEEN r.ts - INTERVAL '1' HOUR
AND r.ts``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scurry.common.data_types import DataType, DayTimeIntervalType
from scurry.functions.expressions import Call, Expression, InputRef, Literal
from scurry.planner.time_attributes import is_proctime, is_time_attribute

if TYPE_CHECKING:
    from scurry.planner.algebra import Join
    from scurry.planner.sides import Parts

_COMPARISONS = {"<": (">", -1), "<=": (">=", 0), ">": ("<", 1), ">=": ("<=", 0)}


@dataclass
class Bounds:
    """The right time is ``lower`` to ``upper`` ms after the left time; ``rest`` is what of the
    condition says something else."""

    left_time: int
    right_time: int
    lower: int
    upper: int
    rest: list[Expression]


@dataclass(frozen=True)
class _Limit:
    """``right time <= left time + ms`` (upper) or ``>=`` (lower)."""

    left: int
    right: int
    upper: bool
    ms: int


def time_bounds(parts: Parts, node: Join) -> Bounds | None:
    """The bounds that a condition sets on both sides, None if it does not."""
    width, columns = node.left.width, (*node.left.columns, *node.right.columns)
    types = [column.type for column in columns]
    limits: list[_Limit] = []
    rest: list[Expression] = []
    for condition in parts.rest:
        found = [
            limit
            for one in _comparisons(condition)
            if (limit := _limit(one, width, types)) is not None
        ]
        if found and len(found) == len(_comparisons(condition)):
            limits += found
        else:
            rest.append(condition)
    equal = _equal_times(parts, types, width)
    limits += equal
    if not limits:
        return None
    times = {(one.left, one.right) for one in limits}
    uppers = [one.ms for one in limits if one.upper]
    lowers = [one.ms for one in limits if not one.upper]
    if len(times) != 1 or not uppers or not lowers:
        return None
    ((left, right),) = times
    if is_proctime(types[left]) != is_proctime(types[width + right]):
        return None
    if equal:
        _drop_equal_times(parts, left, right)
    return Bounds(left, right, max(lowers), min(uppers), rest)


def _equal_times(parts: Parts, types: list[DataType], width: int) -> list[_Limit]:
    """``l.ts = r.ts`` of two time attributes is a bound of no length."""
    found = []
    for one, other in zip(parts.left, parts.right, strict=True):
        if isinstance(one, InputRef) and isinstance(other, InputRef):
            both = is_time_attribute(one.type) and is_time_attribute(other.type)
            if both:
                found += [
                    _Limit(one.index, other.index, True, 0),
                    _Limit(one.index, other.index, False, 0),
                ]
    return found


def _drop_equal_times(parts: Parts, left: int, right: int) -> None:
    for at, (one, other) in enumerate(zip(parts.left, parts.right, strict=True)):
        same = isinstance(one, InputRef) and one.index == left
        if same and isinstance(other, InputRef) and other.index == right:
            del parts.left[at], parts.right[at], parts.null_equal[at]
            return


def _comparisons(condition: Expression) -> list[Call]:
    """The comparisons that a condition consists of: two for BETWEEN."""
    if not isinstance(condition, Call):
        return []
    if condition.function == "BETWEEN":
        value, low, high = condition.operands
        return [
            Call(">=", (value, low), condition.type, span=condition.span),
            Call("<=", (value, high), condition.type, span=condition.span),
        ]
    return [condition] if condition.function in _COMPARISONS else []


def _limit(one: Call, width: int, types: list[DataType]) -> _Limit | None:
    """``time + ms  op  time + ms`` with one time of each side."""
    first, second = _moment(one.operands[0], types), _moment(one.operands[1], types)
    if first is None or second is None:
        return None
    operator, (left, left_ms), (right, right_ms) = one.function, first, second
    if left >= width > right:
        operator = _COMPARISONS[operator][0]
        left, left_ms, right, right_ms = right, right_ms, left, left_ms
    if not left < width <= right:
        return None
    # left + left_ms  op  right + right_ms, so right  (mirrored op)  left + left_ms - right_ms
    distance = left_ms - right_ms
    if operator in (">", ">="):
        return _Limit(left, right - width, True, distance - (operator == ">"))
    return _Limit(left, right - width, False, distance + (operator == "<"))


def _moment(tree: Expression, types: list[DataType]) -> tuple[int, int] | None:
    """A time attribute and the milliseconds that are added to it."""
    if isinstance(tree, InputRef):
        return (tree.index, 0) if is_time_attribute(tree.type) else None
    if isinstance(tree, Call) and tree.function == "CAST":
        return _moment(tree.operands[0], types)
    if not isinstance(tree, Call) or tree.function not in ("+", "-"):
        return None
    value, length = tree.operands
    if tree.function == "+" and isinstance(value, Literal):
        value, length = length, value
    inner = _moment(value, types)
    if inner is None or not isinstance(length, Literal):
        return None
    if not isinstance(length.type, DayTimeIntervalType) or length.value is None:
        return None
    sign = 1 if tree.function == "+" else -1
    return inner[0], inner[1] + sign * int(length.value)
