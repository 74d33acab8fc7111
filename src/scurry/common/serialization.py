"""Elements as bytes: what connectors write to, and read from, the world outside.

A `SerializationSchema` makes one message out of one element, a `DeserializationSchema` does the
reverse; brokers use them. An `Encoder` makes the piece of a file that stands for one element.

Files of a format that holds many elements together are made by a `BulkWriterFactory`. Its writers
make *segments*: complete files of the format that hold what one task got of one bucket in one
micro-batch. Several segments can be joined into one file, which becomes a part file.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ConfigurationError, TypeMismatchError
from scurry.common.texts import writer_of
from scurry.common.type_information import TypeInformation, describe
from scurry.common.types import Row
from scurry.common.unavailable import unavailable

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SegmentWriter",
    "SerializationSchema",
    "SimpleStringSchema",
]

_COPY_BYTES = 4 << 20


def _text(value: object) -> str:
    return value.to_string() if isinstance(value, Row) else str(value)


def _known_charset(charset: str) -> str:
    try:
        "".encode(charset)
    except LookupError:
        raise ConfigurationError(
            f"unknown charset {charset!r}: use a name that Python knows, such as 'UTF-8'"
        ) from None
    return charset


class SerializationSchema(ABC):
    """Turns elements into messages."""

    @abstractmethod
    def serialize(self, value: Any) -> bytes | None:
        """The message for an element; None stands for a message without content."""

    def serialize_batch(self, values: list[Any]) -> list[bytes | None]:
        """The messages for several elements; override it where that is faster."""
        return list(map(self.serialize, values))


class DeserializationSchema(ABC):
    """Turns messages into elements."""

    #: Whether what :meth:`deserialize` returns is a list of elements instead of one.
    flattens: bool = False
    #: Which kinds of changes the elements can be, None if only they themselves know.
    changelog: ChangelogMode | None = None

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """The element of a message; None if it has none."""

    def deserialize_batch(self, messages: list[bytes]) -> list[Any]:
        """The elements of several messages; override it where that is faster. It raises if one of
        them cannot be read, and is then called no more: the messages are read one by one."""
        return list(map(self.deserialize, messages))

    def columns_schema(self) -> pa.Schema | None:
        """The columns that :meth:`deserialize_columns` gives, those of the produced type; None if
        this schema gives none."""
        return None

    def deserialize_columns(self, messages: list[bytes]) -> pa.RecordBatch | None:
        """The elements of several messages as Arrow columns, one element for each; None if these
        messages have to be read by :meth:`deserialize_batch`."""
        return None

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the elements, if known."""
        return None


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text in a given encoding; an element that is no text is written as its `str`."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = _known_charset(charset)

    def serialize(self, value: Any) -> bytes:
        return _text(value).encode(self._charset)

    def deserialize(self, message: bytes) -> str:
        return message.decode(self._charset)


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Messages as they are: elements are `bytes`."""

    def serialize(self, value: Any) -> bytes:
        if not isinstance(value, bytes | bytearray):
            raise TypeMismatchError(
                f"ByteArraySchema writes bytes, got {describe(value)}: encode it in a map before "
                "the sink, or use SimpleStringSchema"
            )
        return bytes(value)

    def deserialize(self, message: bytes) -> bytes:
        return message


class RowFieldExtractorSchema(SerializationSchema):
    """One field of a row, which must hold bytes (or None), as the message."""

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ConfigurationError(f"a field index counts from 0, got {field_index}")
        self._field_index = field_index

    def serialize(self, value: Any) -> bytes | None:
        if not isinstance(value, Row | tuple | list) or len(value) <= self._field_index:
            raise TypeMismatchError(
                f"expected a row with a field {self._field_index}, got {describe(value)}"
            )
        field = value[self._field_index]
        if field is not None and not isinstance(field, bytes | bytearray):
            raise TypeMismatchError(
                f"field {self._field_index} of the row must be bytes, got {describe(field)}"
            )
        return None if field is None else bytes(field)


class Encoder(ABC):
    """Turns elements into pieces of a file."""

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """The bytes that are appended to the file for an element."""

    def for_type(self, declared: TypeInformation | None) -> Encoder:
        """The encoder for elements that were declared to be of that type, or not at all."""
        return self

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """One line of text for each element."""
        return LineEncoder(charset_name)


class LineEncoder(Encoder):
    """Writes each element's text and a line feed: see :mod:`scurry.common.texts`."""

    def __init__(
        self, charset_name: str = "UTF-8", declared: TypeInformation | None = None
    ) -> None:
        self._charset = _known_charset(charset_name)
        self._declared = declared
        self._write = _text if declared is None else writer_of(declared)

    def __reduce__(self) -> tuple[Any, ...]:
        return LineEncoder, (self._charset, self._declared)

    def for_type(self, declared: TypeInformation | None) -> LineEncoder:
        return LineEncoder(self._charset, declared)

    def encode(self, value: Any) -> bytes:
        return f"{self._write(value)}\n".encode(self._charset)


class SegmentWriter(ABC):
    """Writes one segment."""

    @abstractmethod
    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        """Append records; ``columns``, if given, are the same ones."""

    @abstractmethod
    def close(self) -> None:
        """Finish the segment."""


class BulkWriterFactory(ABC):
    """Makes segments of one format, and joins them."""

    #: how the names of such files end, unless the program says otherwise
    suffix: str = ""
    #: whether :meth:`SegmentWriter.write` has a use for columns
    columnar: bool = False
    #: what stands between two segments that are put one behind the other
    delimiter: bytes = b""

    def for_type(self, declared: TypeInformation | None) -> BulkWriterFactory:
        """The factory for elements that were declared to be of that type, or not at all."""
        return self

    @abstractmethod
    def create(self, path: str) -> SegmentWriter:
        """Begin a segment."""

    def join(self, segments: Sequence[Path], target: Path) -> None:
        """Make one file of several segments; here, by putting one behind the other."""
        with target.open("wb") as file:
            for number, segment in enumerate(segments):
                file.write(self.delimiter if number else b"")
                with segment.open("rb") as part:
                    shutil.copyfileobj(part, file, _COPY_BYTES)

    @property
    def can_cut(self) -> bool:
        """Whether joined files can be cut: not if a format has its own :meth:`join` only."""
        kind = type(self)
        return kind.join is BulkWriterFactory.join or kind.cut is not BulkWriterFactory.cut

    def measure(self, segment: Path) -> int:
        """How much of a joined file a segment takes up; here, its bytes."""
        return segment.stat().st_size

    def cut(self, joined: Path, end: int, target: Path) -> None:
        """Make a file of the first segments of a joined file, which take up ``end`` together."""
        with joined.open("rb") as file, target.open("wb") as kept:
            while end > 0 and (piece := file.read(min(end, _COPY_BYTES))):
                kept.write(piece)
                end -= len(piece)


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A factory in Java; it can be imported, and not be made."""

    __init__ = unavailable(
        "RowDataBulkWriterFactory",
        "it wraps a Java object; take the writers of scurry.datastream.formats",
    )
