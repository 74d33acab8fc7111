"""What a plain Python function becomes when it is declared as a function of SQL.

An aggregate of whole columns (``func_type="pandas"``) needs all rows of its group at once, so its
accumulator is the list of these rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from scurry.functions.udfs.contracts import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableFunction,
)

#: A row of arguments, one of the rows of a group.
Row = tuple[Any, ...]


class PlainScalar(ScalarFunction):
    """A scalar function that is called by its name only."""

    def __init__(self, called: Callable[..., Any]) -> None:
        self._called = called

    def eval(self, *arguments: Any) -> Any:
        return self._called(*arguments)


class PlainAsyncScalar(AsyncScalarFunction):
    """The same, awaited."""

    def __init__(self, called: Callable[..., Any]) -> None:
        self._called = called

    async def eval(self, *arguments: Any) -> Any:
        return await self._called(*arguments)


class PlainTable(TableFunction):
    """A table function that is called by its name only."""

    def __init__(self, called: Callable[..., Any]) -> None:
        self._called = called

    def eval(self, *arguments: Any) -> Any:
        return self._called(*arguments)


class WholeColumns(AggregateFunction[Any, list[Row]]):
    """An aggregate that a function computes from the columns of a group."""

    def __init__(self, of_columns: Callable[..., Any]) -> None:
        self._of_columns = of_columns

    def create_accumulator(self) -> list[Row]:
        return []

    def accumulate(self, accumulator: list[Row], *row: Any) -> None:
        accumulator.append(row)

    def retract(self, accumulator: list[Row], *row: Any) -> None:
        accumulator.remove(row)

    def merge(self, accumulator: list[Row], accumulators: Iterable[list[Row]]) -> None:
        for rows in accumulators:
            accumulator.extend(rows)

    def get_value(self, accumulator: list[Row]) -> Any:
        import pandas as pd

        if not accumulator:
            return None
        value = self._of_columns(*(pd.Series(column) for column in zip(*accumulator, strict=True)))
        value = value.item() if hasattr(value, "item") else value
        # as in a column of pandas, NaN says that there is no value
        return None if isinstance(value, float) and math.isnan(value) else value


class WholeColumnsOf(WholeColumns):
    """The same for an aggregate that is a class: it is given the columns as if they were a row."""

    def __init__(self, function: AggregateFunction[Any, Any]) -> None:
        super().__init__(self._computed)
        self._function = function

    def _computed(self, *columns: Any) -> Any:
        kept = self._function.create_accumulator()
        self._function.accumulate(kept, *columns)
        return self._function.get_value(kept)

    def open(self, function_context: FunctionContext) -> None:
        self._function.open(function_context)

    def close(self) -> None:
        self._function.close()
