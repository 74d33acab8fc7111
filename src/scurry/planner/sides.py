"""Conditions of joins, taken apart by the sides that they mention."""

from __future__ import annotations

from dataclasses import dataclass, field

from scurry.common.data_types import common_type
from scurry.functions.builtin.signatures import cast_to
from scurry.functions.expressions import Call, Expression, references
from scurry.planner.rewrite import conjuncts, moved


@dataclass
class Parts:
    """A condition taken apart: pairs of expressions that are equal, over the left and over the
    right side, and what else must hold."""

    left: list[Expression] = field(default_factory=list)
    right: list[Expression] = field(default_factory=list)
    null_equal: list[bool] = field(default_factory=list)
    rest: list[Expression] = field(default_factory=list)


def parts_of(condition: Expression | None, width: int) -> Parts:
    """The condition of a join whose left side has ``width`` columns, taken apart."""
    parts = Parts()
    for one in conjuncts(condition):
        if not _equality(one, width, parts):
            parts.rest.append(one)
    return parts


def _equality(one: Expression, width: int, parts: Parts) -> bool:
    if not isinstance(one, Call) or one.function not in ("=", "IS NOT DISTINCT FROM"):
        return False
    first, second = one.operands
    if _side(first, width) == "right" and _side(second, width) == "left":
        first, second = second, first
    if _side(first, width) != "left" or _side(second, width) != "right":
        return False
    first, second = _same_type(first, second)
    parts.left.append(first)
    parts.right.append(moved(second, -width))
    parts.null_equal.append(one.function != "=")
    return True


def _same_type(first: Expression, second: Expression) -> tuple[Expression, Expression]:
    """Both as values of one Arrow type, so that equal values have equal keys."""
    if first.type.arrow_type() == second.type.arrow_type():
        return first, second
    target = common_type([first.type, second.type])
    return (first, second) if target is None else (cast_to(first, target), cast_to(second, target))


def _side(tree: Expression, width: int) -> str:
    indexes = references(tree)
    if not indexes:
        return ""
    if all(index < width for index in indexes):
        return "left"
    return "right" if all(index >= width for index in indexes) else "both"
