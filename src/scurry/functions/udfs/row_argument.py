"""Functions that take a whole row where the query has columns.

``table.map(func)``, ``flat_map``, ``aggregate`` and ``flat_aggregate`` call a function that is
named without arguments with the whole row: one `Row` whose fields have the names of the columns, or
one DataFrame if the function works on whole columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scurry.common.types import Row
from scurry.functions.udfs.contracts import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)

__all__ = ["RowArgument"]


class RowArgument(UserDefinedFunction):
    """A function whose arguments are put into one row before it is called."""

    def __init__(self, func: Any, names: tuple[str, ...], columnar: bool) -> None:
        self.func = func
        self.names = names
        self.columnar = columnar

    @staticmethod
    def of(func: UserDefinedFunction, names: tuple[str, ...], columnar: bool) -> RowArgument:
        """The same kind of function."""
        for kind, made in _KINDS:
            if isinstance(func, kind):
                return made(func, names, columnar)
        raise AssertionError(f"{func!r} is none of the kinds of functions")

    def row(self, values: Sequence[Any]) -> Any:
        """The arguments as one."""
        if self.columnar:
            import pandas as pd

            return pd.DataFrame(dict(zip(self.names, values, strict=True)))
        row = Row(*values)
        row.set_field_names(list(self.names))
        return row

    def open(self, function_context: FunctionContext) -> None:
        self.func.open(function_context)

    def close(self) -> None:
        self.func.close()

    def is_deterministic(self) -> bool:
        return bool(self.func.is_deterministic())


class _Scalar(RowArgument, ScalarFunction):
    def eval(self, *args: Any) -> Any:
        return self.func.eval(self.row(args))


class _Async(RowArgument, AsyncScalarFunction):
    async def eval(self, *args: Any) -> Any:
        return await self.func.eval(self.row(args))


class _Table(RowArgument, TableFunction):
    def eval(self, *args: Any) -> Any:
        return self.func.eval(self.row(args))


class _Accumulating(RowArgument):
    def create_accumulator(self) -> Any:
        return self.func.create_accumulator()

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        self.func.accumulate(accumulator, self.row(args))

    def retract(self, accumulator: Any, *args: Any) -> None:
        self.func.retract(accumulator, self.row(args))

    def merge(self, accumulator: Any, accumulators: Iterable[Any]) -> None:
        self.func.merge(accumulator, accumulators)


class _Aggregate(_Accumulating, AggregateFunction[Any, Any]):
    def get_value(self, accumulator: Any) -> Any:
        return self.func.get_value(accumulator)


class _TableAggregate(_Accumulating, TableAggregateFunction[Any, Any]):
    def emit_value(self, accumulator: Any) -> Iterable[Any]:
        found: Iterable[Any] = self.func.emit_value(accumulator)
        return found


_KINDS: tuple[tuple[type[UserDefinedFunction], type[RowArgument]], ...] = (
    (ScalarFunction, _Scalar),
    (AsyncScalarFunction, _Async),
    (TableFunction, _Table),
    (AggregateFunction, _Aggregate),
    (TableAggregateFunction, _TableAggregate),
)
