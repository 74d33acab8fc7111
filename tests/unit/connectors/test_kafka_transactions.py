"""Transactions of a Kafka sink, against a broker that is a few lists: what is written, and when."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaError, KafkaException

from scurry.common.errors import JobError, LeaseLostError, OtherHistoryError
from scurry.connectors.kafka import transactions
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.outgoing import Outgoing
from scurry.connectors.kafka.transactions import BatchTransactions
from scurry.functions.fencing import Fence
from scurry.functions.history import History, Mark
from scurry.functions.sink import CommitterContext


class Broker:
    """One topic, and the offsets of the group that holds the marks; ``errors`` are raised by the
    producer's next commits."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.offsets: dict[str, Any] = {}
        self.errors: list[KafkaError] = []
        self.opened = 0

    def make(self, kind: str, settings: dict[str, Any]) -> Any:
        return Producer(self) if kind == "Producer" else Consumer(self)


class Consumer:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def list_topics(self, timeout: float) -> Any:
        return type("Metadata", (), {"topics": {"t": None}})

    def committed(self, places: list[Any], timeout: float) -> list[Any]:
        return [self.broker.offsets.get(place.topic, place) for place in places]

    def consumer_group_metadata(self) -> None:
        pass

    def close(self) -> None:
        pass


class Producer:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.values: list[bytes] = []
        self.places: list[Any] = []

    def init_transactions(self, timeout: float) -> None:
        self.broker.opened += 1

    def begin_transaction(self) -> None:
        self.values, self.places = [], []

    def produce(self, topic: str, value: bytes, *more: Any) -> None:
        self.values.append(value)

    def poll(self, timeout: float) -> int:
        return 0

    def send_offsets_to_transaction(self, places: list[Any], group: Any, timeout: float) -> None:
        self.places = places

    def commit_transaction(self, timeout: float) -> None:
        if self.broker.errors:
            raise KafkaException(self.broker.errors.pop(0))
        self.broker.records += self.values
        self.broker.offsets.update({place.topic: place for place in self.places})

    def purge(self) -> None:
        pass


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker()
    monkeypatch.setattr(transactions, "make", made.make)
    monkeypatch.setattr(transactions, "_RETRY_SECONDS", 0.0)
    return made


def history_of(*batches: int) -> History:
    history = History()
    for batch in batches:
        history.plan(batch)
    return history


def started(history: History, lease: Fence | None = None) -> tuple[BatchTransactions, Mark | None]:
    """A new run of the job."""
    settings = ClientSettings({"bootstrap.servers": "here:9092"})
    context = CommitterContext("sink", "checkpoint", history, lease or Fence())
    writing = BatchTransactions(settings, "job", context)
    return writing, writing.start()


class Lease(Fence):
    """A lease that can be lost."""

    epoch = 3

    def __init__(self) -> None:
        self.lost = False

    def check(self) -> None:
        if self.lost:
            raise LeaseLostError("taken over")


def part(*values: bytes) -> Outgoing:
    return Outgoing("t", list(values))


def test_a_batch_is_written_once_however_often_it_is_committed(broker: Broker) -> None:
    history = history_of(0, 1)
    writing, found = started(history)
    assert found is None
    writing.commit(0, [part(b"a"), part(b"b")])
    writing.commit(0, [part(b"a"), part(b"b")])
    assert broker.records == [b"a", b"b"]
    again, found = started(history)
    assert found is not None
    assert (found.batch, found.branch) == (0, history.token(0))
    again.commit(0, [part(b"a"), part(b"b")])
    again.commit(1, [part(b"c")])
    assert broker.records == [b"a", b"b", b"c"]


def test_a_batch_without_records_opens_no_transaction(broker: Broker) -> None:
    writing, _ = started(history_of(0))
    writing.commit(0, [part()])
    assert broker.offsets == {}


def test_a_batch_of_another_history_is_reported_before_anybody_is_fenced_off(
    broker: Broker,
) -> None:
    writing, _ = started(history_of(0))
    writing.commit(0, [part(b"a")])
    opened = broker.opened
    _, found = started(history_of(0))
    assert found is not None
    assert found.batch == 0
    assert broker.opened == opened, "no producer: the other run may be alive"


def test_if_it_is_accepted_writing_goes_on(broker: Broker) -> None:
    writing, _ = started(history_of(0, 1, 2))
    for batch in range(3):
        writing.commit(batch, [part(b"old")])
    history = history_of(0, 1)
    writing, found = started(history)
    assert found is not None
    with pytest.raises(OtherHistoryError, match="micro-batch 2 of another history"):
        writing.commit(1, [part(b"new")])
    writing.accept(history.mark(0))
    writing.commit(1, [part(b"new")])
    assert broker.records == [b"old"] * 3 + [b"new"]


def test_a_failure_that_passes_is_got_over(broker: Broker) -> None:
    broker.errors = [KafkaError(KafkaError._TRANSPORT, "connection lost")]
    writing, _ = started(history_of(0))
    writing.commit(0, [part(b"a")])
    assert broker.records == [b"a"]
    assert broker.opened == 2, "the second attempt has a producer of its own"


def test_a_refusal_says_what_to_check(broker: Broker) -> None:
    writing, _ = started(history_of(0))
    broker.errors = [KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not allowed")]
    with pytest.raises(JobError, match=r"Kafka at here:9092 failed: not allowed.*may write to it"):
        writing.commit(0, [part(b"a")])
    assert broker.records == []


def test_a_run_that_was_fenced_off_ends(broker: Broker) -> None:
    writing, _ = started(history_of(0))
    broker.errors = [KafkaError(KafkaError._FENCED, "fenced")]
    with pytest.raises(JobError, match="Another run of this job has taken over"):
        writing.commit(0, [part(b"a")])


FENCED = KafkaError.PRODUCER_FENCED


def test_a_driver_that_has_lost_its_lease_does_not_use_the_producer_that_it_has_opened(
    broker: Broker,
) -> None:
    """It was paused before it opened the producer, and has fenced off the one that took over."""
    lease = Lease()
    lease.lost = True
    with pytest.raises(LeaseLostError):
        started(history_of(0), lease)
    assert broker.records == []


def test_a_driver_that_was_fenced_off_by_one_without_the_lease_goes_on(broker: Broker) -> None:
    writing, _ = started(history_of(0, 1), Lease())
    opened = broker.opened
    broker.errors = [KafkaError(FENCED)]
    writing.commit(0, [part(b"a")])
    assert (broker.records, broker.opened) == ([b"a"], opened + 1)


def test_a_driver_that_was_fenced_off_and_has_lost_its_lease_says_so(broker: Broker) -> None:
    lease = Lease()
    writing, _ = started(history_of(0), lease)
    broker.errors, lease.lost = [KafkaError(FENCED)], True
    with pytest.raises(LeaseLostError):
        writing.commit(0, [part(b"a")])
    assert broker.records == []


def test_two_jobs_of_one_name_do_not_fence_each_other_off_for_ever(broker: Broker) -> None:
    writing, _ = started(history_of(0), Lease())
    broker.errors = [KafkaError(FENCED) for _ in range(10)]
    with pytest.raises(JobError, match="Another run of this job has taken over its transactions"):
        writing.commit(0, [part(b"a")])
    assert broker.records == []
