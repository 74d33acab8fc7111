"""The arguments of a table function, which are given by position or by name."""

from __future__ import annotations

from collections.abc import Sequence

from scurry.planner.errors import SqlValidationError, unknown
from scurry.sql import ast


def named_arguments(
    call: ast.FunctionCall, name: str, parameters: Sequence[str]
) -> dict[str, ast.Expression]:
    """The arguments by the names of their parameters, which are in capital letters."""
    if len(call.arguments) > len(parameters):
        message = f"{name} takes at most {len(parameters)} arguments"
        raise SqlValidationError(message, call.span, f"They are {', '.join(parameters)}.")
    given: dict[str, ast.Expression] = {}
    for position, argument in enumerate(call.arguments):
        if isinstance(argument, ast.NamedArgument):
            key = argument.name.name.upper()
            if key not in parameters:
                raise unknown("parameter", argument.name.name, parameters, argument.name.span)
            given[key] = argument.value
        else:
            given[parameters[position]] = argument
    return given
