"""CSV, read by Arrow straight into columns.

Where a quote character is set, a record may run over several lines. Whether a line feed ends a
record then depends on all quotes before it. So a file is not split among tasks, and the driver,
which looks for a record's end at which to end a micro-batch, counts the quotes since the last such
end. Where no quote character is set, each line is a record, and files are split like other text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.common.collection_types import ListTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.connectors.files.csv_schema import CsvSchema
from scurry.connectors.files.formats import MalformedFileError
from scurry.connectors.files.lines import LineFormat, compression, open_stream
from scurry.functions.source import SourceBatch

_BLOCK = 1 << 20
Places = np.ndarray[Any, np.dtype[np.int64]]


class CsvReaderFormat(LineFormat):
    """Records of CSV files as Rows with the names of the schema."""

    columnar = True
    failures = (pa.ArrowInvalid,)

    def __init__(self, schema: CsvSchema) -> None:
        self.schema = schema
        self.splittable = schema.quote_char is None

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Reads files that look as ``schema`` says."""
        return CsvReaderFormat(schema)

    @property
    def type_info(self) -> TypeInformation | None:
        return self.schema.row_type

    def cut(self, path: str, start: int, end: int, records: int, complete: bool) -> tuple[int, int]:
        if self.splittable or compression(path):
            return super().cut(path, start, end, records, complete)
        with open_stream(path) as file:
            last, found = start, 0
            for offset, ends in self._ends(file, start, end):
                if found + len(ends) >= records:
                    return offset + int(ends[records - found - 1]), records
                if len(ends):
                    found, last = found + len(ends), offset + int(ends[-1])
        return (end if complete else last), found + 1

    def _ends(self, file: IO[bytes], start: int, end: int) -> Iterator[tuple[int, Places]]:
        """The places behind records, block by block; each block begins with a record."""
        rest, offset, place = b"", start, start
        file.seek(start)
        while place < end and (block := file.read(min(_BLOCK, end - place))):
            place += len(block)
            rest += block
            ends = self._record_ends(rest)
            yield offset, ends
            if len(ends):
                offset, rest = offset + int(ends[-1]), rest[int(ends[-1]) :]

    def _record_ends(self, data: bytes) -> Places:
        quote, escape = self.schema.quote_char, self.schema.escape_char
        if escape is not None and quote is not None:
            sign = escape.encode()
            data = data.replace(sign + sign, b"\0\0").replace(sign + quote.encode(), b"\0\0")
        signs = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(signs == ord("\n"))
        if quote is not None and quote.encode() in data:
            quotes = np.flatnonzero(signs == ord(quote))
            ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        return ends.astype(np.int64) + 1

    def last_end(self, data: bytes) -> int:
        ends = self._record_ends(data)
        return int(ends[-1]) if len(ends) else 0

    def records(self, data: bytes) -> list[bytes]:
        places = [0, *self._record_ends(data).tolist()]
        if places[-1] < len(data):
            places.append(len(data))
        return [data[a:b] for a, b in pairwise(places)]

    def read(self, path: str, start: int, end: int) -> Iterator[SourceBatch]:
        if start > 0 or not (self.schema.use_header or self.schema.skip_first_data_row):
            yield from super().read(path, start, end)
            return
        with open_stream(path) as file:
            skipped = self._skip_first(path, file)
        if not compression(path):
            yield from super().read(path, min(skipped, end), end)
            return
        for offset, piece in self._behind(path, skipped):
            yield from self._parse(path, offset, piece)

    def _behind(self, path: str, skipped: int) -> Iterator[tuple[int, bytes]]:
        with open_stream(path) as file:
            file.seek(skipped)
            yield from self._pieces(file, skipped, float("inf"), path)

    def _skip_first(self, path: str, file: IO[bytes]) -> int:
        """Where the data begins, after header and skipped record."""
        schema = self.schema
        place = 0
        for is_header in [True] * schema.use_header + [False] * schema.skip_first_data_row:
            record = self._first_record(file, place)
            place += len(record)
            if is_header and schema.strict_headers:
                self._check_header(path, record)
        return place

    def _first_record(self, file: IO[bytes], start: int) -> bytes:
        file.seek(start)
        data = b""
        while block := file.read(_BLOCK):
            data += block
            ends = self._record_ends(data)
            if len(ends):
                return data[: int(ends[0])]
        return data

    def _check_header(self, path: str, record: bytes) -> None:
        text = record.decode().strip("\r\n")
        quote = self.schema.quote_char or ""
        names = [name.strip().strip(quote) for name in text.split(self.schema.column_separator)]
        if tuple(names) != self.schema.names:
            raise MalformedFileError(
                f"{path!r}, line 1: the header names the columns {names}, the schema says "
                f"{list(self.schema.names)}. Mend the one or the other."
            )

    def parse(self, data: bytes) -> SourceBatch | None:
        from pyarrow import csv

        schema = self.schema
        if schema.allow_comments:
            data = b"".join(r for r in self.records(data) if not r.startswith(b"#"))
        if not data.strip():
            return None
        texts_can_be_null = schema.null_value is not None
        table = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(
                column_names=list(schema.names), use_threads=False, block_size=len(data) + 1
            ),
            parse_options=csv.ParseOptions(
                delimiter=schema.column_separator,
                quote_char=schema.quote_char or False,
                escape_char=schema.escape_char or False,
                newlines_in_values=schema.quote_char is not None,
            ),
            convert_options=csv.ConvertOptions(
                column_types={
                    name: pa.string() if isinstance(kind, ListTypeInfo) else kind.arrow_type()
                    for name, kind in zip(schema.names, schema.types, strict=True)
                },
                null_values=["" if schema.null_value is None else schema.null_value],
                strings_can_be_null=texts_can_be_null,
                quoted_strings_can_be_null=False,
                true_values=["true", "True", "TRUE", "1"],
                false_values=["false", "False", "FALSE", "0"],
            ),
        )
        arrays = [
            self._array(column.combine_chunks(), name, kind)
            for column, name, kind in zip(table.columns, schema.names, schema.types, strict=True)
        ]
        columns = pa.RecordBatch.from_arrays(arrays, names=list(schema.names))
        return SourceBatch(columns=columns) if columns.num_rows else None

    def _array(self, column: pa.Array, name: str, kind: TypeInformation) -> pa.Array:
        if not isinstance(kind, ListTypeInfo):
            return column
        separator = self.schema.separator_of(name)
        if not separator:
            return pa.array([[text] for text in column.to_pylist()]).cast(kind.arrow_type())
        lists = pc.split_pattern(column, separator)
        lists = pc.if_else(pc.equal(column, ""), pa.scalar([], pa.list_(pa.string())), lists)
        return lists if kind.elem_type == Types.STRING() else lists.cast(kind.arrow_type())

    def explain(self, failure: Exception) -> str:
        text = str(failure)
        for prefix in ("CSV parse error: ", "CSV conversion error", "In CSV column #"):
            if prefix in text:
                text = text[text.index(prefix) :].removeprefix("CSV parse error: ")
        return f"not a record of this schema ({text.splitlines()[0].strip()})"
