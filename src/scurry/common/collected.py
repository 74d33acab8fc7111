"""What a program gets of the results that it collects.

A FLOAT has 24 bits, and a Python float 53: within functions it is the number nearest to it, such as
0.10000000149011612. Results that are collected are, as in PyFlink, the shortest number that is
still the same FLOAT: 0.1.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo
from scurry.common.row_types import RowTypeInfo, TupleTypeInfo
from scurry.common.scalar_types import BasicType, BasicTypeInfo
from scurry.common.type_information import TypeInformation

_SINGLE = BasicTypeInfo(BasicType.FLOAT)


def collector_of(kind: TypeInformation | None) -> Callable[[Any], Any] | None:
    """What makes a collected value of an element; None if the element is that value."""
    if kind == _SINGLE:
        return _shortest
    if isinstance(kind, ListTypeInfo):
        item = collector_of(kind.elem_type)
        return None if item is None else _in_lists(item)
    if isinstance(kind, MapTypeInfo):
        return _in_maps(collector_of(kind._key_type_info), collector_of(kind._value_type_info))
    if not isinstance(kind, RowTypeInfo | TupleTypeInfo):
        return None
    changed = [
        (at, made) for at, field in enumerate(kind.field_types()) if (made := collector_of(field))
    ]
    if not changed:
        return None
    return _in_tuples(changed) if isinstance(kind, TupleTypeInfo) else _in_rows(changed)


def _shortest(value: Any) -> Any:
    return value if value is None else float(str(np.float32(value)))


def _in_lists(item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda element: None if element is None else [item(value) for value in element]


def _in_maps(
    key: Callable[[Any], Any] | None, value: Callable[[Any], Any] | None
) -> Callable[[Any], Any] | None:
    if key is None and value is None:
        return None
    as_key, as_value = key or _same, value or _same

    def collected(element: Any) -> Any:
        if element is None:
            return None
        return {as_key(k): as_value(v) for k, v in element.items()}

    return collected


def _same(value: Any) -> Any:
    return value


def _in_tuples(changed: list[tuple[int, Callable[[Any], Any]]]) -> Callable[[Any], Any]:
    def collected(element: Any) -> Any:
        if element is None:
            return None
        values = list(element)
        for at, made in changed:
            values[at] = made(values[at])
        return tuple(values)

    return collected


def _in_rows(changed: list[tuple[int, Callable[[Any], Any]]]) -> Callable[[Any], Any]:
    def collected(element: Any) -> Any:
        if element is None:
            return None
        row = copy.deepcopy(element)
        for at, made in changed:
            row[at] = made(row[at])
        return row

    return collected
