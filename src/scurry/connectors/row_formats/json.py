"""JSON objects as rows.

Three ways, the fastest that fits: Arrow's own reader, if the types are such as JSON has; one call
of msgspec for all messages, and then column by column; at last message by message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from scurry.common.data_types import (
    ArrayType,
    BooleanType,
    CharacterStringType,
    DataType,
    DoubleType,
    IntegralType,
    RowType,
)
from scurry.connectors.formats.json_columns import FEW, read_objects
from scurry.connectors.row_formats.contract import (
    DecodedRows,
    DecodingFormat,
    EncodingFormat,
    Kinds,
    columns_of,
    each_message,
)
from scurry.connectors.row_formats.values import SQL, read_column, write_column

__all__ = ["JsonDecoding", "JsonEncoding"]


class JsonDecoding(DecodingFormat):
    """Reads each message as one JSON object. Fields that are missing are NULL, fields that the
    table does not have are passed over."""

    def __init__(
        self,
        row_type: RowType,
        ignore_parse_errors: bool = False,
        fail_on_missing_field: bool = False,
        timestamps: str = SQL,
    ) -> None:
        super().__init__(row_type, ignore_parse_errors)
        self._need_all = fail_on_missing_field
        self._timestamps = timestamps
        simple = all(_arrow_reads(field.data_type) for field in row_type)
        self._straight = simple and not fail_on_missing_field and len(row_type) > 0

    def decode(self, messages: Sequence[bytes]) -> DecodedRows:
        if self._straight and len(messages) > FEW:
            columns = read_objects(messages, self.row_type.arrow_schema())
            if columns is not None:
                return DecodedRows(columns)
        try:
            objects = msgspec.json.decode(b"[" + b",".join(messages) + b"]")
            if len(objects) == len(messages):
                return DecodedRows(self._columns(objects, lenient=False))
        except (ValueError, TypeError, KeyError, pa.ArrowException):
            pass
        return self._one_by_one(messages)

    def _columns(self, objects: list[Any], lenient: bool) -> pa.RecordBatch:
        if not all(type(one) is dict for one in objects):
            raise TypeError("expected an object")
        lists = []
        for field in self.row_type:
            name = field.name
            if self._need_all and not all(name in one for one in objects):
                raise KeyError(f"there is no field {name!r}")
            values = [one.get(name) for one in objects]
            lists.append(read_column(values, field.data_type, self._timestamps, lenient))
        return columns_of(self.row_type, lists)

    def _one_by_one(self, messages: Sequence[bytes]) -> DecodedRows:
        def read(message: bytes) -> Any:
            found = msgspec.json.decode(message)
            self._columns([found], self.ignore)
            return found

        objects, places = each_message(messages, read, self.ignore, _explain)
        origin = None if len(places) == len(messages) else np.array(places, dtype=np.int64)
        return DecodedRows(self._columns(objects, self.ignore), None, origin)


class JsonEncoding(EncodingFormat):
    """Writes each row as one JSON object."""

    def __init__(
        self,
        row_type: RowType,
        timestamps: str = SQL,
        decimals_as_plain: bool = False,
        ignore_null_fields: bool = False,
    ) -> None:
        super().__init__(row_type)
        self._timestamps = timestamps
        self._plain = decimals_as_plain
        self._ignore_nulls = ignore_null_fields

    def encode(self, columns: pa.RecordBatch, kinds: Kinds | None) -> list[bytes]:
        encode = msgspec.json.Encoder(decimal_format="number").encode
        return list(map(encode, self.objects(columns)))

    def objects(self, columns: pa.RecordBatch) -> list[dict[str, Any]]:
        """The rows as plain objects."""
        names = self.row_type.field_names()
        lists = [
            write_column(column, field.data_type, self._timestamps)
            for column, field in zip(columns.columns, self.row_type, strict=True)
        ]
        if not lists:
            return [{} for _ in range(columns.num_rows)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
        if self._ignore_nulls:
            return [{k: v for k, v in row.items() if v is not None} for row in rows]
        return rows


def _explain(failure: Exception) -> str:
    if isinstance(failure, msgspec.DecodeError):
        return f"not JSON ({failure})"
    if isinstance(failure, KeyError):
        return str(failure.args[0])
    return str(failure) or type(failure).__name__


def _arrow_reads(data_type: DataType) -> bool:
    """Whether Arrow reads such values as Flink does, or refuses to."""
    if isinstance(data_type, ArrayType):
        return _arrow_reads(data_type.element_type)
    if isinstance(data_type, RowType):
        return all(_arrow_reads(field.data_type) for field in data_type)
    return isinstance(data_type, BooleanType | IntegralType | CharacterStringType | DoubleType)
