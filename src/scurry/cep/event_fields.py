"""Fields of events: how expressions read them, and of which types they are.

Events are rows, named tuples, dataclasses, dicts or any objects with attributes. The parts of a
plain tuple are ``f0``, ``f1``, ..., and an event that is a single value is ``f0`` itself. If the
stream has a declared type, fields are of the types that it says. Otherwise each value is of the
type that Python's classes stand for: an int is a BIGINT, a float a DOUBLE, a str a STRING.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from operator import attrgetter
from types import NoneType
from typing import Any

import pyarrow as pa

from scurry.common.data_types import DataType, DataTypes, NullType, data_type_from_arrow
from scurry.common.errors import ProgramError, shorten
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.spelling import nearest
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row
from scurry.plan.node import schema_of

_DECIMAL = DataTypes.DECIMAL(38, 18)
_TYPES: dict[type, DataType] = {
    bool: DataTypes.BOOLEAN(),
    int: DataTypes.BIGINT(),
    float: DataTypes.DOUBLE(),
    str: DataTypes.STRING(),
    bytes: DataTypes.BYTES(),
    Decimal: _DECIMAL,
    date: DataTypes.DATE(),
    time: DataTypes.TIME(6),
}
#: Numbers of several classes in one field are of one type.
_MIXED: dict[frozenset[type], DataType] = {
    frozenset({int, float}): DataTypes.DOUBLE(),
    frozenset({int, Decimal}): _DECIMAL,
    frozenset({float, Decimal}): DataTypes.DOUBLE(),
    frozenset({int, float, Decimal}): DataTypes.DOUBLE(),
}
#: The name of the only field of an event that is a single value.
_SINGLE = "f0"
_SINGLES = (*_TYPES, datetime)
_MISSING = (AttributeError, KeyError, IndexError, ValueError, TypeError)


class FieldError(ProgramError):
    """An event does not have a field, or has values in it that expressions cannot read."""


class EventFields:
    """What is known of the fields of a stream's events.

    ``types`` are those of fields with a declared type, None if the type of the stream is not
    declared, or is one that columns cannot have. ``names`` are the fields that there are, None if
    only the events know.
    """

    def __init__(self, type_info: TypeInformation | None) -> None:
        schema = schema_of(type_info)
        self.names: tuple[str, ...] | None = None
        self._converted: dict[str, TypeInformation] = {}
        if isinstance(type_info, CompositeTypeInfo):
            self.names = type_info.field_names()
            pairs = zip(self.names, type_info.field_types(), strict=True)
            self._converted = {name: kind for name, kind in pairs if kind.need_conversion()}
        elif schema is not None:
            self.names = (_SINGLE,)
        self.types: Mapping[str, DataType] | None = None
        if schema is not None and self.names is not None:
            kinds = map(data_type_from_arrow, schema.types)
            self.types = dict(zip(self.names, kinds, strict=True))
        #: fields of dicts that some event had, or of which it was told that none has
        self._settled: set[str] = set()
        self._untold: list[str] = []

    def reader(self, name: str) -> Callable[[Any], Any]:
        """Reads a field of any event."""
        kind = self._converted.get(name) if self.types is not None else None

        def read(event: Any) -> Any:
            found: Any = type(event)
            try:
                value = reader_of(found, name)(event)
                if value is None and name not in self._settled:
                    self._look_for(name, [event])
                return value
            except _MISSING:
                raise missing_field(event, name) from None

        return read if kind is None else lambda event: kind.to_internal_type(read(event))

    def column(self, rows: list[Any], name: str) -> list[Any]:
        """A field of several events of one class; there is at least one."""
        kind = self._converted.get(name) if self.types is not None else None
        of: Any = type(rows[0])
        found = list(map(reader_of(of, name), rows))
        if name not in self._settled:
            self._look_for(name, rows)
        return found if kind is None else list(map(kind.to_internal_type, found))

    def _look_for(self, name: str, rows: list[Any]) -> None:
        """Note that dicts have a field, or that none of those that come first has it."""
        if not isinstance(rows[0], Mapping):
            return
        self._settled.add(name)
        if not any(name in row for row in rows):
            self._untold.append(
                f"A condition reads the field {name}, which none of the dicts has that came first. "
                f"{_known_fields(rows[0], name)} A field that a dict does not have counts as NULL, "
                "and nothing that is compared with NULL is true."
            )

    def news(self) -> list[str]:
        """What there is to be told of fields that events do not have, each of them once."""
        told, self._untold = self._untold, []
        return told


@functools.cache
def reader_of(kind: Any, name: str) -> Callable[[Any], Any]:
    """Reads a field of events of a class. What an event does not have raises; in a dict it is
    None."""
    if issubclass(kind, Row):
        return _row_reader(name)
    if issubclass(kind, Mapping):
        return lambda event: event.get(name)
    if issubclass(kind, tuple | list) and not hasattr(kind, "_fields"):
        at = _position(name)
        return lambda event: event[at]
    if issubclass(kind, _SINGLES) and name == _SINGLE:
        return lambda event: event
    return attrgetter(name)


def _row_reader(name: str) -> Callable[[Any], Any]:
    def read(row: Row) -> Any:
        names = row._names
        return row._values[_position(name) if names is None else names.index(name)]

    return read


def _position(name: str) -> int:
    """The place that ``f2`` stands for; no event has so many fields if it stands for none."""
    known = name[:1] == "f" and name[1:].isdigit()
    return int(name[1:]) if known else 1 << 30


def field_names(event: Any) -> list[str]:
    """The fields that an event has."""
    if isinstance(event, Row) and event._names is not None:
        return list(event._names)
    if isinstance(event, Mapping):
        return [name for name in event if isinstance(name, str)]
    if hasattr(event, "_fields"):
        return list(event._fields)
    if isinstance(event, Row | tuple | list):
        return [f"f{at}" for at in range(len(event))]
    if dataclasses.is_dataclass(event):
        return [field.name for field in dataclasses.fields(event)]
    if isinstance(event, _SINGLES):
        return [_SINGLE]
    return [name for name in getattr(event, "__dict__", ()) if not name.startswith("_")]


def missing_field(event: Any, name: str) -> FieldError:
    """The error for a field that an event does not have."""
    return FieldError(
        f"There is no field {name} in the event {shorten(event)} ({type(event).__name__}). "
        f"{_known_fields(event, name)}"
    )


def _known_fields(event: Any, name: str) -> str:
    """What may have been meant by a field that an event does not have."""
    known = field_names(event)
    near = nearest(name, known)
    return f"Did you mean {near}?" if near else f"It has {', '.join(known) or 'no fields'}."


def type_of_values(name: str, values: Iterable[Any]) -> DataType:
    """The type of a field that has these values in the events that are looked at together."""
    found = [value for value in values if value is not None]
    kinds = frozenset(map(type, found)) - {NoneType}
    if not kinds:
        return NullType()
    if len(kinds) > 1:
        mixed = _MIXED.get(kinds)
        if mixed is None:
            words = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise FieldError(f"The field {name} is of several types: {words}.")
        return mixed
    (kind,) = kinds
    if kind is datetime:
        aware = found[0].tzinfo is not None
        return DataTypes.TIMESTAMP_LTZ(6) if aware else DataTypes.TIMESTAMP(6)
    return _TYPES.get(kind) or _inferred(name, found[0])


def _inferred(name: str, value: Any) -> DataType:
    try:
        return data_type_from_arrow(pa.infer_type([value]))
    except (pa.ArrowException, TypeError, ValueError) as failure:
        raise FieldError(
            f"The field {name} has the value {shorten(value)} ({type(value).__name__}), which is "
            "of no type that expressions know."
        ) from failure
