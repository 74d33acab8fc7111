"""Rolling aggregations of one field: ``sum``, ``min``, ``max`` and their ``_by`` forms.

They are reduce functions. ``sum``, ``min`` and ``max`` keep the first element of the key and change
one field of it; ``min_by`` and ``max_by`` keep whichever whole element has the least or greatest
field, the earlier one if they are equal. Elements may be tuples, Rows, dataclasses, dicts, lists,
or bare values, whose only field is 0.
"""

from __future__ import annotations

import copy
import dataclasses

from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.types import Row
from scurry.common.values import Element, Merge
from scurry.functions.transforms import ReduceFunction

_COMBINE: dict[str, Merge] = {
    "sum": lambda a, b: a + b,
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
}


class FieldAggregation(ReduceFunction):
    """Aggregates the field at ``position`` by ``how``: sum, min, max, min_by or max_by."""

    def __init__(self, how: str, position: int | str) -> None:
        if not isinstance(position, (int, str)) or isinstance(position, bool):
            raise ProgramError(
                f"{how} takes the position or name of a field, got {position!r} "
                f"({type(position).__name__})."
            )
        self._how = how
        self._position = position

    def reduce(self, value1: Element, value2: Element) -> Element:
        how, position = self._how, self._position
        old, new = field_of(value1, position, how), field_of(value2, position, how)
        if self._how == "min_by":
            return value2 if new < old else value1
        if self._how == "max_by":
            return value2 if new > old else value1
        return self._with_field(value1, _COMBINE[self._how](old, new))

    def _with_field(self, element: Element, value: object) -> Element:
        position = self._position
        if isinstance(element, tuple):
            named: Element = element
            if hasattr(named, "_replace"):
                name = position if isinstance(position, str) else named._fields[position]
                return named._replace(**{name: value})
            assert isinstance(position, int)
            return (*element[:position], value, *element[position + 1 :])
        if isinstance(element, (list, dict, Row)):
            changed: Element = copy.copy(element)
            changed[position] = value
            return changed
        if dataclasses.is_dataclass(element) and not isinstance(element, type):
            return dataclasses.replace(element, **{_name(element, position): value})
        return value


def field_of(element: object, position: int | str, how: str) -> Element:
    """The field of an element that ``how`` works on; a bare value is its own field 0."""
    if isinstance(element, (tuple, list, dict, Row)):
        if isinstance(position, str) and hasattr(element, "_fields"):
            return getattr(element, position)
        fields: Element = element
        return fields[position]
    if dataclasses.is_dataclass(element):
        return getattr(element, _name(element, position))
    if position == 0:
        return element
    raise TypeMismatchError(
        f"{how}({position!r}) needs elements with fields, got {element!r} "
        f"({type(element).__name__})"
    )


def _name(element: Element, position: int | str) -> str:
    return position if isinstance(position, str) else dataclasses.fields(element)[position].name
