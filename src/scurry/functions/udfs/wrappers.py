"""A user's function together with what was declared of it.

A declared function can be overloaded: it has one or more `Overload`, each with the types of its
arguments and of its result. Without declared argument types it takes any, as many as the Python
function does, and the arguments arrive as they are.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from scurry.common.data_types import DataType
from scurry.common.errors import ProgramError
from scurry.common.type_information import describe
from scurry.functions.udfs.contracts import (
    AggregateFunction,
    ImperativeAggregateFunction,
    UserDefinedFunction,
)
from scurry.functions.udfs.overloads import (
    InputTypes,
    Overload,
    Overloads,
    Typed,
    data_type_of,
    overloads_of,
)
from scurry.functions.udfs.plain_functions import (
    PlainAsyncScalar,
    PlainScalar,
    PlainTable,
    WholeColumns,
    WholeColumnsOf,
)
from scurry.functions.udfs.row_argument import RowArgument

__all__ = [
    "Overload",
    "UserDefinedAggregateFunctionWrapper",
    "UserDefinedAsyncScalarFunctionWrapper",
    "UserDefinedFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
]

FUNC_TYPES = ("general", "pandas", "arrow")


class UserDefinedFunctionWrapper:
    """A function and its declaration; `kind` is scalar, async, table, aggregate, or
    table_aggregate."""

    kind: str = ""
    #: what ``function(col("a"))`` makes in a program; the Table API sets it
    build_call: ClassVar[Callable[..., Any] | None] = None

    def __init__(
        self,
        func: Any,
        input_types: InputTypes,
        func_type: str,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        result_types: Any = None,
        overloads: Overloads = None,
    ) -> None:
        if inspect.isclass(func) or not (isinstance(func, UserDefinedFunction) or callable(func)):
            raise ProgramError(
                f"a function object or a Python function is needed, got {describe(func)}; "
                "of a class, give an instance"
            )
        if func_type not in FUNC_TYPES:
            raise ProgramError(
                f"the func_type must be one of {', '.join(FUNC_TYPES)}, got {describe(func_type)}"
            )
        self.func = func
        self.overloads = overloads_of(func, input_types, result_types, overloads)
        self.func_type = func_type
        self.name = name or _name_of(func)
        self.deterministic = _determinism(func, deterministic, self.name)
        self.alias_names: tuple[str, ...] = ()

    def __call__(self, *args: Any) -> Any:
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
        return self._delegate()

    def _delegate(self) -> UserDefinedFunction:
        raise NotImplementedError(self.kind)

    def taking_row(self, names: Sequence[str]) -> UserDefinedFunctionWrapper:
        """The same function, called with columns of these names, which it gets as one `Row`, or as
        one DataFrame if it works on whole columns."""
        other = copy.copy(self)
        other.func = RowArgument.of(self.function(), tuple(names), self.func_type == "pandas")
        results = self.overloads[0].result_types
        other.overloads = (Overload(None, results),)
        return other


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function, row by row or on whole columns."""

    kind = "scalar"

    def __init__(
        self,
        func: Any,
        input_types: InputTypes,
        result_type: Typed | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
        *,
        overloads: Overloads = None,
    ) -> None:
        super().__init__(
            *(func, input_types, func_type, deterministic, name),
            result_types=result_type,
            overloads=overloads,
        )

    def _delegate(self) -> UserDefinedFunction:
        return PlainScalar(self.func)


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedScalarFunctionWrapper):
    """A scalar function that is awaited."""

    kind = "async"

    def _delegate(self) -> UserDefinedFunction:
        return PlainAsyncScalar(self.func)


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A table function."""

    kind = "table"

    def __init__(
        self,
        func: Any,
        input_types: InputTypes,
        result_types: Typed | Sequence[Typed] | None,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        overloads: Overloads = None,
    ) -> None:
        super().__init__(
            *(func, input_types, "general", deterministic, name),
            result_types=result_types,
            overloads=overloads,
        )

    def _delegate(self) -> UserDefinedFunction:
        return PlainTable(self.func)


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """An aggregate or table aggregate function, with the type of its accumulator."""

    def __init__(
        self,
        func: Any,
        input_types: InputTypes,
        result_type: Typed | None,
        accumulator_type: Typed | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
        is_table_aggregate: bool = False,
    ) -> None:
        self.kind = "table_aggregate" if is_table_aggregate else "aggregate"
        if isinstance(func, ImperativeAggregateFunction):
            result_type = result_type if result_type is not None else func.get_result_type()
            accumulator_type = accumulator_type or _declared_accumulator(func)
        elif callable(func) and not inspect.isclass(func) and func_type != "pandas":
            raise ProgramError(
                f"an aggregate that is a plain function needs func_type='pandas'; got "
                f"{describe(func)} with func_type={func_type!r}"
            )
        super().__init__(
            *(func, input_types, func_type, deterministic, name), result_types=result_type
        )
        self.accumulator_type = None if accumulator_type is None else data_type_of(accumulator_type)

    def function(self) -> UserDefinedFunction:
        found = super().function()
        if self.func_type == "pandas" and not isinstance(found, WholeColumns):
            assert isinstance(found, AggregateFunction)
            return WholeColumnsOf(found)
        return found

    def _delegate(self) -> UserDefinedFunction:
        return WholeColumns(self.func)


def _declared_accumulator(func: ImperativeAggregateFunction[Any, Any]) -> Typed | None:
    own = type(func).get_accumulator_type
    if own is ImperativeAggregateFunction.get_accumulator_type:
        return None
    return func.get_accumulator_type()


def _name_of(func: Any) -> str:
    if isinstance(func, functools.partial):
        return _name_of(func.func)
    return str(getattr(func, "__name__", None) or type(func).__name__)


def _determinism(func: Any, declared: bool | None, name: str) -> bool:
    own = func.is_deterministic() if isinstance(func, UserDefinedFunction) else None
    if own is not None and declared is not None and own != declared:
        raise ProgramError(
            f"the function {name} is declared with deterministic={declared}, but its "
            f"is_deterministic() says {own}: let both say the same"
        )
    return declared if declared is not None else own if own is not None else True
