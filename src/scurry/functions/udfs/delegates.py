"""Function objects for what is declared as a plain Python function, under PyFlink's names.

A pandas aggregate is a function of whole columns. Its accumulator collects the rows of a group, and
the function is called when the result is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scurry.functions.udfs.contracts import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableFunction,
)

__all__ = [
    "DelegatingAsyncScalarFunction",
    "DelegatingPandasAggregateFunction",
    "DelegatingScalarFunction",
    "DelegationTableFunction",
    "PandasAggregateFunctionWrapper",
    "RowsOfPandasAggregate",
]


class DelegatingScalarFunction(ScalarFunction):
    """A Python function as a scalar function."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        return self.func(*args)


class DelegatingAsyncScalarFunction(AsyncScalarFunction):
    """A Python function that is awaited, as a scalar function."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    async def eval(self, *args: Any) -> Any:
        return await self.func(*args)


class DelegationTableFunction(TableFunction):
    """A Python function as a table function."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        return self.func(*args)


class DelegatingPandasAggregateFunction(AggregateFunction[Any, list[Any]]):
    """A Python function of whole columns as an aggregate function of them."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0]

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(self.func(*args))


class PandasAggregateFunctionWrapper:
    """Calls an aggregate function of whole columns."""

    def __init__(self, func: AggregateFunction[Any, Any]) -> None:
        self.func = func

    def open(self, function_context: FunctionContext) -> None:
        """Open the function."""
        self.func.open(function_context)

    def eval(self, *args: Any) -> Any:
        """The result for whole columns."""
        accumulator = self.func.create_accumulator()
        self.func.accumulate(accumulator, *args)
        return self.func.get_value(accumulator)

    def close(self) -> None:
        """Close the function."""
        self.func.close()


class RowsOfPandasAggregate(AggregateFunction[Any, list[Any]]):
    """Collects the rows of a group for an aggregate of whole columns."""

    def __init__(self, func: AggregateFunction[Any, Any]) -> None:
        self.columns = PandasAggregateFunctionWrapper(func)

    def open(self, function_context: FunctionContext) -> None:
        self.columns.open(function_context)

    def close(self) -> None:
        self.columns.close()

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(args)

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.remove(args)

    def merge(self, accumulator: list[Any], accumulators: Iterable[list[Any]]) -> None:
        for other in accumulators:
            accumulator.extend(other)

    def get_value(self, accumulator: list[Any]) -> Any:
        import pandas as pd

        if not accumulator:
            return None
        found = self.columns.eval(*map(pd.Series, zip(*accumulator, strict=True)))
        return found.item() if hasattr(found, "item") else found
