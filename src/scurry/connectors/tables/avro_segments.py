"""Avro files of a table's rows."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from scurry.common.data_types import RowType
from scurry.common.serialization import BulkWriterFactory, SegmentWriter
from scurry.connectors.files.avro_format import AvroSchema
from scurry.connectors.files.writers import AvroBulkWriters
from scurry.connectors.row_formats.avro import avro_rows, avro_schema

__all__ = ["AvroSegments"]


class AvroSegments(BulkWriterFactory):
    """Segments of Avro's files, from columns."""

    suffix = ".avro"
    columnar = True

    def __init__(self, row_type: RowType) -> None:
        self._row_type = row_type
        schema = AvroSchema.parse_string(json.dumps(avro_schema(row_type)))
        self._rows = AvroBulkWriters.for_generic_record(schema)
        self.join = self._rows.join  # type: ignore[method-assign]
        self.measure = self._rows.measure  # type: ignore[method-assign]
        self.cut = self._rows.cut  # type: ignore[method-assign]

    def create(self, path: str) -> SegmentWriter:
        return _Records(self._rows.create(path), self._row_type)


class _Records(SegmentWriter):
    def __init__(self, inner: SegmentWriter, row_type: RowType) -> None:
        self._inner = inner
        self._row_type = row_type

    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        assert columns is not None
        self._inner.write(avro_rows(self._row_type, columns), None)

    def close(self) -> None:
        self._inner.close()
