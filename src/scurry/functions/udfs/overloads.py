"""The ways in which a declared function can be called: types of arguments and of results."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scurry.common.data_types import (
    DataType,
    RowType,
    data_type_from_text,
    supports_implicit_cast,
)
from scurry.common.errors import ProgramError
from scurry.common.type_information import describe

__all__ = ["InputTypes", "Overload", "Overloads", "Typed", "data_type_of", "overloads_of"]

Typed = DataType | str
InputTypes = Typed | Sequence[Typed] | None
Overloads = Sequence[tuple[Sequence[Typed], Typed | Sequence[Typed]]] | None


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


def overloads_of(
    func: Any, inputs: InputTypes, results: Any, overloads: Overloads = None
) -> tuple[Overload, ...]:
    """What was declared of a function."""
    varargs = takes_varargs(func)
    if overloads is not None:
        return tuple(
            Overload(tuple(map(data_type_of, ins)), _results(outs), varargs)
            for ins, outs in overloads
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
        return (data_type_of(inputs),)
    return tuple(map(data_type_of, inputs))


def _results(results: Typed | Sequence[Typed]) -> tuple[DataType, ...]:
    if isinstance(results, list | tuple):
        return tuple(map(data_type_of, results))
    return (data_type_of(results),)


def data_type_of(given: Any) -> DataType:
    """A type, or the text of one."""
    if isinstance(given, DataType):
        return given
    if isinstance(given, str):
        return data_type_from_text(given)
    raise ProgramError(
        f"a type such as DataTypes.BIGINT() or 'BIGINT' is needed, got {describe(given)}"
    )


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
