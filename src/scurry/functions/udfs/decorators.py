"""Declaring functions: `udf`, `udtf`, `udaf`, `udtaf`, each as a decorator or as a call.

    @udf(result_type=DataTypes.BIGINT())
    def add(i, j):
        return i + j

    double = udf(lambda i: 2 * i, input_types=[DataTypes.INT()], result_type="INT")

Types may be given as SQL text. Argument types are optional; where they are declared, arguments are
cast to them when that loses nothing, and other calls are refused when the query is planned. A
function with several ways to be called is declared with `overloads`, each of them argument types
and a result type; ``*args`` in Python makes the last argument type stand for any number.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from scurry.common.errors import ProgramError
from scurry.functions.udfs.contracts import AsyncScalarFunction
from scurry.functions.udfs.overloads import InputTypes, Overloads, Typed
from scurry.functions.udfs.wrappers import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedAsyncScalarFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)

__all__ = ["udaf", "udf", "udtaf", "udtf"]


def udf(
    f: Any = None,
    input_types: InputTypes = None,
    result_type: Typed | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    overloads: Overloads = None,
) -> Any:
    """Declares a scalar function; ``func_type`` is general, pandas (arguments are Series) or arrow
    (arguments are Arrow arrays). Functions defined by ``async def`` are awaited."""

    def declare(func: Any) -> UserDefinedFunctionWrapper:
        wrapper = (
            UserDefinedAsyncScalarFunctionWrapper
            if _is_async(func)
            else UserDefinedScalarFunctionWrapper
        )
        return wrapper(
            func, input_types, result_type, func_type, deterministic, name, overloads=overloads
        )

    return declare if f is None else declare(f)


def udtf(
    f: Any = None,
    input_types: InputTypes = None,
    result_types: Typed | Sequence[Typed] | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    overloads: Overloads = None,
) -> Any:
    """Declares a table function; ``result_types`` are the types of its columns."""

    def declare(func: Any) -> UserDefinedFunctionWrapper:
        return UserDefinedTableFunctionWrapper(
            func, input_types, result_types, deterministic, name, overloads=overloads
        )

    return declare if f is None else declare(f)


def udaf(
    f: Any = None,
    input_types: InputTypes = None,
    result_type: Typed | None = None,
    accumulator_type: Typed | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Declares an aggregate function: an `AggregateFunction`, or with ``func_type="pandas"`` a
    function of whole columns."""
    return _aggregate(
        f, input_types, result_type, accumulator_type, deterministic, name, func_type, False
    )


def udtaf(
    f: Any = None,
    input_types: InputTypes = None,
    result_type: Typed | None = None,
    accumulator_type: Typed | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Declares a table aggregate function."""
    if func_type != "general":
        raise ProgramError(
            f"the func_type of a table aggregate function must be general, got {func_type!r}"
        )
    return _aggregate(
        f, input_types, result_type, accumulator_type, deterministic, name, func_type, True
    )


def _aggregate(
    f: Any,
    input_types: InputTypes,
    result_type: Typed | None,
    accumulator_type: Typed | None,
    deterministic: bool | None,
    name: str | None,
    func_type: str,
    table: bool,
) -> Any:
    def declare(func: Any) -> UserDefinedFunctionWrapper:
        return UserDefinedAggregateFunctionWrapper(
            func, input_types, result_type, accumulator_type, func_type, deterministic, name, table
        )

    return declare if f is None else declare(f)


def _is_async(func: Any) -> bool:
    return isinstance(func, AsyncScalarFunction) or inspect.iscoroutinefunction(func)
