"""JSON lines: one JSON value in each line.

Without a declared type records are what JSON says: dicts, lists, numbers. With one they are Rows,
dataclasses or whatever the type builds, and a value of another type is a malformed record. A whole
piece of the file is decoded in one call.
"""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import msgspec

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo
from scurry.common.errors import ProgramError
from scurry.common.row_types import CompositeTypeInfo, DataclassTypeInfo, RowTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.common.types import Row
from scurry.connectors.files.lines import LineFormat
from scurry.functions.source import SourceBatch

_SCALARS: dict[TypeInformation, Any] = {
    Types.STRING(): str,
    Types.BOOLEAN(): bool,
    Types.FLOAT(): float,
    Types.DOUBLE(): float,
    Types.BIG_INT(): int,
    Types.BIG_DEC(): decimal.Decimal,
    Types.SQL_DATE(): datetime.date,
    Types.SQL_TIME(): datetime.time,
    Types.SQL_TIMESTAMP(): datetime.datetime,
}
_WHOLE = {Types.BYTE(): 8, Types.SHORT(): 16, Types.INT(): 32, Types.LONG(): 64}


class JsonLinesFormat(LineFormat):
    """Each line as a JSON value, held to ``type_info`` if one is given."""

    failures = (msgspec.DecodeError, UnicodeDecodeError)

    def __init__(self, type_info: TypeInformation | type | None = None) -> None:
        if type_info is not None and not isinstance(type_info, TypeInformation):
            type_info = Types.of(type_info)
        self._type = type_info
        self._make_decoder()

    def _make_decoder(self) -> None:
        wanted = Any if self._type is None else _annotation(self._type)
        self._decode = msgspec.json.Decoder(wanted).decode_lines

    def __getstate__(self) -> dict[str, Any]:
        return {"_type": self._type}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._type = state["_type"]
        self._make_decoder()

    @property
    def type_info(self) -> TypeInformation | None:
        return self._type

    def parse(self, data: bytes) -> SourceBatch | None:
        rows = self._decode(data)
        if isinstance(self._type, RowTypeInfo):
            columns = list(zip(*map(msgspec.structs.astuple, rows), strict=True))
            columns = columns or [()] * len(self._type.field_names())
            if not any(map(_nested, self._type.field_types())):
                return SourceBatch(rows=Row.from_columns(self._type.field_names(), columns))
        if self._type is not None:
            rows = [_built(row, self._type) for row in rows]
        return SourceBatch(rows=rows) if rows else None

    def explain(self, failure: Exception) -> str:
        return f"not the JSON that was expected: {failure}"


def _nested(type_info: TypeInformation) -> bool:
    return isinstance(type_info, (CompositeTypeInfo, ListTypeInfo, MapTypeInfo))


def _annotation(type_info: TypeInformation) -> Any:
    """What msgspec calls that type."""
    if type_info in _WHOLE:
        limit = 1 << (_WHOLE[type_info] - 1)
        return int if limit >= 1 << 63 else _bounded(limit)
    if type_info in _SCALARS:
        return _SCALARS[type_info]
    if isinstance(type_info, ListTypeInfo):
        return list[_annotation(type_info.elem_type)]  # type: ignore[misc]
    if isinstance(type_info, DataclassTypeInfo):
        return type_info.element_class
    if isinstance(type_info, CompositeTypeInfo):
        pairs = zip(type_info.field_names(), type_info.field_types(), strict=True)
        fields = [(name, _annotation(kind) | None, None) for name, kind in pairs]
        return msgspec.defstruct("Row", fields)
    if isinstance(type_info, MapTypeInfo):
        key, value = type_info._key_type_info, type_info._value_type_info
        return dict[_annotation(key), _annotation(value)]  # type: ignore[misc]
    raise ProgramError(
        f"JsonLinesFormat cannot make {type_info!r} out of JSON: use numbers, texts, booleans, "
        "dates, lists, maps, rows or dataclasses."
    )


def _bounded(limit: int) -> Any:
    from typing import Annotated

    return Annotated[int, msgspec.Meta(ge=-limit, lt=limit)]


def _built(value: Any, type_info: TypeInformation) -> Any:
    """``value``, decoded as :func:`_annotation` says, as an element of the type."""
    if value is None or isinstance(type_info, DataclassTypeInfo):
        return value
    if isinstance(type_info, CompositeTypeInfo):
        values = msgspec.structs.astuple(value)
        return type_info.build(map(_built, values, type_info.field_types()))
    if isinstance(type_info, ListTypeInfo):
        return [_built(item, type_info.elem_type) for item in value]
    return value
