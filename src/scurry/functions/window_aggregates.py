"""Built-in aggregates as values: ``count()``, ``sum("amount")``, ``min``, ``max``, ``avg``.

They say *what* to compute, so that the engine may choose how: on whole columns where it can, or an
element at a time with :class:`Aggregates`, which is an ordinary aggregate function. Both give the
same results, because every aggregate is defined without regard to order:

* None is no value: it is skipped, and the sum, least, greatest or mean of no values is None;
* whole numbers are added without overflow; with floats among them the sum is exact, rounded once;
* NaN is greater than any other number, as in SQL engines.

The result of a window is a tuple: the key, the window's start and end, then the aggregates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

from scurry.common.errors import ProgramError, TypeMismatchError, shorten
from scurry.common.values import Element, Key
from scurry.common.windows import TimeWindow
from scurry.functions.aggregations import field_of
from scurry.functions.transforms import AggregateFunction
from scurry.functions.windows import AllWindowFunction, WindowFunction

#: Floats are whole multiples of 2 to the power of minus this.
SCALE = 1074
_UNIT = 1 << SCALE
#: The results of aggregates, in order.
Values = tuple[object, ...]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of one field; of the elements themselves if ``field`` is None."""

    how: str
    field: str | int | None = None

    @property
    def name(self) -> str:
        """What the column of its results is called."""
        return self.how if self.field is None else f"{self.how}_{self.field}"

    def __repr__(self) -> str:
        return f"{self.how}({'' if self.field is None else repr(self.field)})"


def count(field: str | int | None = None) -> Aggregate:
    """How many elements there are; with ``field``, how many in which that is not None."""
    return _aggregate("count", field)


def sum(field: str | int | None = None) -> Aggregate:
    """The sum of a field."""
    return _aggregate("sum", field)


def min(field: str | int | None = None) -> Aggregate:
    """The least value of a field."""
    return _aggregate("min", field)


def max(field: str | int | None = None) -> Aggregate:
    """The greatest value of a field."""
    return _aggregate("max", field)


def avg(field: str | int | None = None) -> Aggregate:
    """The mean of a field, as a float."""
    return _aggregate("avg", field)


def _aggregate(how: str, field: str | int | None) -> Aggregate:
    if field is not None and (not isinstance(field, (int, str)) or isinstance(field, bool)):
        raise ProgramError(
            f"{how} takes the position or name of a field, got {field!r} ({type(field).__name__})."
        )
    return Aggregate(how, field)


def value_of(element: object, aggregate: Aggregate) -> Element:
    """What an aggregate sees of an element."""
    if aggregate.field is None:
        return element
    value = field_of(element, aggregate.field, aggregate.how)
    return int(value) if type(value) is bool else value


def number(value: object, how: str) -> float:
    """``value``, refused where it cannot be added up."""
    if isinstance(value, (int, float)):
        return value
    raise TypeMismatchError(
        f"{how} adds up whole numbers and floats, got {shorten(value)} ({type(value).__name__}); "
        "for other types write an AggregateFunction"
    )


def units_of(value: float) -> int:
    """A finite float as a multiple of the smallest float there is."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (SCALE + 1 - denominator.bit_length())


def rounded(units: int) -> float:
    """The float nearest to so many units."""
    try:
        return units / _UNIT
    except OverflowError:
        return math.inf if units > 0 else -math.inf


class Accumulator(Protocol):
    """What one aggregate knows of the values added so far."""

    def add(self, value: Element) -> None:
        """Take one more value, of one element."""

    def merge(self, other: Any) -> None:
        """Take all that was added to ``other``, an accumulator of the same aggregate."""

    def result(self) -> object:
        """The aggregate of all values."""


class _Count:
    def __init__(self) -> None:
        self.n = 0

    def add(self, value: object) -> None:
        self.n += value is not None

    def merge(self, other: Self) -> None:
        self.n += other.n

    def result(self) -> int:
        return self.n


class _CountAll(_Count):
    def add(self, value: object) -> None:
        self.n += 1


class _Sum:
    """An exact sum: whole numbers apart from floats, infinities and NaN apart from both."""

    how = "sum"

    def __init__(self) -> None:
        self.n = self.whole = self.units = self.floats = 0
        self.special = 0.0

    def add(self, value: object) -> None:
        if value is None:
            return
        self.n += 1
        added = number(value, self.how)
        if isinstance(added, int):
            self.whole += added
            return
        self.floats += 1
        if math.isfinite(added):
            self.units += units_of(added)
        else:
            self.special += added

    def merge(self, other: Self) -> None:
        self.n += other.n
        self.whole += other.whole
        self.units += other.units
        self.floats += other.floats
        self.special += other.special

    def result(self) -> float | None:
        if not self.n:
            return None
        if not self.floats:
            return self.whole
        return self.special if self.special != 0 else rounded(self.units + (self.whole << SCALE))


class _Avg(_Sum):
    how = "avg"

    def result(self) -> float | None:
        total = super().result()
        return None if total is None else total / self.n


class _Least:
    def __init__(self) -> None:
        self.value: Element = None

    def add(self, value: Element) -> None:
        if value is not None and (self.value is None or self.before(value, self.value)):
            self.value = value + 0.0 if type(value) is float else value

    def before(self, new: Element, old: Element) -> bool:
        return bool(less(new, old))

    def merge(self, other: Self) -> None:
        self.add(other.value)

    def result(self) -> object:
        return self.value


class _Greatest(_Least):
    def before(self, new: Element, old: Element) -> bool:
        return bool(less(old, new))


def less(a: Element, b: Element) -> bool:
    """Whether ``a`` is less than ``b``, NaN being greater than all else."""
    if type(b) is float and b != b:
        return bool(a == a)
    return bool(a < b)


_KINDS: dict[str, Callable[[], Accumulator]] = {
    "count": _Count,
    "sum": _Sum,
    "avg": _Avg,
    "min": _Least,
    "max": _Greatest,
}


class Aggregates(AggregateFunction):
    """Several aggregates at once, an element at a time; the result is a tuple of theirs."""

    def __init__(self, aggregates: Iterable[Aggregate]) -> None:
        self.aggregates = tuple(aggregates)

    def create_accumulator(self) -> list[Accumulator]:
        return [
            _CountAll() if one == Aggregate("count") else _KINDS[one.how]()
            for one in self.aggregates
        ]

    def add(self, value: object, accumulator: list[Accumulator]) -> list[Accumulator]:
        for one, held in zip(self.aggregates, accumulator, strict=True):
            held.add(value_of(value, one))
        return accumulator

    def get_result(self, accumulator: list[Accumulator]) -> Values:
        return tuple(held.result() for held in accumulator)

    def merge(self, acc_a: list[Accumulator], acc_b: list[Accumulator]) -> list[Accumulator]:
        for held, other in zip(acc_a, acc_b, strict=True):
            held.merge(other)
        return acc_a

    def __repr__(self) -> str:
        return ", ".join(map(repr, self.aggregates))


class WithWindow(WindowFunction[Values, Values, Key, TimeWindow]):
    """Puts the key and the window in front of the aggregates."""

    def apply(self, key: Key, window: TimeWindow, inputs: Iterable[Values]) -> Iterator[Values]:
        for values in inputs:
            yield key, window.start, window.end, *values


class WithWindowOnly(AllWindowFunction[Values, Values, TimeWindow]):
    """Puts the window in front of the aggregates."""

    def apply(self, window: TimeWindow, inputs: Iterable[Values]) -> Iterator[Values]:
        for values in inputs:
            yield window.start, window.end, *values


def several(given: Iterable[object]) -> Aggregates:
    """The aggregates among the arguments of ``aggregate``, all of which must be such."""
    chosen: list[Aggregate] = []
    for one in given:
        if isinstance(one, Aggregate):
            chosen.append(one)
        elif one is not None:
            raise ProgramError(
                f"aggregate was given {shorten(one)} among built-in aggregates. A window function "
                "follows a list of them: aggregate([count(), sum(1)], window_function)."
            )
    if not chosen:
        raise ProgramError("aggregate was given an empty list; name at least one aggregate.")
    return Aggregates(chosen)


__all__ = ["Aggregate", "avg", "count", "max", "min", "sum"]
