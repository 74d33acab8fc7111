"""Types from Python's own annotations.

PyFlink programs name the output type of every step. In Scurry an ordinary annotation does:
``def parse(line: str) -> Reading`` tells all there is to know. `infer_type` reads an annotation,
`return_type_of` that of a function's result, and `yield_type_of` that of the items a function
returns or yields one after another.

An annotation is a hint, not a promise: Python does not enforce it, and ``int`` has no bounds while
`LONG` has. What cannot be told becomes `PICKLED_BYTE_ARRAY`, which fits every value.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo
from scurry.common.errors import TypeMismatchError
from scurry.common.row_types import DataclassTypeInfo, NamedTupleTypeInfo, TupleTypeInfo
from scurry.common.scalar_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    PickledBytesTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from scurry.common.time import Instant
from scurry.common.type_information import TypeInformation, describe

__all__ = ["dataclass_type", "infer_type", "return_type_of", "yield_type_of"]

_SIMPLE: dict[Any, TypeInformation] = {
    bool: BasicTypeInfo(BasicType.BOOLEAN),
    int: BasicTypeInfo(BasicType.LONG),
    float: BasicTypeInfo(BasicType.DOUBLE),
    str: BasicTypeInfo(BasicType.STRING),
    bytes: PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE)),
    Decimal: BasicTypeInfo(BasicType.BIG_DEC),
    Instant: InstantTypeInfo(),
    date: DateTypeInfo(),
    time: TimeTypeInfo(),
    datetime: TimestampTypeInfo(),
}
_PICKLED = PickledBytesTypeInfo()
_STREAMS = (
    collections.abc.Generator,
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.AsyncGenerator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.Sequence,
    collections.abc.Collection,
    list,
    set,
    frozenset,
)


def infer_type(annotation: Any) -> TypeInformation:
    """The type an annotation stands for; `PICKLED_BYTE_ARRAY` where it cannot be told."""
    return _infer(annotation, frozenset())


def dataclass_type(cls: Any) -> DataclassTypeInfo:
    """The type of a dataclass, its fields typed by their annotations."""
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise TypeMismatchError(
            f"Types.DATACLASS needs a dataclass, got {describe(cls)}: decorate the class "
            "with @dataclass"
        )
    return _dataclass(cls, frozenset())


def return_type_of(fn: Callable[..., Any]) -> TypeInformation | None:
    """The type of what a callable returns, or None if it has no annotation to tell it by."""
    annotation = _return_annotation(fn)
    return None if annotation is inspect.Signature.empty else infer_type(annotation)


def yield_type_of(fn: Callable[..., Any]) -> TypeInformation | None:
    """The type of the items of what a callable returns or yields, such as T of ``Iterable[T]``.

    None if there is no annotation, or it does not name a type of items.
    """
    annotation = _strip(_return_annotation(fn))
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if arguments and (origin in _STREAMS or (origin is tuple and arguments[1:] == (...,))):
        return infer_type(arguments[0])
    return None


def _return_annotation(fn: Any) -> Any:
    while isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, type):
        return fn
    if not inspect.isroutine(fn) and not hasattr(fn, "__wrapped__"):
        fn = type(fn).__call__
    try:
        return typing.get_type_hints(fn).get("return", inspect.Signature.empty)
    except (NameError, TypeError, AttributeError):
        return inspect.Signature.empty


def _strip(annotation: Any) -> Any:
    """Take off what does not matter here: Annotated, NewType, aliases, Optional."""
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif typing.get_origin(annotation) in (typing.Union, types.UnionType):
            members = [a for a in typing.get_args(annotation) if a is not types.NoneType]
            if len(members) != 1:
                return annotation
            annotation = members[0]
        else:
            return annotation


def _infer(annotation: Any, active: frozenset[type]) -> TypeInformation:
    if isinstance(annotation, TypeInformation):
        return annotation
    annotation = _strip(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        return _infer_class(annotation, active)
    inner = functools.partial(_infer, active=active)
    if origin is list:
        return ListTypeInfo(inner(arguments[0]))
    if origin is dict:
        return MapTypeInfo(*map(inner, arguments))
    if origin is tuple and ... not in arguments:
        return TupleTypeInfo(map(inner, arguments))
    if origin is typing.Literal:
        found = {_infer_class(type(value), active) for value in arguments if value is not None}
        return found.pop() if len(found) == 1 else _PICKLED
    return _infer_class(origin, active)


def _infer_class(cls: Any, active: frozenset[type]) -> TypeInformation:
    if not isinstance(cls, type) or cls in active:
        return _PICKLED
    if cls in _SIMPLE:
        return _SIMPLE[cls]
    try:
        if dataclasses.is_dataclass(cls):
            return _dataclass(cls, active)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return NamedTupleTypeInfo(cls, _field_types(cls, cls._fields, active))
    except TypeMismatchError:
        return _PICKLED
    return _PICKLED


def _dataclass(cls: type[Any], active: frozenset[type]) -> DataclassTypeInfo:
    names = [field.name for field in dataclasses.fields(cls)]
    return DataclassTypeInfo(cls, _field_types(cls, names, active))


def _field_types(
    cls: type[Any], names: collections.abc.Iterable[str], active: frozenset[type]
) -> list[TypeInformation]:
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise TypeMismatchError(
            f"cannot read the annotations of {cls.__qualname__}: {error}; what they name must be "
            "visible in the module that defines the class"
        ) from error
    return [_infer(hints.get(name, Any), active | {cls}) for name in names]
