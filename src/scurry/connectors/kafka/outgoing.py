"""Elements on their way into Kafka: serialised in batches, held as columns.

A column of values, of keys and so on travels as a list of ``bytes``, which is pickled and unpickled
several times faster than a list of record objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np

from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.serialization import SerializationSchema
from scurry.common.type_information import describe
from scurry.functions.sink import Records
from scurry.runtime.batch import NO_TIMESTAMP, Longs
from scurry.runtime.failures import ElementFailed

__all__ = [
    "KafkaProducerRecord",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
]

#: How long to wait at a time for room in a producer's queue.
_ROOM_SECONDS = 0.05
#: After so many records the producer is asked what has become of earlier ones.
_AT_ONCE = 2_000


class KafkaProducerRecord(NamedTuple):
    """A record to write. Without ``partition`` the key decides, without ``timestamp`` (in
    milliseconds) the element's own is taken."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int = -1
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] | None = None


@dataclass
class Outgoing:
    """Records to write, as columns; a list that is None holds the same for all."""

    topics: list[str] | str
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    #: milliseconds, 0 for the time of writing
    timestamps: list[int] | None = None
    partitions: list[int] | None = None
    headers: list[Any] | None = field(default=None)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def some_topic(self) -> str:
        """A topic that is written to."""
        return self.topics if isinstance(self.topics, str) else self.topics[0]

    def send(self, producer: Any) -> None:
        """Hand every record to a producer, in order, waiting where its queue is full."""
        at = 0
        while at < len(self):
            some = slice(at, at + _AT_ONCE)
            # as many calls as there are records, without a step of Python between two of them
            values = iter(self.values[some])
            try:
                deque(map(producer.produce, *self._arguments(values, some)), maxlen=0)
                at = some.stop
                # what was delivered takes room in the queue until its report is taken
                producer.poll(0)
            except BufferError:
                # the record that was taken last has not found room
                at = min(some.stop, len(self)) - length_hint(values) - 1
                producer.poll(_ROOM_SECONDS)

    def _arguments(self, values: Iterator[Any], some: slice) -> list[Iterable[Any]]:
        """What to call ``produce`` with, for some of the records: topic, value, key, partition,
        two callbacks, timestamp and, where there are any, headers."""
        topics = repeat(self.topics) if isinstance(self.topics, str) else self.topics[some]
        keys = repeat(None) if self.keys is None else self.keys[some]
        places = repeat(-1) if self.partitions is None else self.partitions[some]
        stamps = repeat(0) if self.timestamps is None else self.timestamps[some]
        nobody = repeat(None)
        found: list[Iterable[Any]] = [topics, values, keys, places, nobody, nobody, stamps]
        if self.headers is not None:
            found.append([extra and list(extra) for extra in self.headers[some]])
        return found


class KafkaTopicSelector(ABC):
    """Chooses the topic of each element."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic of an element."""


class KafkaRecordSerializationSchema(SerializationSchema):
    """Makes records of elements. :meth:`builder` makes one from schemas for value and key; a
    subclass that overrides :meth:`to_record` decides everything by itself."""

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """A builder without settings."""
        return KafkaRecordSerializationSchemaBuilder()

    def to_record(self, element: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        """The record for an element with that event timestamp; None for none."""
        raise ProgramError(
            f"{type(self).__name__} makes no records: override to_record(element, timestamp), or "
            "use KafkaRecordSerializationSchema.builder()."
        )

    def serialize(self, value: Any) -> bytes | None:
        record = self.to_record(value, None)
        return None if record is None else record.value

    def encode_records(self, records: Records) -> Outgoing:
        """The records for elements, as they come to a writer."""
        return self.outgoing(records.rows, records.ts)

    def outgoing(self, rows: list[Any], timestamps: Longs | None) -> Outgoing:
        """The records for ``rows``."""
        records: list[KafkaProducerRecord] = []
        stamps = _stamps(timestamps) or [0] * len(rows)
        for row, stamp in zip(rows, stamps, strict=True):
            try:
                record = self.to_record(row, stamp or None)
            except Exception as failure:
                raise ElementFailed(row) from failure
            if record is not None:
                own = stamp if record.timestamp is None else record.timestamp
                records.append(record._replace(timestamp=own))
        if not records:
            return Outgoing("", [])
        topics, values, keys, places, times, headers = map(list, zip(*records, strict=True))
        return Outgoing(topics, values, keys, times, places, headers)


class _BuiltSchema(KafkaRecordSerializationSchema):
    """Value and key by schemas of their own, topics fixed or chosen."""

    def __init__(
        self,
        topic: str | None,
        select: Callable[[Any], str] | None,
        value: SerializationSchema,
        key: SerializationSchema | None,
    ) -> None:
        self._topic = topic
        self._select = select
        self._value = value
        self._key = key

    def to_record(self, element: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        topic = self._topic if self._select is None else _name(self._select(element))
        key = None if self._key is None else self._key.serialize(element)
        assert topic is not None
        return KafkaProducerRecord(topic, self._value.serialize(element), key)

    def outgoing(self, rows: list[Any], timestamps: Longs | None) -> Outgoing:
        topics: list[str] | str | None = self._topic
        if self._select is not None:
            select = self._select
            topics = _each(lambda row: _name(select(row)), rows)
        assert topics is not None
        keys = None if self._key is None else _serialize(self._key, rows)
        return Outgoing(topics, _serialize(self._value, rows), keys, _stamps(timestamps))


def _serialize(schema: SerializationSchema, rows: list[Any]) -> list[bytes | None]:
    try:
        return schema.serialize_batch(rows)
    except ElementFailed:
        raise
    except Exception:
        return _each(schema.serialize, rows)


def _each(function: Callable[[Any], Any], rows: list[Any]) -> list[Any]:
    found = []
    for row in rows:
        try:
            found.append(function(row))
        except Exception as failure:
            raise ElementFailed(row) from failure
    return found


def _name(topic: Any) -> str:
    if not isinstance(topic, str) or not topic:
        raise TypeMismatchError(
            f"the topic selector returned {describe(topic)}; it must return the name of a topic"
        )
    return topic


def _stamps(timestamps: Longs | None) -> list[int] | None:
    if timestamps is None:
        return None
    found: list[int] = np.where(timestamps == NO_TIMESTAMP, 0, timestamps).tolist()
    return found


class KafkaRecordSerializationSchemaBuilder:
    """Makes a :class:`KafkaRecordSerializationSchema`: a topic and a value schema are needed."""

    def __init__(self) -> None:
        self._topic: str | None = None
        self._select: Callable[[Any], str] | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all records to this topic."""
        self._topic, self._select = _name(topic), None
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each element."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._select = topic_selector.apply
        elif callable(topic_selector):
            self._select = topic_selector
        else:
            raise ProgramError(
                "set_topic_selector takes a function or a KafkaTopicSelector, got "
                f"{describe(topic_selector)}."
            )
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """How elements become keys; without it records have none."""
        self._key = _schema(key_serialization_schema, "set_key_serialization_schema")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """How elements become values."""
        self._value = _schema(value_serialization_schema, "set_value_serialization_schema")
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema."""
        if self._topic is None and self._select is None:
            raise ProgramError("A record needs a topic: call set_topic or set_topic_selector.")
        if self._value is None:
            raise ProgramError(
                "A record needs a value: call set_value_serialization_schema, for example with "
                "SimpleStringSchema()."
            )
        return _BuiltSchema(self._topic, self._select, self._value, self._key)


def _schema(given: Any, method: str) -> SerializationSchema:
    if not isinstance(given, SerializationSchema):
        raise ProgramError(f"{method} takes a SerializationSchema, got {describe(given)}.")
    return given
