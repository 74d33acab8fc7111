"""Functions of the user's, under the module name PyFlink has for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.errors import ProgramError
from scurry.functions.udfs import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedAggregateFunctionWrapper,
    UserDefinedAsyncScalarFunctionWrapper,
    UserDefinedFunction,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
    udaf,
    udf,
    udtaf,
    udtf,
)

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedAggregateFunctionWrapper",
    "UserDefinedAsyncScalarFunctionWrapper",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
    "wrapped",
]


def wrapped(function: UserDefinedFunction) -> UserDefinedFunctionWrapper:
    """A function object that declares its types itself, as a function that can be called."""
    for kind, wrap in _WRAPS:
        if isinstance(function, kind):
            made = wrap(function)
            assert isinstance(made, UserDefinedFunctionWrapper)
            return made
    raise ProgramError(f"{function!r} is no function for tables.")


_WRAPS: tuple[tuple[type[UserDefinedFunction], Callable[[Any], Any]], ...] = (
    (TableAggregateFunction, udtaf),
    (ImperativeAggregateFunction, udaf),
    (TableFunction, udtf),
    (UserDefinedFunction, udf),
)
