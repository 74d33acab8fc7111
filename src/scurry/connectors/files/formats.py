"""What a file source must know of a format: where its files may be cut, and how to read a piece.

A place in a file is a whole number. What it counts is the format's business: bytes for text, the
byte at which a block begins for Avro, row groups for Parquet. A piece from ``start`` to ``end``
must always give the same records, so pieces are only cut where a record ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from scurry.common.errors import ScurryError, shorten
from scurry.common.type_information import TypeInformation
from scurry.functions.source import SourceBatch

T = TypeVar("T")


class MalformedFileError(ScurryError):
    """A file, or a record in it, is not what its format says."""


@dataclass(frozen=True)
class FileDeadLetter:
    """A record that is not what its format says: where it stands, its bytes, what is wrong."""

    path: str
    line: int
    offset: int
    record: bytes
    error: str


class FileFormat(ABC):
    """Reads the files of one format. It is pickled and sent to the workers."""

    #: whether parts of one file may be read side by side
    splittable: bool = True
    #: whether records are read as Arrow columns
    columnar: bool = False
    #: whether records without a declared type are tuples instead of Rows
    as_tuples: bool = False
    #: whether malformed records are handed out as rejected instead of failing the job
    rejects: bool = False

    @property
    def type_info(self) -> TypeInformation | None:
        """The type of the records, if known."""
        return None

    @abstractmethod
    def extent(self, path: str, complete: bool) -> int | None:
        """How far the file reaches. None while it is not readable yet, which is an error if it is
        ``complete``, that is, nobody is going to write to it any more."""

    @abstractmethod
    def splits(self, path: str, extent: int, size: int) -> list[int]:
        """Where to cut a complete file into parts of about ``size`` bytes: from 0 to extent."""

    @abstractmethod
    def cut(self, path: str, start: int, end: int, records: int, complete: bool) -> tuple[int, int]:
        """The end of a piece of about ``records`` records from ``start`` on, at most ``end``, and
        about how many it has. A last record without its end counts only if the file is
        ``complete``."""

    @abstractmethod
    def read(self, path: str, start: int, end: int) -> Iterator[SourceBatch]:
        """The records of a piece."""


class StreamFormat(FileFormat):
    """A format whose files are read as a stream of bytes."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """One record, a str, for each line."""
        from scurry.connectors.files.lines import TextLineFormat

        return TextLineFormat(charset_name)


class BulkFormat(FileFormat):
    """A format whose files hold blocks of many records."""


def salvage(
    items: list[T],
    parse: Callable[[list[T]], SourceBatch | None],
    refuse: Callable[[T, Exception], None],
    failures: tuple[type[Exception], ...],
) -> Iterator[SourceBatch]:
    """Parse ``items`` in as few calls as possible although some of them are bad; each of those is
    given to ``refuse``. Halving finds a bad one among n in log n calls."""
    try:
        parsed = parse(items)
    except failures as failure:
        if len(items) == 1:
            refuse(items[0], failure)
            return
        middle = len(items) // 2
        yield from salvage(items[:middle], parse, refuse, failures)
        yield from salvage(items[middle:], parse, refuse, failures)
    else:
        if parsed is not None:
            yield parsed


def cannot_read(path: str, failure: OSError) -> ScurryError:
    """The error for a file that was there when the micro-batch was planned."""
    if isinstance(failure, FileNotFoundError):
        return MalformedFileError(
            f"{path!r} has disappeared before it was read. A file must stay until the micro-batch "
            "that reads it is committed: put it back and restart the job."
        )
    if isinstance(failure, PermissionError):
        return MalformedFileError(
            f"{path!r} may not be read by this user. Grant read access to it, on the driver and on "
            "every worker, and restart the job."
        )
    return MalformedFileError(f"{path!r} cannot be read: {failure}.")


def shown(record: Any) -> str:
    """A record in an error message."""
    if isinstance(record, bytes):
        record = record.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return shorten(record)
