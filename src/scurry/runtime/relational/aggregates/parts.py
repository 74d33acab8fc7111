"""Aggregates of parts of a group, for aggregation in two phases.

The first phase makes *parts* of the rows of a batch: their number, their sum, the sum of their
squares. The second takes these for its rows. ``$AVG`` of sums and numbers is the average of all
values, ``$VAR_POP`` of numbers, sums and sums of squares is their variance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scurry.runtime.relational.aggregates.accumulators import Avg, Sum, Variance, doubles
from scurry.runtime.relational.aggregates.numbers import numbers
from scurry.runtime.relational.aggregates.segments import Array, Segments


class SumOfDoubles(Sum):
    """$DOUBLES: the sum of numbers as doubles."""

    def _type(self) -> Any:
        return np.float64

    def values(self, rows: Segments) -> Array:
        return doubles(rows.column(self.call.arguments[0]))


class SumOfSquares(SumOfDoubles):
    """$SQUARES: the sum of the squares of numbers as doubles."""

    def values(self, rows: Segments) -> Array:
        found = super().values(rows)
        return found * found


class AvgOfParts(Avg):
    """$AVG: the average of values of which the sums and numbers are given."""

    def counts(self, rows: Segments, ones: Array) -> Array:
        return numbers(rows.column(self.call.arguments[1])) * ones


class VarianceOfParts(Variance):
    """$VAR_POP and its like: of numbers, sums and sums of squares."""

    def moments(self, rows: Segments) -> dict[str, Array]:
        columns = (rows.column(index) for index in self.call.arguments)
        return dict(zip(self.fields, map(numbers, columns), strict=True))
