"""One Kafka transaction per micro-batch, written by the driver, that can be committed again.

A worker cannot hand an open transaction to another process, so writers only serialise; their
records travel to the driver inside the commit messages. The driver writes the records of a batch in
one transaction, together with a *mark*: the batch's number, committed as an offset of a consumer
group that exists for this purpose alone, with the checkpoint, the branch of its history and the
time as metadata. Records and mark become visible together or not at all, so after a crash the mark
tells whether the batch is in Kafka already.

The transactional id is the same in every run of the job. A new run's first act makes the brokers
abort what an earlier one left open, and refuse whatever it still tries to write.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from scurry.common.errors import JobError
from scurry.common.fault_points import fault_point
from scurry.connectors.kafka.client import (
    ClientSettings,
    Patience,
    is_hopeless,
    is_refusal,
    make,
)
from scurry.connectors.kafka.outgoing import Outgoing
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext

#: How long one call may take before the wait for it is spoken of.
_CALL_SECONDS = 2.0
#: After so long a transaction is begun anew, by a new producer.
_STUCK_SECONDS = 15.0
#: A call that should have returned after _CALL_SECONDS is given up after this.
_OVERSTAYED_SECONDS = 8.0
_RETRY_SECONDS = 0.5
#: How long a starting job waits for the brokers before it goes on without having asked them.
_START_SECONDS = 30.0
_TRANSACTION_MS = 60_000


class BatchTransactions:
    """Writes micro-batches of one sink, each once."""

    def __init__(self, settings: ClientSettings, name: str, context: CommitterContext) -> None:
        self._settings = settings
        self._name = name
        self._checkpoint_id = context.checkpoint_id
        self._history = context.history
        self._patience = Patience(settings.servers, "write a micro-batch")
        self._producer: Any = None
        #: stands for the group that holds the mark; it never joins it
        self._consumer: Any = None
        #: the marks of this checkpoint, each with whichever topic its batch was written to
        self._marks: dict[str, Mark] = {}
        self._began = 0.0
        self._reason: Any = None

    def start(self) -> Mark | None:
        """Find the last mark: one of another history, if there is any; otherwise fence off earlier
        runs. If the brokers are away, that is left to the first commit."""
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + _START_SECONDS
        while self._producer is None and time.monotonic() < deadline:
            try:
                self._marks = self._peek()
                if self._strange():
                    break
                self._open()
            except KafkaException as failure:
                self._after_failure(failure)
            except _NoAnswer:
                self._abandon()
        return self._last()

    def _peek(self) -> dict[str, Mark]:
        """The marks, found without disturbing a run of this job that may be alive: a job that is
        to be refused must not fence it off."""
        consumer = self._make_consumer("read_uncommitted")
        try:
            return self._committed(consumer)
        finally:
            consumer.close()

    def _strange(self) -> list[Mark]:
        return [mark for mark in self._marks.values() if not self._history.holds(mark)]

    def _last(self) -> Mark | None:
        marks = self._strange() or list(self._marks.values())
        return max(marks, key=lambda mark: mark.batch, default=None)

    def accept(self, mark: Mark) -> None:
        """Go on as if ``mark`` were the last batch, wherever there are marks."""
        self._insist(lambda: self._accept(mark))

    def _accept(self, mark: Mark) -> None:
        self._began = time.monotonic()
        self._producer.begin_transaction()
        self._finish(dict.fromkeys(self._marks, mark))

    def commit(self, batch_id: int, parts: list[Outgoing]) -> None:
        """Write a batch, unless it is in Kafka already. Waits for brokers that are away."""
        parts = [part for part in parts if len(part)]
        if parts:
            self._insist(lambda: self._commit(batch_id, parts))

    def _commit(self, batch_id: int, parts: list[Outgoing]) -> None:
        if not self._history.repeats(batch_id, self._last()):
            self._write(batch_id, parts)

    def _insist(self, action: Callable[[], None]) -> None:
        """Do something with an open producer, again and again until the brokers have agreed."""
        from confluent_kafka import KafkaException

        while True:
            try:
                if self._producer is None:
                    self._open()
                action()
                self._patience.over()
                return
            except KafkaException as failure:
                self._after_failure(failure)
            except _NoAnswer as failure:
                self._patience.waiting(str(failure))
                self._abandon()

    def _open(self) -> None:
        """A producer whose predecessors are fenced off, and the last batch that was committed."""
        producer = make(
            "Producer",
            {
                **self._settings.with_defaults(
                    partitioner="murmur2_random",
                    linger_ms="5",
                    queue_buffering_max_messages="1000000",
                    queue_buffering_max_kbytes="1048576",
                    transaction_timeout_ms=str(_TRANSACTION_MS),
                ),
                "transactional.id": self._name,
                "error_cb": self._on_error,
            },
        )
        self._began = time.monotonic()
        self._patiently(producer.init_transactions)
        if self._consumer is None:
            # reading committed, it waits for marks that are about to be
            self._consumer = self._make_consumer("read_committed")
        self._marks = self._committed(self._consumer)
        self._producer = producer

    def _make_consumer(self, isolation: str) -> Any:
        settings = self._settings.with_defaults(enable_auto_commit="false")
        group = {"group.id": self._name, "isolation.level": isolation}
        return make("Consumer", {**settings, **group})

    def _on_error(self, error: Any) -> None:
        self._reason = error

    def _committed(self, consumer: Any) -> dict[str, Mark]:
        """The marks of batches of this checkpoint that are in Kafka, by topic."""
        from confluent_kafka import TopicPartition

        topics = _answered(consumer.list_topics, timeout=_CALL_SECONDS).topics
        places = [TopicPartition(topic, 0) for topic in topics]
        if not places:
            return {}
        found = _answered(consumer.committed, places, timeout=_CALL_SECONDS)
        marks = {}
        for at in found:
            # marks of earlier versions have the checkpoint and nothing else
            checkpoint, branch, when = [*(at.metadata or "").split("/"), "", ""][:3]
            if checkpoint == self._checkpoint_id and at.offset >= 0:
                marks[at.topic] = Mark(at.offset - 1, branch, int(when) if when else None)
        return marks

    def _write(self, batch_id: int, parts: list[Outgoing]) -> None:
        producer = self._producer
        self._began = time.monotonic()
        producer.begin_transaction()
        for part in parts:
            part.send(producer)
        self._finish({parts[0].some_topic: self._history.mark(batch_id)})

    def _finish(self, marks: dict[str, Mark]) -> None:
        """Commit the transaction that is under way, with these marks in it."""
        from confluent_kafka import TopicPartition

        now = int(time.time() * 1000)
        places = [
            TopicPartition(topic, 0, mark.batch + 1, f"{self._checkpoint_id}/{mark.branch}/{now}")
            for topic, mark in marks.items()
        ]
        group = self._consumer.consumer_group_metadata()
        self._patiently(self._producer.send_offsets_to_transaction, places, group)
        fault_point("kafka-transaction")
        self._patiently(self._producer.commit_transaction)
        self._marks.update(marks)

    def _patiently(self, call: Any, *arguments: Any) -> None:
        """Make a call that may be taken up again where it was left when its time is over. Not for
        ever: after an outage a client may wait for answers that will not come, where a new one
        gets on at once."""
        from confluent_kafka import KafkaException

        while True:
            try:
                _answered(call, *arguments, _CALL_SECONDS)
            except KafkaException as failure:
                error = failure.args[0]
                stuck = time.monotonic() - self._began > _STUCK_SECONDS
                if not error.retriable() or stuck:
                    raise
                reason = error if self._reason is None else self._reason
                self._patience.waiting(reason.str())
            else:
                return

    @property
    def _expired(self) -> bool:
        """Whether the brokers may have given the transaction up by themselves."""
        return time.monotonic() - self._began > 0.8 * _TRANSACTION_MS / 1000

    def _after_failure(self, failure: Any) -> None:
        """Decide whether to try again; the next attempt begins with a new producer, which finds
        out what has become of the last one's transaction."""
        from confluent_kafka import KafkaError

        error = failure.args[0]
        fenced = error.code() in (
            KafkaError._FENCED,
            KafkaError.INVALID_PRODUCER_EPOCH,
            KafkaError.PRODUCER_FENCED,
        )
        if fenced and not self._expired:
            raise JobError(
                f"Another run of this job has taken over its transactions ({self._name!r}), so "
                "this one ends. Run each job once, and give jobs that write to the same Kafka "
                "different names with set_transactional_id_prefix."
            ) from failure
        if is_hopeless(error) or is_refusal(error):
            raise JobError(f"Writing to Kafka at {self._settings.servers} failed: {error.str()}")
        self._patience.waiting(error.str())
        self._drop()
        time.sleep(_RETRY_SECONDS)

    def _drop(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer = None

    def _abandon(self) -> None:
        """Go on with new clients. What the old ones may still do is fenced off by the new producer,
        or is found to be done by then."""
        self._producer = self._consumer = None

    def close(self) -> None:
        """Let go of the brokers."""
        self._drop()
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


class _NoAnswer(Exception):
    """A call into the client did not come back, not even to say that its time was over."""


def _answered(call: Any, *arguments: Any, **named: Any) -> Any:
    """The result of a call; raises :class:`_NoAnswer` if it overstays its own timeout by far, as
    calls that were caught by an outage of the brokers may do."""
    outcome: list[Any] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(call(*arguments, **named))
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=work, name="scurry-kafka-call", daemon=True)
    thread.start()
    thread.join(_OVERSTAYED_SECONDS)
    if thread.is_alive():
        raise _NoAnswer(f"the client did not answer for {_OVERSTAYED_SECONDS:.0f} s")
    if failures:
        raise failures[0]
    return outcome[0]
