"""Expressions over the events that a match has already.

In the condition of a step ``col("price")`` is a field of the event in question. Of the event that
the step *low* took last it is ``last("low").price``, of its first one ``first("low").price``: the
same as ``LAST(low.price)`` and ``FIRST(low.price)`` in the DEFINE clause of MATCH_RECOGNIZE.

>>> from scurry.cep import Pattern, last
>>> from scurry.table.expressions import col
>>> rising = (
...     Pattern.begin("low").where(col("price") < 10)
...     .followed_by("high").where(col("price") > last("low").price * 2)
... )
"""

from __future__ import annotations

from scurry.common.errors import ProgramError
from scurry.sql import ast
from scurry.table.expression import Expression
from scurry.table.expression_core import here, name_of, to_node

__all__ = ["StepEvent", "first", "last"]


class StepEvent:
    """An event that a step of the pattern took; its attributes are expressions for its fields. A
    field whose name is no attribute is reached as ``last("low")["the price"]``."""

    def __init__(self, function: str, step: str, offset: int) -> None:
        if not isinstance(step, str) or not step:
            raise ProgramError(f"{function.lower()} takes the name of a step, got {step!r}.")
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise ProgramError(
                f"{function.lower()}({step!r}, ...) takes how many events to pass over, got "
                f"{offset!r}."
            )
        self._read = function, step, offset

    def __getitem__(self, name: str) -> Expression:
        function, step, offset = self._read
        arguments: tuple[ast.Expression, ...] = (name_of(step, name),)
        if offset:
            arguments += (to_node(offset),)
        return Expression(ast.FunctionCall(name_of(function), arguments, span=here()))

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]


def last(step: str, offset: int = 0) -> StepEvent:
    """The event that ``step`` took last so far, or the one ``offset`` before it. In the condition
    of the step itself the event in question counts as the last one. Fields of an event that is not
    there are NULL."""
    return StepEvent("LAST", step, offset)


def first(step: str, offset: int = 0) -> StepEvent:
    """The event that ``step`` took first, or the one ``offset`` behind it."""
    return StepEvent("FIRST", step, offset)
