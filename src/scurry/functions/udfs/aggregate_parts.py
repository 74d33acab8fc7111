"""A user's aggregate function in two phases.

The first phase accumulates the rows of a batch and sends the accumulator, pickled; the second
merges accumulators, which needs the method ``merge``.
"""

from __future__ import annotations

import pickle
from typing import Any

from scurry.functions.udfs.contracts import (
    AggregateFunction,
    FunctionContext,
    ImperativeAggregateFunction,
)
from scurry.functions.udfs.plain_functions import WholeColumns
from scurry.functions.udfs.row_argument import RowArgument

__all__ = ["AggregatePart", "MergedParts", "can_merge"]


def can_merge(function: Any) -> bool:
    """Whether accumulators of a function can be put together. A function of whole columns has no
    accumulator that is smaller than its rows, so that nothing would be won."""
    while isinstance(function, RowArgument):
        function = function.func
    if not isinstance(function, AggregateFunction) or isinstance(function, WholeColumns):
        return False
    return type(function).merge is not ImperativeAggregateFunction.merge


class _OfFunction(AggregateFunction[Any, Any]):
    def __init__(self, function: Any, name: str) -> None:
        self.function = function
        self.name = name

    def open(self, function_context: FunctionContext) -> None:
        self.function.open(function_context)

    def close(self) -> None:
        self.function.close()

    def is_deterministic(self) -> bool:
        return bool(self.function.is_deterministic())

    def create_accumulator(self) -> Any:
        return self.function.create_accumulator()


class AggregatePart(_OfFunction):
    """The accumulator of the rows of a batch, as bytes."""

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        self.function.accumulate(accumulator, *args)

    def get_value(self, accumulator: Any) -> bytes:
        return pickle.dumps(accumulator)


class MergedParts(_OfFunction):
    """The value of all parts."""

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        self.function.merge(accumulator, [pickle.loads(args[0])])

    def get_value(self, accumulator: Any) -> Any:
        return self.function.get_value(accumulator)
