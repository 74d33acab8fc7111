"""Writing each micro-batch to Kafka exactly once: one transaction for each, on the driver.

The driver writes the records of a micro-batch in one transaction, together with a *mark*: the
batch's number as the committed offset of a consumer group that exists for this purpose alone. The
offset's metadata are the checkpoint's id, the token of the batch's branch, and the time. Records
and mark become visible together or not at all. So before the driver writes a batch again after a
crash, it looks at the mark, which tells whether the batch is in Kafka already.

Workers write nothing, because a worker cannot hand an open transaction to another process. They
serialise records, which travel to the driver inside the commit messages.

The transactional id is the same in every run of the job. When a run opens its producer, the brokers
abort the transaction that an earlier run left open and refuse whatever that run still tries to
write: the earlier run is *fenced off*.

A driver that was taken for dead may wake up at any moment, and open a producer after the driver
that took over has opened its own. So whoever has opened a producer makes sure that the checkpoint's
lease is still its own before it uses the producer, and whoever is fenced off although it has the
lease opens another one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from scurry.common.errors import JobError, OtherHistoryError
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

#: The timeout of one call. When it is over, the job says that it waits, and calls again.
_CALL_SECONDS = 2.0
#: A transaction that takes longer than this is given up, and begun anew by a new producer.
_STUCK_SECONDS = 15.0
#: A call that has not returned after this long, although its timeout is _CALL_SECONDS, is given up.
_OVERSTAYED_SECONDS = 8.0
_RETRY_SECONDS = 0.5
#: How long a job that starts waits for the brokers; after that, the first commit asks them.
_START_SECONDS = 30.0
_TRANSACTION_MS = 60_000
#: How often a producer is opened again that somebody without the lease has fenced off. Somebody who
#: does it more often is another job with the same name.
_MOST_FENCED = 3
#: What is noted with the mark of a batch whose transactions are being committed.
_UNDER_WAY = "/under way"


class BatchTransactions:
    """Writes the micro-batches of one sink to Kafka, each of them once.

    The sink calls :meth:`start` when the job starts, :meth:`commit` for each micro-batch, and
    :meth:`close` at the end; :meth:`accept` only if the user chose to write on although Kafka has
    batches of another history.
    """

    def __init__(self, settings: ClientSettings, name: str, context: CommitterContext) -> None:
        self._settings = settings
        self._name = name
        self._checkpoint_id = context.checkpoint_id
        self._history = context.history
        self._lease = context.lease
        self._fenced = 0
        self._patience = Patience(settings.servers, "write a micro-batch")
        self._producer: Any = None
        #: reads and writes the offsets of the group that holds the marks; it never joins the group
        self._consumer: Any = None
        #: the last marks of this checkpoint, by the topic that their batches were written to
        self._marks: dict[str, Mark] = {}
        #: that of a batch of which not all transactions are known to be committed
        self._under_way: dict[str, Mark] = {}
        #: whether this driver has begun to commit transactions of tasks
        self._begun = False
        self._began = 0.0
        self._reason: Any = None

    def start(self) -> Mark | None:
        """Read the marks and, if all are of this history, fence off earlier runs.

        Returns the last mark of another history if there is one, otherwise the last mark, None if
        there is none or the brokers do not answer in time. In the last case the first commit reads
        the marks and fences off earlier runs.
        """
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
        """The marks, read without fencing off a run of this job that may still be alive: if a mark
        is of another history, this run is refused and that one goes on."""
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
        """Replace all marks by ``mark``, so that writing goes on after that batch."""
        self._insist(lambda: self._accept(mark))

    def _accept(self, mark: Mark) -> None:
        self._began = time.monotonic()
        self._producer.begin_transaction()
        self._finish(dict.fromkeys(self._marks, mark))
        self._under_way = {}

    def begin(self, batch_id: int, topic: str) -> bool:
        """The driver is about to commit a batch that is promised, as several transactions. Sets
        the mark of the batch, with a note that it is under way; False if the batch is in Kafka
        already, so that nothing must be committed."""
        self._insist(lambda: self._begin(batch_id, topic))
        last = self._last()
        return last is not None and last in self._under_way.values()

    def _begin(self, batch_id: int, topic: str) -> None:
        if not self._history.repeats(batch_id, self._last()):
            self._under_way = {topic: self._set_mark(batch_id, topic, _UNDER_WAY)}
        self._begun = True

    def end(self, batch_id: int, topic: str) -> None:
        """All transactions of the batch are committed."""
        self._insist(lambda: self._end(batch_id, topic))

    def _end(self, batch_id: int, topic: str) -> None:
        self._set_mark(batch_id, topic)
        self._under_way = {}

    def _set_mark(self, batch_id: int, topic: str, note: str = "") -> Mark:
        mark = self._history.mark(batch_id)
        places = self._places({topic: mark}, note)
        _answered(self._consumer.commit, offsets=places, asynchronous=False)
        self._marks[topic] = mark
        return mark

    def check_promises(self) -> None:
        """Raise :class:`~scurry.common.errors.OtherHistoryError` if a batch is under way that this
        driver has not gone on with, since its checkpoint does not promise it. Called when all that
        the checkpoint promises is committed."""
        last = self._last()
        if last is not None and last in self._under_way.values() and not self._begun:
            raise OtherHistoryError(
                f"Kafka at {self._settings.servers} has the mark of micro-batch {last.batch}, "
                "whose transactions somebody was committing, but the checkpoint does not promise "
                "it: it is an older copy, made while that micro-batch was run. Some of its records "
                "may be visible. Start from the newer checkpoint; or delete the consumer group "
                f"{self._name!r}, and the micro-batch is written again, so that some of its "
                "records may be there twice."
            )

    def commit(self, batch_id: int, parts: list[Outgoing]) -> None:
        """Write a batch, unless it is in Kafka already. Waits for brokers that are away."""
        parts = [part for part in parts if len(part)]
        if parts:
            self._insist(lambda: self._commit(batch_id, parts))

    def _commit(self, batch_id: int, parts: list[Outgoing]) -> None:
        if not self._history.repeats(batch_id, self._last()):
            self._write(batch_id, parts)

    def _insist(self, action: Callable[[], None]) -> None:
        """Call ``action`` with an open producer, and again after each failure that may pass, until
        it succeeds; raises :class:`JobError` if another attempt cannot help."""
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
        """Make a producer, fence off earlier runs with it, and read the marks."""
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
        self._lease.check()
        if self._consumer is None:
            # The transaction of an earlier run may be about to be committed. A consumer that reads
            # only what is committed is not answered before that is settled, so it misses no mark.
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

        self._under_way = {}
        topics = _answered(consumer.list_topics, timeout=_CALL_SECONDS).topics
        places = [TopicPartition(topic, 0) for topic in topics]
        if not places:
            return {}
        found = _answered(consumer.committed, places, timeout=_CALL_SECONDS)
        marks = {}
        for at in found:
            # marks of earlier versions have the checkpoint and nothing else
            checkpoint, branch, when, note = [*(at.metadata or "").split("/"), "", "", ""][:4]
            if checkpoint == self._checkpoint_id and at.offset >= 0:
                marks[at.topic] = Mark(at.offset - 1, branch, int(when) if when else None)
                if note:
                    self._under_way[at.topic] = marks[at.topic]
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
        places = self._places(marks)
        group = self._consumer.consumer_group_metadata()
        self._patiently(self._producer.send_offsets_to_transaction, places, group)
        fault_point("kafka-transaction")
        self._patiently(self._producer.commit_transaction)
        self._marks.update(marks)

    def _places(self, marks: dict[str, Mark], note: str = "") -> list[Any]:
        """The offsets that stand for marks."""
        from confluent_kafka import TopicPartition

        now = int(time.time() * 1000)
        return [
            TopicPartition(
                topic, 0, mark.batch + 1, f"{self._checkpoint_id}/{mark.branch}/{now}{note}"
            )
            for topic, mark in marks.items()
        ]

    def _patiently(self, call: Any, *arguments: Any) -> None:
        """Make a call of the producer that goes on where it stopped if it is made again after its
        timeout, and repeat it until it succeeds.

        Not for ever: after an outage a client may wait for answers that will not come, while a new
        client gets on at once. So the call fails when the transaction has taken too long.
        """
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
        """Return if the next attempt may succeed, after a pause; raise :class:`JobError` otherwise.

        The next attempt begins with a new producer and reads the marks, which tell whether the
        transaction was committed although the call failed.
        """
        from confluent_kafka import KafkaError

        error = failure.args[0]
        fenced = error.code() in (
            KafkaError._FENCED,
            KafkaError.INVALID_PRODUCER_EPOCH,
            KafkaError.PRODUCER_FENCED,
        )
        if fenced:
            self._lease.check()
            self._fenced += not self._expired
        if (
            fenced
            and not self._expired
            and not (self._lease.epoch and self._fenced <= _MOST_FENCED)
        ):
            raise JobError(
                f"Another run of this job has taken over its transactions ({self._name!r}), so "
                "this one ends. Run each job once, and give jobs that write to the same Kafka "
                "different names with set_transactional_id_prefix."
            ) from failure
        if is_hopeless(error) or is_refusal(error):
            raise JobError(
                f"Writing a micro-batch to Kafka at {self._settings.servers} failed: "
                f"{error.str()}. Check that the topic exists and takes records of this size, and "
                "that the sink's user may write to it and use transactions; then restart the job, "
                "which writes the micro-batch again."
            ) from failure
        self._patience.waiting(error.str())
        self._drop()
        time.sleep(_RETRY_SECONDS)

    def _drop(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer = None

    def _abandon(self) -> None:
        """Give up the clients, whose calls do not return. If their transaction is still committed,
        either the new producer comes first and fences it off, or the new marks show it."""
        self._producer = self._consumer = None

    def close(self) -> None:
        """Let go of the brokers."""
        self._drop()
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


class _NoAnswer(Exception):
    """A call of the client did not return, although its timeout was over."""


def _answered(call: Any, *arguments: Any, **named: Any) -> Any:
    """The result of a call, made in a thread of its own. Raises :class:`_NoAnswer` if it takes far
    longer than its timeout, as a call that an outage of the brokers interrupts may do."""
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
