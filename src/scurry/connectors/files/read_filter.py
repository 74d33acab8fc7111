"""What need not be read: files of other partitions, and row groups without a row that is wanted.

A query says which conditions hold for the rows that it needs. Of the rows of a partition the value
of a column is known, and of the rows of a row group the least and the greatest. Where these bounds
rule a condition out, nothing is read. A condition of another form rules nothing out: the query
filters again in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from scurry.functions.expressions import Call, Expression, InputRef, Literal

__all__ = ["Bounds", "ReadFilter", "SkippingSource"]


@dataclass(frozen=True)
class Bounds:
    """What is known of a column: the least and the greatest value, whether there may be nulls, and
    whether there may be values."""

    low: Any
    high: Any
    nulls: bool = True
    values: bool = True

    @classmethod
    def of_value(cls, value: Any) -> Bounds:
        """A column that has the same value everywhere."""
        return cls(value, value, value is None, value is not None)


class ReadFilter:
    """Conditions on rows, all of which must hold; ``names`` are the columns that they are over."""

    def __init__(self, conditions: Sequence[Expression], names: Sequence[str]) -> None:
        self._conditions = tuple(conditions)
        self._names = tuple(names)

    def excludes(self, known: Mapping[str, Bounds]) -> bool:
        """Whether no row can be wanted of which that is known, column by column."""
        places = {at: known[name] for at, name in enumerate(self._names) if name in known}
        try:
            return not all(_possible(one, places) for one in self._conditions)
        except TypeError:  # values of a file that cannot be compared with those of the query
            return False


@runtime_checkable
class SkippingSource(Protocol):
    """A source that can leave out what is not wanted."""

    def skipping(self, unwanted: ReadFilter) -> Self:
        """The same source, which may read less."""


def _possible(tree: Expression, known: Mapping[int, Bounds]) -> bool:
    """Whether the condition may be true for some row."""
    if not isinstance(tree, Call):
        return True
    if tree.function == "AND":
        return all(_possible(one, known) for one in tree.operands)
    if tree.function == "OR":
        return any(_possible(one, known) for one in tree.operands)
    test = _TESTS.get(tree.function)
    operands = tree.operands
    if test is not None and len(operands) == 2 and isinstance(operands[0], Literal):
        test, operands = _TESTS[_MIRRORED[tree.function]], operands[::-1]
    bounds = known.get(operands[0].index) if isinstance(operands[0], InputRef) else None
    if bounds is None:
        return True
    if tree.function in ("IS NULL", "IS NOT NULL"):
        return bounds.nulls if tree.function == "IS NULL" else bounds.values
    if not all(isinstance(one, Literal) for one in operands[1:]):
        return True
    return _compared(tree.function, test, bounds, [_value(one) for one in operands[1:]])


def _value(tree: Expression) -> Any:
    assert isinstance(tree, Literal)
    return tree.value


_Test = Callable[[Bounds, Any], bool]


def _compared(function: str, test: _Test | None, bounds: Bounds, values: list[Any]) -> bool:
    if function == "IN":
        return bounds.values and any(v is not None and _TESTS["="](bounds, v) for v in values)
    if function == "BETWEEN":
        return _compared("AND", _TESTS[">="], bounds, values[:1]) and _compared(
            "AND", _TESTS["<="], bounds, values[1:]
        )
    if test is None:
        return True
    (value,) = values
    return value is not None and bounds.values and test(bounds, value)


_TESTS: dict[str, _Test] = {
    "=": lambda bounds, value: bool(bounds.low <= value <= bounds.high),
    "<>": lambda bounds, value: not bounds.low == bounds.high == value,
    "<": lambda bounds, value: bool(bounds.low < value),
    "<=": lambda bounds, value: bool(bounds.low <= value),
    ">": lambda bounds, value: bool(bounds.high > value),
    ">=": lambda bounds, value: bool(bounds.high >= value),
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
