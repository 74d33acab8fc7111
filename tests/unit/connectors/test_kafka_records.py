"""How messages of Kafka's client become elements, with and without trouble; no broker needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scurry.common import Types
from scurry.common.errors import TypeMismatchError
from scurry.common.serialization import DeserializationSchema
from scurry.connectors.kafka.record import KafkaDeadLetter, RecordDecoder
from scurry.datastream.formats.debezium import DebeziumJsonDeserializationSchema
from scurry.datastream.formats.json import JsonRowDeserializationSchema


class Message:
    """A message as ``confluent_kafka`` gives it."""

    def __init__(self, offset: int, value: bytes | None, timestamp: int | None = 0) -> None:
        self._offset, self._value = offset, value
        self._timestamp = (0, -1) if timestamp is None else (1, timestamp or 1000 + offset)

    def __len__(self) -> int:
        return len(self._value or b"")

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return self._offset

    def timestamp(self) -> tuple[int, int]:
        return self._timestamp

    def key(self) -> bytes | None:
        return b"k"

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> Any:
        return None


def messages(*values: bytes | None) -> list[Message]:
    return [Message(offset, value) for offset, value in enumerate(values)]


TABLE = Types.ROW_NAMED(["id"], [Types.INT()])


def test_one_change_event_may_be_several_elements() -> None:
    decoder = RecordDecoder(DebeziumJsonDeserializationSchema(TABLE))
    batch = decoder.decode(
        messages(
            b'{"op":"c","after":{"id":1}}',
            None,
            b'{"op":"u","before":{"id":1},"after":{"id":2}}',
            b'{"op":"d","before":{"id":2}}',
        )
    )
    assert batch.rows is not None
    assert [row.to_string() for row in batch.rows] == ["+I[1]", "-U[1]", "+U[2]", "-D[2]"]
    assert batch.timestamps is not None
    assert batch.timestamps.tolist() == [1000, 1002, 1002, 1003]


def test_bad_change_events_are_rejected_one_by_one() -> None:
    decoder = RecordDecoder(DebeziumJsonDeserializationSchema(TABLE), "dead-letter")
    event = b'{"op":"u","before":{"id":1},"after":{"id":2}}'
    batch = decoder.decode(messages(event, b"nope", event))
    assert batch.rows is not None
    assert len(batch.rows) == 4
    assert batch.timestamps is not None
    assert batch.timestamps.tolist() == [1000, 1000, 1002, 1002]
    [letter] = batch.rejected
    assert isinstance(letter, KafkaDeadLetter)
    assert (letter.topic, letter.partition, letter.offset, letter.value) == ("t", 3, 1, b"nope")
    assert batch.bytes_read == 2 * len(event) + 4


def test_elements_that_are_none_are_passed_over() -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(TABLE).ignore_parse_errors().build()
    batch = RecordDecoder(schema).decode(messages(b'{"id":1}', b"nope", None, b'{"id":4}'))
    assert batch.rows is not None
    assert [row["id"] for row in batch.rows] == [1, 4]
    assert batch.timestamps is not None
    assert batch.timestamps.tolist() == [1000, 1003]


class Touchy(DeserializationSchema):
    """Counts how it is called."""

    def __init__(self) -> None:
        self.batches = self.singles = 0

    def deserialize_batch(self, messages: list[bytes]) -> list[Any]:
        self.batches += 1
        return [self._one(message) for message in messages]

    def deserialize(self, message: bytes) -> Any:
        self.singles += 1
        return self._one(message)

    def _one(self, message: bytes) -> Any:
        if message == b"bad":
            raise ValueError("bad luck")
        return message


def test_only_batches_with_a_bad_record_are_read_one_by_one() -> None:
    schema = Touchy()
    RecordDecoder(schema).decode(messages(b"a", b"b"))
    assert (schema.batches, schema.singles) == (1, 0)
    RecordDecoder(schema, "skip").decode(messages(b"a", b"bad", b"b"))
    assert (schema.batches, schema.singles) == (2, 3)
    with pytest.raises(TypeMismatchError, match=r"offset 1 of t-3 .*ValueError: bad luck.*b'bad'"):
        RecordDecoder(schema).decode(messages(b"a", b"bad"))


def test_records_without_a_timestamp_have_none() -> None:
    batch = RecordDecoder(Touchy()).decode([Message(0, b"a", None), Message(1, b"b", 50)])
    assert batch.timestamps is not None
    assert batch.timestamps.tolist() == [np.iinfo(np.int64).min, 50]
