"""Files as tables: lines of a format, Parquet and Avro files, with partitions as directories.

Columns that a table is partitioned by are not in its files: their values are in the names of
directories, ``country=NL/day=2024-01-31``.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataType, DataTypes, RowType
from scurry.common.serialization import BulkWriterFactory, SegmentWriter
from scurry.connectors.files.avro_format import AvroReaderFormat
from scurry.connectors.files.buckets import Assigned, BucketAssigner
from scurry.connectors.files.formats import FileFormat
from scurry.connectors.files.lines import LineFormat
from scurry.connectors.files.parquet_format import ParquetColumnarRowInputFormat
from scurry.connectors.files.read_filter import Bounds, ReadFilter
from scurry.connectors.files.source import FileSource
from scurry.connectors.row_formats import DecodingFormat, EncodingFormat, RowFormatError
from scurry.connectors.row_formats.avro import avro_columns
from scurry.connectors.row_formats.values import SQL, reader
from scurry.functions.sink import Records
from scurry.functions.source import Json, SourceBatch

__all__ = ["METADATA", "AvroRowFiles", "FileRows", "PartitionBuckets", "RowLines", "RowSegments"]

METADATA: dict[str, DataType] = {
    "file.path": DataTypes.STRING(False),
    "file.name": DataTypes.STRING(False),
    "file.size": DataTypes.BIGINT(False),
    "file.modification-time": DataTypes.TIMESTAMP_LTZ(3, False),
}
DEFAULT_PARTITION = "__DEFAULT_PARTITION__"


class RowLines(LineFormat):
    """Lines, each of them a message of a format."""

    columnar = True

    def __init__(self, form: DecodingFormat) -> None:
        self._form = form

    #: what a format raises for a malformed line
    failures = (ValueError, TypeError)

    way_out = (
        "set the format's option 'ignore-parse-errors' to true, which makes NULL of fields that "
        "cannot be read, and passes over lines that cannot be read."
    )

    def explain(self, failure: Exception) -> str:
        return failure.reason if isinstance(failure, RowFormatError) else super().explain(failure)

    def _parse(self, path: str, offset: int, data: bytes) -> Iterator[SourceBatch]:
        marked = offset == 0 and data.startswith(BOM_UTF8) and not self._form.takes_mark
        mark = len(BOM_UTF8) if marked else 0
        return super()._parse(path, offset + mark, data[mark:])

    def parse(self, data: bytes) -> SourceBatch | None:
        whole = self._form.decode_lines(data)
        if whole is not None:
            return SourceBatch(columns=whole.columns, kinds=whole.kinds)
        lines = [line.rstrip(b"\r") for line in data.split(b"\n")]
        lines = [line for line in lines if line]
        if not lines:
            return None
        found = self._form.decode(lines)
        return SourceBatch(columns=found.columns, kinds=found.kinds)


class AvroRowFiles(AvroReaderFormat):
    """Avro files whose records become columns."""

    columnar = True

    def __init__(self, row_type: RowType) -> None:
        super().__init__()
        self._row_type = row_type

    def read(self, path: str, start: int, end: int) -> Iterator[SourceBatch]:
        for batch in super().read(path, start, end):
            rows = [row if isinstance(row, dict) else row.as_dict() for row in batch.rows or ()]
            yield SourceBatch(columns=avro_columns(self._row_type, rows))


class FileRows(FileSource):
    """A file source whose records have the columns of a table: those of its files, then those of
    its partitions, in the table's order, then metadata."""

    columnar = True

    def __init__(
        self,
        form: FileFormat,
        path: str,
        row_type: RowType,
        partition_keys: Sequence[str] = (),
        metadata: Sequence[str] = (),
        interval_ms: int | None = None,
        changelog: ChangelogMode = ChangelogMode.INSERT_ONLY,
        wanted: re.Pattern[str] | None = None,
        default_partition: str = DEFAULT_PARTITION,
    ) -> None:
        super().__init__(form, (path,), interval_ms)
        self._wanted = wanted
        self._default = default_partition
        self._row_type = row_type
        self._keys = tuple(partition_keys)
        self._metadata = tuple(metadata)
        self._unwanted: ReadFilter | None = None
        self.relation = row_type.arrow_schema()
        self.changelog = changelog

    def skipping(self, unwanted: ReadFilter) -> Self:
        """The same without partitions, and row groups of Parquet, that have no row that is wanted.
        Where files hold changes, all are read."""
        if self.changelog is ChangelogMode.INSERT_ONLY:
            self._unwanted = unwanted
            if isinstance(self._format, ParquetColumnarRowInputFormat):
                self._format.skipping(unwanted)
        return self

    @property
    def position_form(self) -> str:
        return FileSource.__name__

    @property
    def type_info(self) -> None:
        return None

    def read(self, what: Json) -> Iterator[SourceBatch]:
        path = what[0]
        partition = self._partition(path)
        if self._unwanted is not None and self._unwanted.excludes(
            {name: Bounds.of_value(value) for name, value in partition.items()}
        ):
            return
        known = {**partition, **_file_facts(path, self._metadata)}
        for batch in super().read(what):
            assert batch.columns is not None
            yield SourceBatch(
                columns=self._completed(batch.columns, known),
                kinds=batch.kinds,
                timestamps=batch.timestamps,
                rejected=batch.rejected,
                bytes_read=batch.bytes_read,
            )

    def _completed(self, columns: pa.RecordBatch, known: Mapping[str, Any]) -> pa.RecordBatch:
        arrays = []
        behind = len(self._row_type) - len(self._metadata)
        for at, field in enumerate(self._row_type):
            kind = field.data_type.arrow_type()
            key = self._metadata[at - behind] if at >= behind else field.name
            if key in known:
                arrays.append(pa.array([known[key]] * columns.num_rows, kind))
            else:
                arrays.append(columns.column(field.name).cast(kind))
        return pa.RecordBatch.from_arrays(arrays, schema=self.relation)

    def _partition(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        names = self._row_type.field_names()
        keys = [key for key in self._keys if key in names]
        for part in Path(path).parent.parts:
            name, equals, text = part.partition("=")
            if equals and name in keys:
                value = None if text == self._default else unquote(text)
                found[name] = reader(self._row_type[name].data_type, SQL)(value)
        missing = [key for key in keys if key not in found]
        if missing:
            found.update(dict.fromkeys(missing))
        return found


def _file_facts(path: str, wanted: Sequence[str]) -> dict[str, Any]:
    if not wanted:
        return {}
    state = os.stat(path)
    changed = datetime.fromtimestamp(state.st_mtime_ns // 1_000_000 / 1000, UTC)
    return {
        "file.path": path,
        "file.name": Path(path).name,
        "file.size": state.st_size,
        "file.modification-time": changed,
    }


def parquet_rows(row_type: RowType) -> ParquetColumnarRowInputFormat:
    """Parquet files of which those columns are read, and no others."""
    return ParquetColumnarRowInputFormat(row_type.field_names())


class PartitionBuckets(BucketAssigner):
    """The directory of a row: the values of its partition columns."""

    def __init__(self, keys: Sequence[str], default: str = DEFAULT_PARTITION) -> None:
        self._keys = tuple(keys)
        self._default = default

    def assign(self, records: Records, count: int, now: int) -> Assigned:
        columns = records.columns
        assert columns is not None
        lists = [columns.column(key).to_pylist() for key in self._keys]
        rows = list(zip(*lists, strict=True))
        numbers: dict[tuple[Any, ...], int] = {}
        owners = np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.int64)
        return [(self._name(row), np.flatnonzero(owners == at)) for row, at in numbers.items()]

    def _name(self, row: tuple[Any, ...]) -> str:
        parts = []
        for key, value in zip(self._keys, row, strict=True):
            text = self._default if value in (None, "") else quote(str(value), safe=" ,+@()")
            parts.append(f"{key}={text}")
        return "/".join(parts)


class RowSegments(BulkWriterFactory):
    """Writes the rows of a table, without its partition columns: as lines of a format, or by the
    factory of another kind of file."""

    columnar = True

    def __init__(
        self,
        names: Sequence[str],
        form: EncodingFormat | None,
        factory: BulkWriterFactory | None = None,
    ) -> None:
        self._names = list(names)
        self._form = form
        self._factory = factory
        self.suffix = "" if factory is None else factory.suffix

    def create(self, path: str) -> SegmentWriter:
        if self._form is not None:
            return _Lines(path, self._names, self._form)
        assert self._factory is not None
        return _Selected(self._factory.create(path), self._names)

    def join(self, segments: Sequence[Path], target: Path) -> None:
        if self._factory is None:
            super().join(segments, target)
        else:
            self._factory.join(segments, target)

    @property
    def can_cut(self) -> bool:
        return True if self._factory is None else self._factory.can_cut

    def measure(self, segment: Path) -> int:
        return super().measure(segment) if self._factory is None else self._factory.measure(segment)

    def cut(self, joined: Path, end: int, target: Path) -> None:
        if self._factory is None:
            super().cut(joined, end, target)
        else:
            self._factory.cut(joined, end, target)


class _Lines(SegmentWriter):
    def __init__(self, path: str, names: list[str], form: EncodingFormat) -> None:
        self._file = Path(path).open("wb")  # noqa: SIM115
        self._names = names
        self._form = form

    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        assert columns is not None
        lines = self._form.encode(columns.select(self._names), None)
        self._file.write(b"".join(line + b"\n" for line in lines))

    def close(self) -> None:
        self._file.close()


class _Selected(SegmentWriter):
    def __init__(self, inner: SegmentWriter, names: list[str]) -> None:
        self._inner = inner
        self._names = names

    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        assert columns is not None
        self._inner.write(rows, columns.select(self._names))

    def close(self) -> None:
        self._inner.close()
