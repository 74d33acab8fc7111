"""Declared types as msgspec sees them: faster and smaller than a pickle, and open to change.

A type can be written by msgspec if everything in it is known: scalars, dates, lists, tuples, maps
and dataclasses of such. Fields of dataclasses are written with their names, so a class may gain
fields with defaults, lose fields, and turn whole numbers into floats.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo
from scurry.common.row_types import DataclassTypeInfo, TupleTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.state.codecs.pickles import find_class
from scurry.state.codecs.schema import BYTES, Schema, schema_of

#: Types whose values are written like those of states without a declared type, only faster.
SCALAR_TYPES: dict[Any, type] = {
    **dict.fromkeys(("STRING", "CHAR"), str),
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), int),
    **dict.fromkeys(("FLOAT", "DOUBLE"), float),
    "BOOLEAN": bool,
    BYTES: bytes,
}
_OTHERS: dict[str, type] = {
    "BIG_DEC": Decimal,
    "SQL_DATE": dt.date,
    "SQL_TIME": dt.time,
    "SQL_TIMESTAMP": dt.datetime,
    "LOCAL_DATE": dt.date,
    "LOCAL_TIME": dt.time,
    "LOCAL_DATE_TIME": dt.datetime,
}
_encode = msgspec.msgpack.Encoder().encode


class DeclaredType:
    """A declared type that msgspec can write."""

    def __init__(self, info: TypeInformation, annotation: Any) -> None:
        self.info = info
        self.encode = _encode
        self._class = info.element_class if isinstance(info, DataclassTypeInfo) else None
        self.one = msgspec.msgpack.Decoder(annotation)
        self.many = msgspec.msgpack.Decoder(list[annotation | None])

    def converted(self, value: Any) -> Any:
        """``value``, which conforms, as it will be when it is read from the store."""
        return self.one.decode(self.encode(value))

    def fault(self, value: Any, data: bytes) -> str | None:
        """What is wrong with a value whose bytes are ``data``, None if it can be read again."""
        if self._class is not None and type(value) is not self._class:
            return self.info.check(value)
        try:
            self.one.decode(data)
        except msgspec.ValidationError as failure:
            return self.info.check(value) or str(failure)
        return None


def declared_type(info: TypeInformation | None) -> DeclaredType | None:
    """The declared type, if msgspec can write it and it is no scalar."""
    schema = schema_of(info)
    if info is None or (isinstance(schema, str) and schema in SCALAR_TYPES):
        return None
    annotation = _annotation(info)
    if annotation is None:
        return None
    try:
        return DeclaredType(info, annotation)
    except (TypeError, NameError, AttributeError):
        return None


def scalar_type(info: TypeInformation | None) -> type | None:
    """The Python type of a declared scalar."""
    schema = schema_of(info)
    return SCALAR_TYPES.get(schema) if isinstance(schema, str) else None


def _annotation(info: TypeInformation) -> Any:
    schema = schema_of(info)
    if isinstance(schema, str):
        found = SCALAR_TYPES.get(schema) or _OTHERS.get(schema)
        return None if schema == "BIG_INT" else found
    if isinstance(info, DataclassTypeInfo):
        known = all(_annotation(field) is not None for field in info.field_types())
        return info.element_class if known and info._is_its_fields() else None
    if isinstance(info, ListTypeInfo):
        inner = [_annotation(info.elem_type)]
    elif isinstance(info, MapTypeInfo):
        inner = [_annotation(info._key_type_info), _annotation(info._value_type_info)]
        if inner[0] not in (str, int, bytes):
            return None
    elif isinstance(info, TupleTypeInfo):
        inner = [_annotation(field) for field in info.field_types()]
    else:
        return None
    return None if None in inner else _container(type_kind(schema), inner)


def type_kind(schema: Schema) -> str:
    """The kind of a schema that is no scalar."""
    return str(next(iter(schema)))


def _container(kind: str, inner: list[Any]) -> Any:
    optional = [part | None for part in inner]
    if kind == "list":
        return list[optional[0]]  # type: ignore[valid-type]
    if kind == "map":
        return dict[inner[0], optional[1]]  # type: ignore[valid-type]
    return tuple[tuple(optional)]  # type: ignore[misc]


def decoders_of(
    schema: Schema, class_of: Callable[[Schema], Any] | None = None
) -> tuple[Any, Any] | None:
    """Decoders of one value and of a list of values of a type declared earlier, if all of its
    classes are still there; ``class_of`` gives others for them."""
    annotation = _annotation_of_schema(schema, class_of or _class_of_schema)
    if annotation is None:
        return None
    try:
        many: Any = list[annotation | None]  # type: ignore[valid-type]
        return msgspec.msgpack.Decoder(annotation), msgspec.msgpack.Decoder(many)
    except (TypeError, NameError, AttributeError):
        return None


def plain_decoders(schema: Schema) -> tuple[Any, Any] | None:
    """Like :func:`decoders_of`, without the program: instances of its classes become those of
    classes made up here, with the same fields."""
    return decoders_of(schema, _made_up)


def _class_of_schema(schema: Schema) -> Any:
    module, _, qualname = schema["class"].partition(":")
    return find_class(module, qualname)


def _made_up(schema: Schema) -> Any:
    fields = []
    for name, kind, _ in schema["fields"]:
        found = _annotation_of_schema(kind, _made_up)
        fields.append((name, Any if found is None else found | None, None))
    return msgspec.defstruct(schema["class"].rpartition(".")[2].rpartition(":")[2], fields)


def _annotation_of_schema(schema: Schema, class_of: Callable[[Schema], Any]) -> Any:
    if isinstance(schema, str):
        return SCALAR_TYPES.get(schema) or _OTHERS.get(schema)
    kind = type_kind(schema)
    if kind == "class":
        return class_of(schema)
    if kind not in ("list", "map", "tuple"):
        return None
    parts = schema[kind] if isinstance(schema[kind], list) else [schema[kind]]
    inner = [_annotation_of_schema(part, class_of) for part in parts]
    return None if None in inner else _container(kind, inner)
