"""The fields of a record, whatever kind of object it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from scurry.common.errors import TypeMismatchError, shorten
from scurry.common.types import Row


def names_of(record: Any) -> tuple[str, ...] | None:
    """The names of a record's fields, None if it has none."""
    if isinstance(record, dict):
        return tuple(map(str, record))
    if isinstance(record, Row):
        return record._names
    if dataclasses.is_dataclass(record):
        return tuple(field.name for field in dataclasses.fields(record))
    return getattr(record, "_fields", None)


def values_of(record: Any, names: Sequence[str]) -> Sequence[Any]:
    """The values of the fields ``names``, in that order; a record without names has just those."""
    if isinstance(record, dict):
        return [record.get(name) for name in names]
    if isinstance(record, Row) and record._names is not None:
        return record.get_fields_by_names(names)
    if dataclasses.is_dataclass(record) or hasattr(record, "_fields"):
        try:
            return [getattr(record, name) for name in names]
        except AttributeError as failure:
            raise TypeMismatchError(f"{shorten(record)} has no such field: {failure}") from None
    if not isinstance(record, (Row, tuple, list)):
        raise TypeMismatchError(
            f"{shorten(record)} is no record with the fields {list(names)}: map it to a Row, "
            "tuple, dict or dataclass before the sink"
        )
    if len(record) != len(names):
        raise TypeMismatchError(
            f"{shorten(record)} has {len(record)} fields, not the {len(names)} of {list(names)}"
        )
    return tuple(record)
