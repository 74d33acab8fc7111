"""JSON objects as rows.

Decoding is typed: msgspec builds the fields straight from the bytes. A message that does not fit as
it is (a number written as text, say) is decoded again by the lenient rules of
:mod:`scurry.connectors.formats.conversions`, which are Flink's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import starmap
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec.structs import astuple

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo
from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.row_types import CompositeTypeInfo, RowTypeInfo
from scurry.common.scalar_types import BasicType
from scurry.common.serialization import DeserializationSchema, SerializationSchema
from scurry.common.time import Instant
from scurry.common.type_information import TypeInformation, describe
from scurry.common.typeinfo import Types
from scurry.common.types import Row
from scurry.connectors.formats.conversions import (
    WIDTHS,
    Convert,
    basic_type,
    is_bytes,
    naive,
    row_converter,
    temporal,
)
from scurry.connectors.formats.json_columns import FEW, object_type, read_objects

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]

_names_of, _values_of = attrgetter("_names"), attrgetter("_values")
_PLAIN: dict[BasicType, Any] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: bool,
    BasicType.BIG_INT: int,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
    BasicType.BIG_DEC: Decimal,
    BasicType.INSTANT: datetime,
}

#: The types of fields that Arrow's reader makes the same of.
_ARROW_READS = {*WIDTHS, BasicType.STRING, BasicType.BOOLEAN, BasicType.DOUBLE}


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads each message as one JSON object. Fields that are missing are None, fields that the
    type does not name are passed over."""

    def __init__(
        self,
        type_info: CompositeTypeInfo,
        fail_on_missing_field: bool = False,
        ignore_parse_errors: bool = False,
    ) -> None:
        self._type = type_info
        self._need_all = fail_on_missing_field
        self._ignore = ignore_parse_errors
        self._prepare()

    def _prepare(self) -> None:
        declared = self._type
        self._decoder = msgspec.json.Decoder(_struct(declared, self._need_all))
        self._lenient = row_converter(declared, self._ignore, self._need_all)
        self._finish = [_finisher(field) for field in declared.field_types()]
        self._names = declared.field_names() if isinstance(declared, RowTypeInfo) else None
        self._columns = None if self._need_all else _columns(declared)

    def columns_schema(self) -> pa.Schema | None:
        return self._columns

    def deserialize_columns(self, messages: list[bytes]) -> pa.RecordBatch | None:
        if self._columns is None:
            return None
        if len(messages) <= FEW and len(self._columns):
            return self._few_columns(messages, self._columns)
        return read_objects(messages, self._columns)

    def _few_columns(self, messages: list[bytes], schema: pa.Schema) -> pa.RecordBatch | None:
        try:
            fields = zip(*map(astuple, map(self._decoder.decode, messages)), strict=True)
            columns = [
                pa.array(values, kind) for values, kind in zip(fields, schema.types, strict=True)
            ]
        except (msgspec.MsgspecError, UnicodeError, pa.ArrowException):
            return None
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._type, self._need_all, self._ignore

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._type, self._need_all, self._ignore = state
        self._prepare()

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """A builder without settings."""
        return JsonRowDeserializationSchema.Builder()

    def get_produced_type(self) -> TypeInformation | None:
        return self._type

    def deserialize(self, message: bytes) -> Any:
        try:
            return self._rows([self._decoder.decode(message)])[0]
        except msgspec.MsgspecError:
            return self._one(message)

    def deserialize_batch(self, messages: list[bytes]) -> list[Any]:
        try:
            return self._rows(list(map(self._decoder.decode, messages)))
        except msgspec.MsgspecError:
            return list(map(self.deserialize, messages))

    def _rows(self, structs: list[Any]) -> list[Any]:
        if not structs:
            return []
        plain = isinstance(self._type, RowTypeInfo) and not any(self._finish)
        if plain:
            return Row.from_tuples(self._names, list(map(astuple, structs)))
        columns: list[Any] = list(zip(*map(astuple, structs), strict=True))
        for at, finish in enumerate(self._finish):
            if finish is not None:
                columns[at] = [None if value is None else finish(value) for value in columns[at]]
        if isinstance(self._type, RowTypeInfo):
            return Row.from_columns(self._names, columns)
        return list(map(self._type.build, zip(*columns, strict=True)))

    def _one(self, message: bytes) -> Any:
        """A message that is malformed, or fits only with good will."""
        try:
            try:
                content = msgspec.json.decode(message)
            except msgspec.DecodeError as wrong:
                raise TypeMismatchError(f"not JSON: {wrong}") from None
            return self._lenient(content)
        except TypeMismatchError:
            if self._ignore:
                return None
            raise

    class Builder:
        """Makes a :class:`JsonRowDeserializationSchema`; the type is needed."""

        def __init__(self) -> None:
            self._type: TypeInformation | None = None
            self._need_all = False
            self._ignore = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """The type of the rows."""
            self._type = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """The type of the rows, as a JSON schema."""
            self._type = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Refuse messages that lack a field."""
            self._need_all = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Take fields that cannot be read for None, and pass over messages that are no JSON."""
            self._ignore = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """The schema."""
            declared = _fields_of(self._type, "type_info(...) or json_schema(...)")
            if self._need_all and self._ignore:
                raise ProgramError(
                    "fail_on_missing_field and ignore_parse_errors contradict each other: call one."
                )
            return JsonRowDeserializationSchema(declared, self._need_all, self._ignore)


class JsonRowSerializationSchema(SerializationSchema):
    """Writes each row as one JSON object."""

    def __init__(self, type_info: CompositeTypeInfo) -> None:
        self._type = type_info
        self._prepare()

    def _prepare(self) -> None:
        self._encoder = msgspec.json.Encoder(decimal_format="number")
        self._names = self._type.field_names()
        self._values = [_writer(field) for field in self._type.field_types()]
        self._simple = not any(self._values)
        self._object = object_type(self._names)

    def __getstate__(self) -> Any:
        return {"_type": self._type}

    def __setstate__(self, state: Any) -> None:
        self._type = state["_type"]
        self._prepare()

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A builder without settings."""
        return JsonRowSerializationSchema.Builder()

    def serialize_batch(self, values: list[Any]) -> list[bytes | None]:
        if self._simple and self._object is not None and set(map(type, values)) == {Row}:
            held = set(map(_names_of, values))
            if held <= {None, self._names}:
                # what has too many values, or some that cannot be written, is named one by one
                with suppress(TypeError):
                    objects = starmap(self._object, map(_values_of, values))
                    return list(map(self._encoder.encode, objects))
        return list(map(self.serialize, values))

    def serialize(self, value: Any) -> bytes:
        values: Sequence[Any]
        if type(value) is Row and value._names in (None, self._names):
            values = value._values
        else:
            values = self._type.field_values(value)
        if len(values) != len(self._names):
            raise TypeMismatchError(
                f"expected a row with the fields {list(self._names)}, got {describe(value)}"
            )
        if not self._simple:
            values = [
                item if write is None or item is None else write(item)
                for item, write in zip(values, self._values, strict=True)
            ]
        return self._encoder.encode(dict(zip(self._names, values, strict=True)))

    class Builder:
        """Makes a :class:`JsonRowSerializationSchema`; the type is needed."""

        def __init__(self) -> None:
            self._type: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """The type of the rows."""
            self._type = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema."""
            return JsonRowSerializationSchema(_fields_of(self._type, "with_type_info(...)"))


def _columns(declared: CompositeTypeInfo) -> pa.Schema | None:
    """The columns of such rows, if Arrow reads all of their fields as they are read here, or
    refuses to."""
    if not all(basic_type(field) in _ARROW_READS for field in declared.field_types()):
        return None
    types = [field.arrow_type() for field in declared.field_types()]
    return pa.schema(list(zip(declared.field_names(), types, strict=True)))


def _fields_of(declared: Any, call: str) -> CompositeTypeInfo:
    if not isinstance(declared, CompositeTypeInfo):
        raise ProgramError(
            f"A row format needs a type with fields, such as Types.ROW_NAMED(...), got "
            f"{declared!r}: call {call} with one."
        )
    return declared


def _struct(declared: CompositeTypeInfo, need_all: bool = False) -> type[msgspec.Struct]:
    """The msgspec type of a JSON object with those fields."""
    names = declared.field_names()
    fields: list[Any] = []
    for at, field in enumerate(declared.field_types()):
        kind = _annotation(field) | None
        fields.append((f"f{at}", kind) if need_all else (f"f{at}", kind, None))
    return msgspec.defstruct(
        "Fields", fields, rename={f"f{at}": name for at, name in enumerate(names)}
    )


def _annotation(declared: TypeInformation) -> Any:
    basic = basic_type(declared)
    if basic is not None:
        if basic in WIDTHS:
            bound = 1 << (WIDTHS[basic] - 1)
            return Annotated[int, msgspec.Meta(ge=-bound, le=bound - 1)]
        return _PLAIN[basic]
    if is_bytes(declared):
        return bytes
    if temporal(declared) is not None:
        return temporal(declared)
    if isinstance(declared, CompositeTypeInfo):
        return _struct(declared)
    if isinstance(declared, ListTypeInfo):
        return list[_annotation(declared.elem_type) | None]  # type: ignore[misc]
    if isinstance(declared, MapTypeInfo):
        key, value = declared._args()
        return dict[_annotation(key), _annotation(value) | None]  # type: ignore[misc]
    raise ProgramError(f"The JSON format cannot hold values of type {declared!r}.")


def _finisher(declared: TypeInformation) -> Convert | None:
    """What is left to do with a decoded value, None for nothing."""
    if temporal(declared) is datetime:
        return naive
    if temporal(declared) is time:
        return lambda value: value.replace(tzinfo=None)
    if basic_type(declared) is BasicType.INSTANT:
        return lambda value: Instant.of_datetime(value.astimezone(UTC))
    if isinstance(declared, CompositeTypeInfo):
        fields = [_optional(_finisher(field)) for field in declared.field_types()]
        return lambda value: declared.build(
            field(item) for field, item in zip(fields, astuple(value), strict=True)
        )
    if isinstance(declared, ListTypeInfo) and not is_bytes(declared):
        item = _finisher(declared.elem_type)
        return None if item is None else lambda value: [_optional(item)(one) for one in value]
    if isinstance(declared, MapTypeInfo):
        last = _finisher(declared._args()[1])
        if last is not None:
            return lambda value: {key: _optional(last)(one) for key, one in value.items()}
    return None


def _optional(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _writer(declared: TypeInformation) -> Convert | None:
    """What a value needs before msgspec writes it, None for nothing."""
    writers: dict[Any, Callable[[Any], Any]] = {
        datetime: lambda value: f"{value.isoformat()}Z",
        time: lambda value: f"{value.isoformat()}Z",
        date: lambda value: value.isoformat(),
    }
    kind = temporal(declared)
    if kind is not None:
        return writers[kind]
    if basic_type(declared) is BasicType.INSTANT:
        return lambda value: value.to_datetime().isoformat().replace("+00:00", "Z")
    if isinstance(declared, CompositeTypeInfo):
        names = declared.field_names()
        fields = [_optional(_writer(field)) for field in declared.field_types()]
        return lambda value: {
            name: field(item)
            for name, field, item in zip(names, fields, declared.field_values(value), strict=True)
        }
    if isinstance(declared, ListTypeInfo) and not is_bytes(declared):
        item = _writer(declared.elem_type)
        return None if item is None else lambda value: [_optional(item)(one) for one in value]
    return None


def type_of_json_schema(text: str) -> TypeInformation:
    """The type that a JSON schema describes: objects are rows, numbers decimals."""
    try:
        content = msgspec.json.decode(text)
    except msgspec.DecodeError as wrong:
        raise ProgramError(f"The JSON schema is no JSON: {wrong}") from None
    return _described(content)


def _described(content: Any) -> TypeInformation:
    kind = content.get("type") if isinstance(content, dict) else None
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), None)
    if kind == "object":
        fields = content.get("properties", {})
        return Types.ROW_NAMED(list(fields), [_described(field) for field in fields.values()])
    if kind == "array":
        return Types.OBJECT_ARRAY(_described(content.get("items")))
    if kind == "string":
        formats = {
            "date": Types.SQL_DATE,
            "time": Types.SQL_TIME,
            "date-time": Types.SQL_TIMESTAMP,
        }
        return formats.get(content.get("format"), Types.STRING)()
    simple = {"number": Types.BIG_DEC, "integer": Types.BIG_INT, "boolean": Types.BOOLEAN}
    if kind not in simple:
        raise ProgramError(f"The JSON schema has a part of no known type: {describe(content)}.")
    return simple[kind]()
