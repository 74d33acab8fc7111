r"""Formats whose records end with a line feed: text, JSON lines, and what a schema makes of a line.

A place in such a file is a byte. Pieces begin and end behind a line feed, which the driver looks
for around the place where it wants to cut; no more than that is read twice. Compressed files
(``.gz``, ``.bz2``, ``.xz``) have no such places: they are one piece, from 0 to 1.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import IO, Any

from scurry.common.errors import ProgramError
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.connectors.files.formats import (
    FileDeadLetter,
    MalformedFileError,
    StreamFormat,
    cannot_read,
    salvage,
    shown,
)
from scurry.functions.source import SourceBatch

_PIECE = 4 << 20
_SAMPLE = 64 << 10
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def compression(path: str) -> str | None:
    """The ending of a compressed file's name, None for others."""
    ending = os.path.splitext(path)[1]
    return ending if ending in _OPENERS else None


def open_stream(path: str) -> IO[bytes]:
    """The file's content, decompressed."""
    ending = compression(path)
    try:
        stream: IO[bytes] = _OPENERS.get(ending or "", open)(path, "rb")
    except OSError as failure:
        raise cannot_read(path, failure) from failure
    return stream


class LineFormat(StreamFormat):
    """What all formats of lines have in common."""

    def extent(self, path: str, complete: bool) -> int | None:
        try:
            size = os.stat(path).st_size
            with open(path, "rb"):
                pass
        except OSError as failure:
            raise cannot_read(path, failure) from failure
        return min(size, 1) if compression(path) else size

    def splits(self, path: str, extent: int, size: int) -> list[int]:
        if compression(path) or not self.splittable or extent <= size:
            return [0, extent]
        places = [0]
        with open_stream(path) as file:
            for wanted in range(size, extent - size // 2, size):
                place = _behind_line(file, wanted, extent)
                if places[-1] < place < extent:
                    places.append(place)
        return [*places, extent]

    def cut(self, path: str, start: int, end: int, records: int, complete: bool) -> tuple[int, int]:
        if compression(path):
            return end, os.stat(path).st_size // 10
        with open_stream(path) as file:
            file.seek(start)
            sample = file.read(min(_SAMPLE, end - start))
            lines = sample.count(b"\n")
            if lines >= records:
                return start + _nth_line(sample, records), records
            average = max(1.0, len(sample) / max(1, lines))
            wanted = min(end, start + max(len(sample), int(records * average)))
            place = _behind_line(file, wanted, end)
            if place == end and not complete:
                place = _before(file, start, end)
            return place, math.ceil((place - start) / average)

    def read(self, path: str, start: int, end: int) -> Iterator[SourceBatch]:
        with open_stream(path) as file:
            left = float("inf")
            if not compression(path):
                file.seek(start)
                left = end - start
            else:
                start = 0
            try:
                for offset, piece in self._pieces(file, start, left, path):
                    yield from self._parse(path, offset, piece)
            except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as failure:
                raise MalformedFileError(
                    f"{path!r} is damaged or not finished: {failure}. Move compressed files into "
                    "the directory only when they are complete."
                ) from failure

    def _pieces(
        self, file: IO[bytes], offset: int, left: float, path: str
    ) -> Iterator[tuple[int, bytes]]:
        """Whole records, some megabytes at a time, and where they begin."""
        rest = b""
        while left > 0:
            block = file.read(int(min(_PIECE, left)))
            if not block:
                if left != float("inf"):
                    raise MalformedFileError(
                        f"{path!r} has become shorter since the micro-batch was planned: bytes up "
                        f"to {offset + len(rest) + int(left)} are missing. Files that were read "
                        "must not be changed, only appended to."
                    )
                break
            left -= len(block)
            rest += block
            place = self.last_end(rest)
            if place > 0:
                yield offset, rest[:place]
                offset, rest = offset + place, rest[place:]
        if rest:
            yield offset, rest

    def last_end(self, data: bytes) -> int:
        """The place behind the last complete record of ``data``, which begins with one."""
        return data.rfind(b"\n") + 1

    def records(self, data: bytes) -> list[bytes]:
        """``data`` cut into records, with their line ends."""
        return _lines(data)

    def _parse(self, path: str, offset: int, data: bytes) -> Iterator[SourceBatch]:
        try:
            whole = self.parse(data)
        except self.failures:
            pass
        else:
            if whole is not None:
                yield whole
            return
        numbered: list[tuple[int, bytes]] = []
        at = offset
        for record in self.records(data):
            numbered.append((at, record))
            at += len(record)

        letters: list[FileDeadLetter] = []

        def refuse(item: tuple[int, bytes], failure: Exception) -> None:
            letter = self._letter(path, *item, failure)
            if not self.rejects:
                raise MalformedFileError(
                    f"{path!r}, line {letter.line} (byte {letter.offset}): {letter.error}: "
                    f"{shown(letter.record)}. Mend the file and restart the job; or "
                    f"{self.way_out}"
                ) from failure
            letters.append(letter)

        yield from salvage(
            numbered,
            lambda items: self.parse(b"".join(record for _, record in items)),
            refuse,
            self.failures,
        )
        if letters:
            yield SourceBatch(rows=[], rejected=letters)

    def _letter(self, path: str, offset: int, record: bytes, failure: Exception) -> FileDeadLetter:
        with open_stream(path) as file:
            line = 1 + sum(block.count(b"\n") for block in _blocks(file, offset))
        return FileDeadLetter(path, line, offset, record, self.explain(failure))

    #: what else can be done about a bad record
    way_out = (
        "have such records sent to the side output DEAD_LETTERS, with "
        'set_bad_records("dead-letter").'
    )
    #: what :meth:`parse` raises for a bad record
    failures: tuple[type[Exception], ...] = (ValueError,)

    def explain(self, failure: Exception) -> str:
        """What is wrong with a record, in words."""
        return str(failure).rstrip(".")

    @abstractmethod
    def parse(self, data: bytes) -> SourceBatch | None:
        """The records in ``data``, which are complete; None if there are none."""


def _lines(data: bytes) -> list[bytes]:
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def _blocks(file: IO[bytes], left: int) -> Iterator[bytes]:
    while left > 0 and (block := file.read(min(_PIECE, left))):
        left -= len(block)
        yield block


def _nth_line(sample: bytes, number: int) -> int:
    """The place behind line feed ``number``."""
    place = 0
    for _ in range(number):
        place = sample.index(b"\n", place) + 1
    return place


def _behind_line(file: IO[bytes], wanted: int, end: int) -> int:
    """The first line start at or after ``wanted``, ``end`` if there is none before it."""
    place = wanted - 1
    file.seek(place)
    while place < end:
        block = file.read(min(_SAMPLE, end - place))
        if not block:
            break
        found = block.find(b"\n")
        if found >= 0:
            return place + found + 1
        place += len(block)
    return end


def _before(file: IO[bytes], start: int, end: int) -> int:
    """The last line start at or before ``end``, ``start`` if there is none after it."""
    place = end
    while place > start:
        begin = max(start, place - _SAMPLE)
        file.seek(begin)
        found = file.read(place - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        place = begin
    return start


class TextLineFormat(LineFormat):
    """Each line as a str, without its end."""

    failures = (UnicodeDecodeError,)

    def __init__(self, charset_name: str = "UTF-8") -> None:
        try:
            feed = "\n".encode(charset_name)
        except LookupError:
            raise ProgramError(
                f"unknown charset {charset_name!r}: use a name that Python knows, such as 'UTF-8'."
            ) from None
        if feed != b"\n":
            raise ProgramError(
                f"text_line_format({charset_name!r}): in this charset a line feed is {feed!r}, so "
                "lines cannot be found by bytes. Convert the files to UTF-8."
            )
        self._charset = charset_name

    @property
    def type_info(self) -> TypeInformation | None:
        return Types.STRING()

    def parse(self, data: bytes) -> SourceBatch | None:
        lines = data.decode(self._charset).split("\n")
        if not lines[-1]:
            lines.pop()
        if b"\r" in data:
            lines = [line.removesuffix("\r") for line in lines]
        return SourceBatch(rows=lines) if lines else None
