"""A user's function together with what was declared of it.

A declared function can be overloaded: it has one or more `Overload`, each with the types of its
arguments and of its result. Without declared argument types it takes any, as many as the Python
function does, and the arguments arrive as they are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from scurry.common.data_types import DataType, supports_implicit_cast
from scurry.common.errors import ProgramError
from scurry.common.type_information import describe
from scurry.functions.udfs.contracts import (
    AggregateFunction,
    AsyncScalarFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)

__all__ = [
    "Overload",
    "UserDefinedAggregateFunctionWrapper",
    "UserDefinedAsyncScalarFunctionWrapper",
    "UserDefinedFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
]

FUNC_TYPES = ("general", "pandas", "arrow")
#: A Python function; what it takes and returns is declared in types of SQL.
PlainFunction = Callable[..., Any]
#: What a program declares: an object with `eval` or `accumulate`, or a Python function.
UserFunction = UserDefinedFunction | PlainFunction


@dataclass(frozen=True)
class Overload:
    """One way to call a function: argument types (None: whatever comes) and result types.

    A scalar or aggregate function has one result type; the result types of a table function are its
    columns. With `varargs` the last argument type stands for any number of arguments.
    """

    input_types: tuple[DataType, ...] | None
    result_types: tuple[DataType, ...]
    varargs: bool = False

    def arguments(self, given: Sequence[DataType]) -> tuple[DataType, ...] | None:
        """The types that arguments of the `given` types are cast to, or None if they do not fit."""
        if self.input_types is None:
            return tuple(given)
        wanted = list(self.input_types)
        if self.varargs and len(given) >= len(wanted) - 1:
            wanted = wanted[:-1] + [self.input_types[-1]] * (len(given) - len(wanted) + 1)
        if len(wanted) != len(given):
            return None
        fits = all(map(supports_implicit_cast, given, wanted))
        return tuple(wanted) if fits else None

    def __str__(self) -> str:
        if self.input_types is None:
            return "(...)"
        dots = "..." if self.varargs else ""
        return f"({', '.join(t.describe() for t in self.input_types)}{dots})"


class UserDefinedFunctionWrapper:
    """A function and its declaration; `kind` is scalar, async, table, aggregate, or
    table_aggregate."""

    kind: str = ""
    #: what ``function(col("a"))`` makes in a program; the Table API sets it
    build_call: ClassVar[Callable[..., Any] | None] = None

    def __init__(
        self,
        func: UserFunction,
        overloads: Sequence[Overload],
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        if func_type not in FUNC_TYPES:
            raise ProgramError(
                f"the func_type must be one of {', '.join(FUNC_TYPES)}, got {describe(func_type)}"
            )
        self.func = func
        self.overloads = tuple(overloads)
        self.func_type = func_type
        self.name = name or _name_of(func)
        self.deterministic = _determinism(func, deterministic, self.name)
        self.takes_row = False
        self.alias_names: tuple[str, ...] = ()

    def __call__(self, *args: object) -> Any:
        """An expression of the Table API that calls this function."""
        build = type(self).build_call
        if build is None:
            raise ProgramError(
                f"{self.name} is a function for tables and SQL: import scurry.table to call it "
                "on columns"
            )
        return build(self, *args)

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """Names the columns of the function's result."""
        self.alias_names = alias_names
        return self

    def resolve(self, given: Sequence[DataType]) -> tuple[Overload, tuple[DataType, ...]]:
        """The first overload that takes arguments of those types, and the types to cast them to."""
        for overload in self.overloads:
            arguments = overload.arguments(given)
            if arguments is not None:
                return overload, arguments
        raise ProgramError(
            f"the function {self.name} cannot be called with "
            f"({', '.join(t.describe() for t in given)}); it takes "
            + " or ".join(map(str, self.overloads))
        )

    def function(self) -> UserDefinedFunction:
        """The function object whose methods are called."""
        if isinstance(self.func, UserDefinedFunction):
            return self.func
        return _ADAPTERS[self.kind](self.func)


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function, row by row or on whole columns."""

    kind = "scalar"


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function that is awaited."""

    kind = "async"


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A table function."""

    kind = "table"


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """An aggregate or table aggregate function, with the type of its accumulator."""

    def __init__(
        self,
        func: UserFunction,
        overloads: Sequence[Overload],
        accumulator_type: DataType | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
        is_table_aggregate: bool = False,
    ) -> None:
        super().__init__(func, overloads, func_type, deterministic, name)
        self.accumulator_type = accumulator_type
        self.kind = "table_aggregate" if is_table_aggregate else "aggregate"


class _Scalar(ScalarFunction):
    def __init__(self, func: PlainFunction) -> None:
        self.func = func

    def eval(self, *args: object) -> object:
        return self.func(*args)


class _Async(AsyncScalarFunction):
    def __init__(self, func: PlainFunction) -> None:
        self.func = func

    async def eval(self, *args: object) -> object:
        return await self.func(*args)


class _Table(TableFunction):
    def __init__(self, func: PlainFunction) -> None:
        self.func = func

    def eval(self, *args: object) -> object:
        return self.func(*args)


class _PandasAggregate(AggregateFunction[object, list[tuple[object, ...]]]):
    """An aggregate that is a function of whole columns: its accumulator collects the rows."""

    def __init__(self, func: PlainFunction) -> None:
        self.func = func

    def create_accumulator(self) -> list[tuple[object, ...]]:
        return []

    def accumulate(self, accumulator: list[tuple[object, ...]], *args: object) -> None:
        accumulator.append(args)

    def get_value(self, accumulator: list[tuple[object, ...]]) -> object:
        import pandas as pd

        columns = zip(*accumulator, strict=True) if accumulator else ()
        return self.func(*(pd.Series(column) for column in columns))


_ADAPTERS: dict[str, Callable[[PlainFunction], UserDefinedFunction]] = {
    "scalar": _Scalar,
    "async": _Async,
    "table": _Table,
    "aggregate": _PandasAggregate,
}

EVALUATORS: dict[type[UserDefinedFunction], str] = {
    ScalarFunction: "scalar",
    AsyncScalarFunction: "async",
    TableFunction: "table",
    AggregateFunction: "aggregate",
    TableAggregateFunction: "table_aggregate",
}


def _name_of(func: object) -> str:
    if isinstance(func, functools.partial):
        return _name_of(func.func)
    return str(getattr(func, "__name__", None) or type(func).__name__)


def _determinism(func: UserFunction, declared: bool | None, name: str) -> bool:
    own = func.is_deterministic() if isinstance(func, UserDefinedFunction) else None
    if own is not None and declared is not None and own != declared:
        raise ProgramError(
            f"the function {name} is declared with deterministic={declared}, but its "
            f"is_deterministic() says {own}: let both say the same"
        )
    return declared if declared is not None else own if own is not None else True


def takes_varargs(func: Any) -> bool:
    """Whether the Python function, or the `eval` or `accumulate` of a function object, has
    ``*args``."""
    for name in ("eval", "accumulate"):
        func = getattr(func, name, func)
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
