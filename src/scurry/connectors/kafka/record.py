"""Records as Kafka holds them, and the ways to make elements of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from scurry.common.errors import ProgramError, TypeMismatchError, shorten
from scurry.common.serialization import DeserializationSchema
from scurry.common.type_information import TypeInformation, describe
from scurry.functions.source import SourceBatch

#: What to do with a record that cannot be decoded.
FAIL, DEAD_LETTER, SKIP = "fail", "dead-letter", "skip"


class KafkaRecord(NamedTuple):
    """One record with all that Kafka knows of it; ``timestamp`` is in milliseconds."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True)
class KafkaDeadLetter:
    """A record that could not be decoded: where it is, what it holds, and what went wrong."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    error: str


class KafkaRecordDeserializationSchema(ABC):
    """Makes an element of a whole record, with its key, headers, topic, offset and timestamp."""

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> Any:
        """The element; None for none."""

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the elements, if known."""
        return None

    @staticmethod
    def value_only(
        deserialization_schema: DeserializationSchema,
    ) -> KafkaRecordDeserializationSchema:
        """Elements made of the records' values alone; records without a value are passed over."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ProgramError(
                "KafkaRecordDeserializationSchema.value_only takes a DeserializationSchema, got "
                f"{describe(deserialization_schema)}."
            )
        return ValueOnly(deserialization_schema)


class ValueOnly(KafkaRecordDeserializationSchema):
    """Stands for a schema of values; the source's builder takes that instead, since values can be
    decoded many at a time."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self.schema = schema

    def deserialize(self, record: KafkaRecord) -> Any:
        return None if record.value is None else self.schema.deserialize(record.value)

    def get_produced_type(self) -> TypeInformation | None:
        return self.schema.get_produced_type()


def as_record(message: Any) -> KafkaRecord:
    """The record behind a message of the client's."""
    return KafkaRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        _timestamp(message),
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


def _timestamp(message: Any) -> int | None:
    kind, stamp = message.timestamp()
    return stamp if kind else None


_value, _timestamp_of = methodcaller("value"), methodcaller("timestamp")


class RecordDecoder:
    """Decodes messages a batch at a time; only where that fails, one by one."""

    def __init__(
        self,
        schema: DeserializationSchema | KafkaRecordDeserializationSchema,
        bad_records: str = FAIL,
    ) -> None:
        self._schema = schema
        self._bad_records = bad_records

    def decode(self, messages: list[Any]) -> SourceBatch:
        """The elements of ``messages``. Those without a value have none, unless the schema takes
        whole records; nor do those for which the schema returns None."""
        size = sum(map(len, messages))
        contents, messages = self._contents(messages)
        if contents and isinstance(self._schema, DeserializationSchema):
            columns = self._schema.deserialize_columns(contents)
            if columns is not None:
                return SourceBatch(
                    columns=columns, timestamps=_timestamps(messages), bytes_read=size
                )
        rejected: list[KafkaDeadLetter] = []
        try:
            if isinstance(self._schema, DeserializationSchema):
                rows = self._schema.deserialize_batch(contents)
            else:
                rows = [self._schema.deserialize(one) for one in contents]
        except Exception:
            rows, messages, rejected = self._one_by_one(contents, messages)
        if getattr(self._schema, "flattens", False):
            messages = [m for m, some in zip(messages, rows, strict=True) for _ in some]
            rows = [row for some in rows for row in some]
        if any(row is None for row in rows):
            kept = [at for at, row in enumerate(rows) if row is not None]
            rows, messages = [rows[at] for at in kept], [messages[at] for at in kept]
        return SourceBatch(
            rows=rows, timestamps=_timestamps(messages), rejected=rejected, bytes_read=size
        )

    def _contents(self, messages: list[Any]) -> tuple[list[Any], list[Any]]:
        if isinstance(self._schema, KafkaRecordDeserializationSchema):
            return list(map(as_record, messages)), messages
        values = list(map(_value, messages))
        if None in values:
            messages = [m for m, value in zip(messages, values, strict=True) if value is not None]
            values = [value for value in values if value is not None]
        return values, messages

    def _one_by_one(
        self, contents: list[Any], messages: list[Any]
    ) -> tuple[list[Any], list[Any], list[KafkaDeadLetter]]:
        decode: Callable[[Any], Any] = self._schema.deserialize
        rows, kept, rejected = [], [], []
        for content, message in zip(contents, messages, strict=True):
            try:
                rows.append(decode(content))
            except Exception as failure:
                record = as_record(message)
                if self._bad_records == FAIL:
                    raise _refusal(record, failure) from failure
                if self._bad_records == DEAD_LETTER:
                    error = f"{type(failure).__name__}: {failure}"
                    rejected.append(KafkaDeadLetter(*record, error))
            else:
                kept.append(message)
        return rows, kept, rejected


def _refusal(record: KafkaRecord, failure: Exception) -> TypeMismatchError:
    return TypeMismatchError(
        f"the record at offset {record.offset} of {record.topic}-{record.partition} cannot be "
        f"decoded: {type(failure).__name__}: {failure}; its value is {shorten(record.value)}. "
        'Mend the producer, or call set_bad_records("dead-letter") on the source\'s builder and '
        "read get_side_output(DEAD_LETTERS)."
    )


def _timestamps(messages: list[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    pairs = chain.from_iterable(map(_timestamp_of, messages))
    found = np.fromiter(pairs, np.int64, 2 * len(messages)).reshape(-1, 2)
    # a kind of 0 means that there is no timestamp
    return np.where(found[:, 0] == 0, np.iinfo(np.int64).min, found[:, 1])
