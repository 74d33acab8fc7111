"""Reading ranges of offsets from a client that behaves like Kafka's; no broker needed."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError

from scurry.common.errors import JobError
from scurry.connectors.kafka import reader
from scurry.connectors.kafka.client import ClientSettings
from scurry.testing.servers import wait_until


class Message:
    def __init__(self, offset: int, error: Any = None) -> None:
        self._offset, self._error = offset, error

    def offset(self) -> int:
        return self._offset

    def error(self) -> Any:
        return self._error


class Client:
    """A consumer of one partition that holds records at some offsets only."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.offsets = list(range(20))
        self.end = 20
        self.assigned: list[int] = []
        self.position = 0
        self.told: int | None = None
        self.chunk = 4
        self.closed = False

    def assign(self, places: list[Any]) -> None:
        self.position = places[0].offset
        self.assigned.append(self.position)
        self.told = None

    def poll(self, timeout: float) -> Any:
        found = next((offset for offset in self.offsets if offset >= self.position), None)
        if found is not None:
            self.position = found + 1
            return Message(found)
        if self.told != self.end:
            self.told = self.position = self.end
            return Message(self.end, KafkaError(KafkaError._PARTITION_EOF))
        return None

    def consume(self, count: int, timeout: float) -> list[Any]:
        found = [self.poll(0) for _ in range(self.chunk)]
        return [message for message in found if message is not None]

    def get_watermark_offsets(self, place: Any, timeout: float) -> tuple[int, int]:
        return (min(self.offsets), self.end)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(reader, "make", lambda kind, settings: Client(settings))
    made = reader.PartitionReader(ClientSettings({"bootstrap.servers": "b"}), "t", 0)
    return made, made._consumer


def offsets(reading: Any, start: int, end: int) -> list[int]:
    found = [message.offset() for chunk in reading.read(start, end, True) for message in chunk]
    return found


def test_ranges_one_after_the_other_need_no_new_start(opened: Any) -> None:
    reading, client = opened
    assert offsets(reading, 0, 7) == list(range(7))
    assert offsets(reading, 7, 8) == [7]
    assert offsets(reading, 8, 20) == list(range(8, 20))
    assert client.assigned == [0]


def test_what_another_worker_has_read_is_passed_over(opened: Any) -> None:
    reading, client = opened
    assert offsets(reading, 0, 3) == [0, 1, 2]
    assert offsets(reading, 11, 14) == [11, 12, 13]
    assert client.assigned == [0]


def test_going_back_or_far_ahead_starts_anew(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, client = opened
    assert offsets(reading, 5, 9) == [5, 6, 7, 8]
    assert offsets(reading, 5, 9) == [5, 6, 7, 8]
    monkeypatch.setattr(reader, "_SKIP_AT_MOST", 3)
    assert offsets(reading, 15, 18) == [15, 16, 17]
    assert client.assigned == [5, 5, 15]


@pytest.mark.parametrize("held", [[], [3], [0, 5, 6, 19], [19], list(range(0, 20, 3))])
@pytest.mark.parametrize("cuts", [[20], [1] * 20, [3, 3, 3, 3, 3, 3, 2], [6, 14]])
def test_gaps_do_not_stop_a_range(opened: Any, held: list[int], cuts: list[int]) -> None:
    reading, client = opened
    client.offsets = held
    found, at = [], 0
    for size in cuts:
        found += offsets(reading, at, at + size)
        at += size
    assert found == held


def test_a_partition_that_ends_too_early_is_noticed(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, _ = opened
    monkeypatch.setattr(reader, "_SHORT_SECONDS", -1.0)
    with pytest.raises(JobError, match="t-0 ends at offset 20, but records up to 25 were there"):
        offsets(reading, 0, 25)


def test_an_error_that_waiting_does_not_mend_ends_the_job(opened: Any) -> None:
    reading, _ = opened
    reading._on_error(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
    with pytest.raises(JobError, match="Reading t-0 failed: wrong password"):
        offsets(reading, 0, 25)


def test_a_worker_keeps_a_few_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "make", lambda kind, settings: Client(settings))
    monkeypatch.setattr(reader, "_MOST_READERS", 2)
    monkeypatch.setattr(reader, "_readers", reader.OrderedDict())
    settings = ClientSettings({"bootstrap.servers": "b"})
    first, second = (reader.reader_of(settings, "t", number) for number in range(2))
    assert reader.reader_of(settings, "t", 0) is first
    reader.reader_of(settings, "t", 2)
    assert second._consumer.closed
    assert not first._consumer.closed
    reader.forget_reader(settings, "t", 0)
    assert first._consumer.closed


def test_readers_without_use_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when nothing is ever read again in this process; those in use are not."""
    monkeypatch.setattr(reader, "make", lambda kind, settings: Client(settings))
    monkeypatch.setattr(reader, "_IDLE_SECONDS", 0.04)
    monkeypatch.setattr(reader, "_readers", reader.OrderedDict())
    monkeypatch.setattr(reader, "_watching", False)
    settings = ClientSettings({"bootstrap.servers": "b"})
    idle, reading = (reader.reader_of(settings, "t", number) for number in range(2))
    assert offsets(idle, 0, 20) == list(range(20))
    under_way = reading.read(0, 20, True)
    wait_until(lambda: idle._consumer.closed)
    assert not reading._consumer.closed
    assert [message.offset() for chunk in under_way for message in chunk] == list(range(20))
    wait_until(lambda: reading._consumer.closed)
    wait_until(lambda: not reader._watching)


def test_where_little_is_read_often_brokers_answer_with_what_they_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def client(kind: str, settings: dict[str, Any]) -> Client:
        asked.append(settings["fetch.min.bytes"])
        return Client(settings)

    monkeypatch.setattr(reader, "make", client)
    servers = ClientSettings({"bootstrap.servers": "often"})
    first = reader.reader_of(servers, "t", 0)
    again = reader.reader_of(servers, "t", 0, often=True)
    assert (first is again, reader.reader_of(servers, "t", 0, often=True) is again) == (False, True)
    assert asked == ["65536", "1"]
    reader.forget_reader(servers, "t", 0)
