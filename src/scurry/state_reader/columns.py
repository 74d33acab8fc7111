"""Python values as columns of Arrow: of a type that was declared, that all have, or as text.

A state may declare the type of its values; its schema, which lies in the checkpoint, becomes a type
of Arrow. Otherwise the type is the one that all values have in common: a dataclass or row becomes a
struct, a tuple a struct with the fields ``f0``, ``f1`` ..., a dict a map, a list or set a list. If
they have none in common, each value becomes a text, in JSON or as ``repr`` writes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from scurry.common.errors import StateError, shorten
from scurry.common.types import Row
from scurry.state.codecs.encoding import Null
from scurry.state.codecs.plain import Fields
from scurry.state.codecs.schema import BYTES, Schema

#: What becomes of values that have no type of Arrow in common.
Fallback = Literal["json", "repr"]
#: How the metadata of a column says that it holds texts in place of values.
AS_TEXT = b"scurry:text"
_SCALARS: dict[str, pa.DataType] = {
    "STRING": pa.string(),
    "CHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "BYTE": pa.int8(),
    "SHORT": pa.int16(),
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float64(),
    "DOUBLE": pa.float64(),
    BYTES: pa.binary(),
}
_OF_CLASSES: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
}
_AS_THEY_ARE = frozenset({type(None), *_OF_CLASSES})
#: What PyArrow raises where values are not of a type.
_UNFIT = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


class _Tuple(Fields):
    """A tuple: its fields, by number."""


class _Pairs(list[tuple[Any, Any]]):
    """A dict: its entries."""


@dataclasses.dataclass(frozen=True)
class Column:
    """Values as Arrow has them, and how they were written if they are texts in place of values."""

    values: pa.Array
    text: Fallback | None = None

    def field(self, name: str, kind: pa.DataType | None = None) -> pa.Field:
        """The field of a table, or of a struct, that holds these values."""
        made = pa.field(name, self.values.type if kind is None else kind)
        return made if self.text is None else made.with_metadata({AS_TEXT: self.text})


def column(
    values: Iterable[Any], schema: Schema | None = None, fallback: Fallback = "json"
) -> Column:
    """``values`` as a column; ``schema`` is the declared type, where there is one."""
    values = list(values)
    scalars = _AS_THEY_ARE.issuperset(map(type, values))
    plain = values if scalars else [_plain(value) for value in values]
    for kind in _candidates(plain, schema):
        try:
            shaped = plain if scalars else [_shaped(value, kind) for value in plain]
            return Column(pa.array(shaped, kind))
        except _UNFIT:
            continue
    if fallback == "json":
        texts = [None if value is None else _json(value) for value in plain]
    else:
        texts = [None if value is None else repr(value) for value in values]
    return Column(pa.array(texts, pa.string()), fallback)


def _candidates(plain: list[Any], schema: Schema | None) -> Iterator[pa.DataType]:
    """The types that the values may have, the declared one first."""
    declared = None if schema is None else arrow_type(schema)
    if declared is not None:
        yield declared
    common = _common(plain)
    if common is not None:
        yield common


def arrow_type(schema: Schema) -> pa.DataType | None:
    """The type of Arrow for a declared type, None if the values have to tell."""
    if isinstance(schema, str):
        return _SCALARS.get(schema)
    kind, inner = next(iter(schema.items()))
    if kind == "class":
        return _struct([name for name, _, _ in schema["fields"]], [f[1] for f in schema["fields"]])
    if kind == "row":
        return _struct(*inner)
    if kind == "tuple":
        return _struct([f"f{at}" for at in range(len(inner))], inner)
    if kind not in ("list", "map"):
        return None
    parts = [arrow_type(part) for part in (inner if kind == "map" else [inner])]
    if None in parts:
        return None
    return pa.map_(*parts) if kind == "map" else pa.list_(*parts)


def _struct(names: list[str], schemas: list[Schema]) -> pa.DataType | None:
    kinds = [arrow_type(each) for each in schemas]
    return None if None in kinds else pa.struct(list(zip(names, kinds, strict=True)))


def _plain(value: Any) -> Any:
    """``value`` out of nothing but scalars, lists and the classes of this module; what cannot be
    taken apart stays as it is."""
    if value is None or type(value) in _OF_CLASSES:
        return value
    if isinstance(value, Null):
        return None
    if isinstance(value, (Fields, Row, tuple)):
        return _of_fields(value)
    if isinstance(value, Mapping):
        return _Pairs((_plain(key), _plain(each)) for key, each in value.items())
    if isinstance(value, (list, set, frozenset)):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    return _of_class(value)


def _of_fields(value: Any) -> Any:
    if isinstance(value, Fields):
        return Fields({name: _plain(each) for name, each in value.items()})
    names = value._names if isinstance(value, Row) else getattr(value, "_fields", None)
    if names is None:
        return _Tuple({f"f{at}": _plain(each) for at, each in enumerate(value)})
    return Fields({str(name): _plain(each) for name, each in zip(names, value, strict=False)})


def _of_class(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
    elif isinstance(value, msgspec.Struct):
        names = list(value.__struct_fields__)
    else:
        return value
    return Fields({name: _plain(getattr(value, name)) for name in names})


def _common(values: list[Any]) -> pa.DataType | None:
    """The type that all ``values`` have, None if there is none."""
    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    if not kinds:
        return pa.null()
    if len(kinds) > 1:
        return pa.float64() if kinds == {int, float} else None
    (kind,) = kinds
    if kind in _OF_CLASSES:
        return _OF_CLASSES[kind]
    if kind in (Fields, _Tuple):
        return _common_struct(present, same_length=kind is _Tuple)
    if kind is _Pairs:
        parts = [_common([pair[at] for each in present for pair in each]) for at in (0, 1)]
        return None if None in parts else pa.map_(*parts)
    if kind is list:
        inner = _common(list(chain.from_iterable(present)))
        return None if inner is None else pa.list_(inner)
    try:
        return pa.array(present).type
    except _UNFIT:
        return None


def _common_struct(values: list[Fields], same_length: bool) -> pa.DataType | None:
    if same_length and len(set(map(len, values))) > 1:
        return None
    names = list(dict.fromkeys(chain.from_iterable(values)))
    kinds = [_common([value.get(name) for value in values]) for name in names]
    return None if None in kinds else pa.struct(list(zip(names, kinds, strict=True)))


def _shaped(value: Any, kind: pa.DataType) -> Any:
    """A plain value as PyArrow takes one of the type ``kind``."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return _shaped_fields(value, kind)
    if pa.types.is_map(kind) and isinstance(value, _Pairs):
        return [(_shaped(k, kind.key_type), _shaped(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind) and isinstance(value, (list, _Tuple)):
        items = value.values() if isinstance(value, _Tuple) else value
        return [_shaped(each, kind.value_type) for each in items]
    return value


def _shaped_fields(value: Any, kind: pa.StructType) -> Any:
    fields = list(kind)
    if isinstance(value, _Pairs):
        value = Fields(value)
    elif isinstance(value, (_Tuple, list)):
        # by number: the fields of a row without names, and of a tuple that was written as a list
        items = list(value.values()) if isinstance(value, _Tuple) else value
        if len(items) != len(fields):
            raise pa.ArrowInvalid("another number of fields")
        value = {field.name: each for field, each in zip(fields, items, strict=True)}
    if not isinstance(value, dict):
        raise pa.ArrowInvalid("not a struct")
    return {field.name: _shaped(value.get(field.name), field.type) for field in fields}


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(_for_json(value)).decode()
    except (TypeError, ValueError, msgspec.MsgspecError) as failure:
        raise StateError(
            f"The values of this state have no type in common, and {shorten(value)} cannot be "
            f"written as JSON ({failure}). Read them as texts, with fallback='repr'."
        ) from failure


def _for_json(value: Any) -> Any:
    if isinstance(value, _Tuple):
        return [_for_json(each) for each in value.values()]
    if isinstance(value, Fields):
        return {name: _for_json(each) for name, each in value.items()}
    if isinstance(value, _Pairs):
        if all(isinstance(key, str) for key, _ in value):
            return {key: _for_json(each) for key, each in value}
        return [[_for_json(key), _for_json(each)] for key, each in value]
    return [_for_json(each) for each in value] if isinstance(value, list) else value
