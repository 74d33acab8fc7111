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

from scurry.common.data_types import DataType, RowType, data_type_from_text
from scurry.common.errors import ProgramError
from scurry.common.type_information import describe
from scurry.functions.udfs.contracts import (
    AsyncScalarFunction,
    ImperativeAggregateFunction,
    UserDefinedFunction,
)
from scurry.functions.udfs.wrappers import (
    Overload,
    UserDefinedAggregateFunctionWrapper,
    UserDefinedAsyncScalarFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
    UserFunction,
    takes_varargs,
)

__all__ = ["udaf", "udf", "udtaf", "udtf"]

Typed = DataType | str
InputTypes = Typed | Sequence[Typed] | None
Overloads = Sequence[tuple[Sequence[Typed], Typed | Sequence[Typed]]] | None


def udf(
    f: UserFunction | None = None,
    input_types: InputTypes = None,
    result_type: Typed | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    overloads: Overloads = None,
) -> Any:
    """Declares a scalar function; ``func_type`` is general, pandas (arguments are Series) or arrow
    (arguments are Arrow arrays). Functions defined by ``async def`` are awaited."""

    def declare(func: UserFunction) -> UserDefinedFunctionWrapper:
        _check(func)
        made = _overloads(func, input_types, result_type, overloads)
        wrapper = (
            UserDefinedAsyncScalarFunctionWrapper
            if _is_async(func)
            else UserDefinedScalarFunctionWrapper
        )
        return wrapper(func, made, func_type, deterministic, name)

    return declare if f is None else declare(f)


def udtf(
    f: UserFunction | None = None,
    input_types: InputTypes = None,
    result_types: Typed | Sequence[Typed] | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    overloads: Overloads = None,
) -> Any:
    """Declares a table function; ``result_types`` are the types of its columns."""

    def declare(func: UserFunction) -> UserDefinedFunctionWrapper:
        _check(func)
        made = _overloads(func, input_types, result_types, overloads)
        return UserDefinedTableFunctionWrapper(func, made, "general", deterministic, name)

    return declare if f is None else declare(f)


def udaf(
    f: UserFunction | None = None,
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
    f: UserFunction | None = None,
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
    f: UserFunction | None,
    input_types: InputTypes,
    result_type: Typed | None,
    accumulator_type: Typed | None,
    deterministic: bool | None,
    name: str | None,
    func_type: str,
    table: bool,
) -> Any:
    def declare(func: UserFunction) -> UserDefinedFunctionWrapper:
        _check(func)
        result, accumulator = result_type, accumulator_type
        if isinstance(func, ImperativeAggregateFunction):
            result = result if result is not None else func.get_result_type()
            accumulator = accumulator or _declared_accumulator(func)
        elif func_type != "pandas":
            raise ProgramError(
                f"an aggregate that is a plain function needs func_type='pandas'; got "
                f"{describe(func)} with func_type={func_type!r}"
            )
        made = _overloads(func, input_types, result, None)
        kept = None if accumulator is None else _typed(accumulator)
        return UserDefinedAggregateFunctionWrapper(
            func, made, kept, func_type, deterministic, name, table
        )

    return declare if f is None else declare(f)


def _declared_accumulator(func: ImperativeAggregateFunction[Any, Any]) -> Typed | None:
    own = type(func).get_accumulator_type
    if own is ImperativeAggregateFunction.get_accumulator_type:
        return None
    return func.get_accumulator_type()


def _check(func: object) -> None:
    if inspect.isclass(func) or not (isinstance(func, UserDefinedFunction) or callable(func)):
        raise ProgramError(
            f"a function object or a Python function is needed, got {describe(func)}; "
            "of a class, give an instance"
        )


def _is_async(func: object) -> bool:
    return isinstance(func, AsyncScalarFunction) or inspect.iscoroutinefunction(func)


def _overloads(
    func: UserFunction,
    inputs: InputTypes,
    results: Typed | Sequence[Typed] | None,
    overloads: Overloads,
) -> tuple[Overload, ...]:
    varargs = takes_varargs(func)
    if overloads is not None:
        return tuple(
            Overload(tuple(map(_typed, ins)), _results(outs), varargs) for ins, outs in overloads
        )
    if results is None:
        raise ProgramError(
            f"the type of the results of {describe(func)} is not declared: give result_type, "
            "such as DataTypes.BIGINT()"
        )
    declared = _inputs(inputs)
    return (Overload(declared, _results(results), varargs and declared is not None),)


def _inputs(inputs: InputTypes) -> tuple[DataType, ...] | None:
    if inputs is None:
        return None
    if isinstance(inputs, RowType):
        return tuple(inputs.field_types())
    if isinstance(inputs, DataType | str):
        return (_typed(inputs),)
    return tuple(map(_typed, inputs))


def _results(results: Typed | Sequence[Typed]) -> tuple[DataType, ...]:
    if isinstance(results, list | tuple):
        return tuple(map(_typed, results))
    return (_typed(results),)


def _typed(given: object) -> DataType:
    if isinstance(given, DataType):
        return given
    if isinstance(given, str):
        return data_type_from_text(given)
    raise ProgramError(
        f"a type such as DataTypes.BIGINT() or 'BIGINT' is needed, got {describe(given)}"
    )
