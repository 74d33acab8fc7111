"""Avro object container files, read with ``fastavro``.

Such a file is a header with the schema and a sync marker, then blocks: the number of records, the
number of bytes, the bytes, the marker again. The driver hops from block to block to find out where
to cut; the records are decoded in the workers.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from scurry.common.errors import ProgramError, ScurryError
from scurry.connectors.files.formats import BulkFormat, MalformedFileError, cannot_read
from scurry.functions.source import SourceBatch

_READ_ROWS = 16_384
_SYNC = 16


def fastavro() -> Any:
    """The package that decodes Avro."""
    try:
        import fastavro as package
    except ImportError:
        raise ProgramError(
            "Avro needs the package fastavro. Run: python -m pip install 'scurry[avro]'"
        ) from None
    return package


class AvroSchema:
    """A parsed Avro schema."""

    def __init__(self, declared: Any) -> None:
        try:
            self.parsed = fastavro().parse_schema(declared)
        except ScurryError:
            raise
        except Exception as failure:
            raise ProgramError(f"not an Avro schema: {failure}.") from failure
        self._text = json.dumps(declared)

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema.parse_string, (self._text,)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """The schema written as JSON."""
        try:
            declared = json.loads(json_schema)
        except ValueError as failure:
            raise ProgramError(f"an Avro schema is JSON, and this is not: {failure}.") from failure
        return AvroSchema(declared)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """The schema in a file."""
        with open(file_path, encoding="utf-8") as file:
            return AvroSchema.parse_string(file.read())


class Header(NamedTuple):
    """Where the blocks of a file begin, and its marker."""

    start: int
    sync: bytes


class AvroReaderFormat(BulkFormat):
    """The records of Avro files as dicts, read with the schema they were written with or, if given,
    as ``schema`` says."""

    def __init__(self, schema: AvroSchema | None = None) -> None:
        fastavro()
        self._schema = schema

    def extent(self, path: str, complete: bool) -> int | None:
        try:
            size = os.stat(path).st_size
            header = _header(path)
        except OSError as failure:
            raise cannot_read(path, failure) from failure
        except (EOFError, StopIteration, ValueError) as failure:
            if complete and size > 0:
                raise MalformedFileError(f"{path!r} is not an Avro file: {failure}.") from failure
            return 0 if complete else None
        end = max((end for _, end in _blocks(path, 0, size)), default=header.start)
        if complete and end < size:
            raise MalformedFileError(
                f"{path!r} is damaged or not finished: the block at byte {end} is not complete. "
                "Write the file again, or cut it off there."
            )
        return end

    def splits(self, path: str, extent: int, size: int) -> list[int]:
        places = [0]
        if extent > size:
            places += [e for _, e in _blocks(path, 0, extent) if e < extent]
        kept = [0]
        for place in places:
            if place - kept[-1] >= size:
                kept.append(place)
        return [*kept, extent]

    def cut(self, path: str, start: int, end: int, records: int, complete: bool) -> tuple[int, int]:
        count = 0
        for count_here, place in _blocks(path, start, end):
            count += count_here
            if count >= records:
                return place, count
        return end, count

    def read(self, path: str, start: int, end: int) -> Iterator[SourceBatch]:
        if end <= start:
            return
        try:
            header = _header(path)
            with open(path, "rb") as file:
                head = file.read(header.start)
                first = max(start, header.start)
                file.seek(first)
                body = _Part(head, file, end - first)
                yield from self._decode(path, body, first)
        except OSError as failure:
            raise cannot_read(path, failure) from failure

    def _decode(self, path: str, body: _Part, first: int) -> Iterator[SourceBatch]:
        wanted = None if self._schema is None else self._schema.parsed
        rows: list[Any] = []
        try:
            for row in fastavro().reader(body, reader_schema=wanted):
                rows.append(row)
                if len(rows) == _READ_ROWS:
                    yield SourceBatch(rows=rows)
                    rows = []
        except GeneratorExit:
            raise
        except Exception as failure:
            raise MalformedFileError(
                f"{path!r}, in the blocks from byte {first} on: not Avro records of the expected "
                f"schema: {failure}."
            ) from failure
        if rows:
            yield SourceBatch(rows=rows)


class _Part(io.RawIOBase):
    """A file's header, then ``left`` bytes from where the file stands."""

    def __init__(self, head: bytes, file: IO[bytes], left: int) -> None:
        self._head = io.BytesIO(head)
        self._file = file
        self._left = left

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._head.read(size)
        if len(data) == size:
            return data
        wanted = self._left if size < 0 else min(self._left, size - len(data))
        more = self._file.read(wanted)
        self._left -= len(more)
        return data + more


def _header(path: str) -> Header:
    with open(path, "rb") as file:
        if file.read(4) != b"Obj\x01":
            raise ValueError("it does not begin with 'Obj' and 1")
        for _ in iter(lambda: _skip_entries(file), 0):
            pass
        sync = file.read(_SYNC)
        if len(sync) < _SYNC:
            raise EOFError("its header is not complete")
        return Header(file.tell(), sync)


def _skip_entries(file: IO[bytes]) -> int:
    """Skip one group of the header's key-value pairs; 0 if it was the empty one at the end."""
    count = _long(file)
    if count < 0:
        _long(file)
    for _ in range(2 * abs(count)):
        file.seek(_long(file), 1)
    return count


def _long(file: IO[bytes]) -> int:
    """A whole number as Avro writes it: seven bits a byte, zigzag."""
    value = shift = 0
    while True:
        byte = file.read(1)
        if not byte:
            raise EOFError("it ends in the middle of a number")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)
        shift += 7


def _blocks(path: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Complete blocks between two places: their number of records and where they end."""
    header = _header(path)
    with open(path, "rb") as file:
        place = max(start, header.start)
        file.seek(place)
        while place < end:
            try:
                count, size = _long(file), _long(file)
            except EOFError:
                return
            place = file.tell() + size + _SYNC
            file.seek(place - _SYNC)
            sync = file.read(_SYNC)
            if place > end or len(sync) < _SYNC:
                return
            if sync != header.sync:
                raise MalformedFileError(
                    f"{path!r} is damaged: the block that ends at byte {place} is not followed by "
                    "the file's marker."
                )
            yield count, place
