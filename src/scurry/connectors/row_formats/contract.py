"""What a format of tables does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import RowType
from scurry.common.errors import TypeMismatchError, shorten

Kinds = NDArray[np.int8]
Places = NDArray[np.int64]


class RowFormatError(TypeMismatchError):
    """A message is not what its format says; ``reason`` says why, ``place`` is its number in the
    list."""

    def __init__(self, reason: str, place: int = -1, message: bytes = b"") -> None:
        super().__init__(f"{reason}: {shorten(message)}")
        self.reason = reason
        self.place = place
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return RowFormatError, (self.reason, self.place, self.message)


class DecodedRows(NamedTuple):
    """Rows in order."""

    columns: pa.RecordBatch
    #: the value of each row's RowKind, None if all are insertions
    kinds: Kinds | None = None
    #: the number of the message that each row is of, None if row i is of message i
    origin: Places | None = None


class DecodingFormat(ABC):
    """Makes rows of messages. It is pickled and sent to the workers."""

    #: which kinds of changes the rows can be
    changelog: ChangelogMode = ChangelogMode.INSERT_ONLY
    #: whether a byte order mark at the beginning of a file belongs to the first message
    takes_mark = False

    def __init__(self, row_type: RowType, ignore_parse_errors: bool = False) -> None:
        self.row_type = row_type
        self.ignore = ignore_parse_errors

    @abstractmethod
    def decode(self, messages: Sequence[bytes]) -> DecodedRows:
        """The rows of messages; raises :class:`RowFormatError` for one that is malformed, unless
        malformed ones are to be passed over."""

    def decode_lines(self, data: bytes) -> DecodedRows | None:
        """The rows of a text whose lines are messages, without a look at each of them; None if the
        format, or this text, needs one."""
        return None


class EncodingFormat(ABC):
    """Makes messages of rows. It is pickled and sent to the workers."""

    #: which kinds of changes it can write
    changelog: ChangelogMode = ChangelogMode.INSERT_ONLY

    def __init__(self, row_type: RowType) -> None:
        self.row_type = row_type

    @abstractmethod
    def encode(self, columns: pa.RecordBatch, kinds: Kinds | None) -> list[bytes]:
        """One message for each row."""


def columns_of(row_type: RowType, lists: Sequence[Any]) -> pa.RecordBatch:
    """A batch of the fields of ``row_type``; each of ``lists`` has the values of one field, in the
    form that Arrow takes, or is an array already."""
    arrays = [
        values if isinstance(values, pa.Array) else pa.array(values, field.data_type.arrow_type())
        for values, field in zip(lists, row_type, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=row_type.arrow_schema())


def each_message(
    messages: Sequence[bytes],
    read: Callable[[bytes], Any],
    ignore: bool,
    explain: Callable[[Exception], str] = str,
) -> tuple[list[Any], list[int]]:
    """What ``read`` makes of each message, and the numbers of those that could be read."""
    found: list[Any] = []
    places: list[int] = []
    for place, message in enumerate(messages):
        try:
            found.append(read(message))
        except (ValueError, TypeError, ArithmeticError, KeyError) as failure:
            if ignore:
                continue
            raise RowFormatError(explain(failure), place, message) from failure
        places.append(place)
    return found, places
