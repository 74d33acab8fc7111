"""The workers' half of an exactly-once sink whose tasks write in transactions of their own.

A writer opens a transaction for what it writes between two calls of ``prepare``. When the brokers
have acknowledged all records, it hands the driver a *ticket*: all that is needed to commit the
transaction, which stays open. The driver makes the tickets of all tasks durable, and then commits
them (:mod:`scurry.connectors.kafka.promises`), whatever has become of the writers.

Nobody else ever uses the transactional id of a writer: it has a random part. So a task that is run
twice, or comes back late, has its own transactions, and cannot end those of another. What nobody
commits, the driver aborts.

A writer keeps its producer and uses it again once the coordinator says that its transaction was
committed. librdkafka does not know that, and is told to commit as well: to commit what is committed
changes nothing.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from scurry.common.errors import ConfigurationError, JobError
from scurry.common.fault_points import fault_point
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.coordinators import COMMITTED, ONGOING, Coordinators, State
from scurry.connectors.kafka.outgoing import Outgoing
from scurry.connectors.kafka.writer import Encoder, KafkaWriter, Sender
from scurry.functions.sink import WriterContext

_log = logging.getLogger("scurry.kafka")
#: How long a transaction may stay open, unless the user says otherwise: the most that brokers allow
#: by default. A job must be running again within this time after a failure.
TRANSACTION_MS = 900_000
#: What is asked for instead where brokers do not allow that.
_SHORTER_MS = 60_000
_CALL_SECONDS = 10.0
_TRIES = 6
#: Transactions that wait for the driver's decision. More than one is only open while the driver is
#: slower than the tasks, and those before this many have been given up by it.
_MOST_UNDECIDED = 4


def transaction_timeout(settings: ClientSettings) -> int:
    """How many milliseconds a transaction may stay open, as far as the program says."""
    wanted = settings.get("transaction.timeout.ms", str(TRANSACTION_MS))
    if not wanted.isdecimal():
        raise ConfigurationError(
            f"transaction.timeout.ms is a number of milliseconds, got {wanted!r}."
        )
    return int(wanted)


class Ticket(msgspec.Struct, frozen=True):
    """What the driver needs to commit a task's transaction, and to tell whether that was done."""

    #: the task that wrote it, out of so many
    task: int
    tasks: int
    transactional_id: str
    producer: int
    epoch: int
    #: when the transaction began, in the coordinator's milliseconds, and how long it may stay open
    began: int
    timeout: int
    #: one of the topics written to, and how many records there are
    topic: str
    records: int

    def as_message(self) -> dict[str, Any]:
        """The ticket as plain data, which can be stored."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


@dataclass
class _Transaction:
    """A producer with a transactional id of its own, and its last transaction."""

    name: str
    sender: Sender
    records: int = 0
    topic: str = ""
    #: as it was when it was handed to the driver
    prepared: State | None = None


class TransactionWriter(KafkaWriter):
    """Writes records in a transaction that the driver commits."""

    def __init__(
        self, encoder: Encoder, settings: ClientSettings, name: str, context: WriterContext
    ) -> None:
        super().__init__(encoder)
        self._settings = settings
        self._context = context
        self._stem = f"{name}/{context.index}/{uuid.uuid4().hex[:12]}"
        self._made = 0
        self._coordinators = Coordinators(settings, "write records")
        self._open: _Transaction | None = None
        self._undecided: list[_Transaction] = []
        #: those whose transactions were committed
        self._spare: list[_Transaction] = []

    def take(self, outgoing: Outgoing) -> None:
        transaction = self._begun()
        transaction.sender.send(outgoing)
        transaction.records += len(outgoing)
        transaction.topic = transaction.topic or outgoing.some_topic

    def prepare(self) -> Any:
        transaction = self._open
        if transaction is None:
            return None
        transaction.sender.finish()
        fault_point("kafka-written")
        # where epochs overlap, those before this one are decided by now: no other request is needed
        undecided = (each.name for each in self._undecided)
        states = self._coordinators.describe([transaction.name, *undecided])
        self._settle(states)
        state = states.get(transaction.name)
        if state is None or state.name != ONGOING:
            raise JobError(
                f"Kafka at {self._settings.servers} has ended the transaction "
                f"{transaction.name!r} before all its records were written ({_named(state)}). It "
                "was open for longer than transaction.timeout.ms, or another job has the same "
                "transactional id prefix and uid. Write less in one micro-batch, or set a longer "
                "timeout with set_property, at most the brokers' transaction.max.timeout.ms."
            )
        transaction.prepared = state
        self._open = None
        self._undecided.append(transaction)
        ticket = Ticket(
            *(self._context.index, self._context.parallelism, transaction.name),
            *(state.producer, state.epoch, state.began, state.timeout),
            *(transaction.topic, transaction.records),
        )
        fault_point("kafka-prepared")
        return ticket.as_message()

    def _begun(self) -> _Transaction:
        """The open transaction."""
        if self._open is None:
            made = self._free() or self._new(TRANSACTION_MS)
            made.sender.producer.begin_transaction()
            made.records, made.topic, made.prepared = 0, "", None
            self._open = made
        return self._open

    def _free(self) -> _Transaction | None:
        """One of the producers whose transactions were committed, if there is one."""
        if not self._spare:
            self._settle(self._coordinators.describe(each.name for each in self._undecided))
        while self._spare:
            found = self._spare.pop()
            if _made_free(found.sender.producer):
                return found
        return None

    def _settle(self, states: Mapping[str, State]) -> None:
        """Set those of the undecided transactions apart that are committed."""
        waiting = []
        for each in self._undecided:
            before, now = each.prepared, states.get(each.name)
            assert before is not None
            if now == before:
                waiting.append(each)
            elif now is not None and now.name in COMMITTED and now[1:3] == before[1:3]:
                self._spare.append(each)
        # the driver commits in order, so what was handed to it before one that is committed, or
        # long ago, is not going to be
        self._undecided = waiting[-_MOST_UNDECIDED:]

    def _new(self, timeout: int) -> _Transaction:
        """A new producer."""
        from confluent_kafka import KafkaError, KafkaException

        name = f"{self._stem}/{self._made}"
        self._made += 1
        # nobody sees a record before the transaction is committed, and a flush waits for no linger
        limits = {"transaction_timeout_ms": str(timeout), "linger_ms": "20"}
        sender = Sender(self._settings, transactional_id=name, **limits)
        for left in reversed(range(_TRIES)):
            try:
                sender.producer.init_transactions(_CALL_SECONDS)
                break
            except KafkaException as failure:
                error = failure.args[0]
                if error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT and timeout > _SHORTER_MS:
                    return self._new(_SHORTER_MS)
                if not error.retriable() or not left:
                    raise self._failed(error.str()) from failure
        return _Transaction(name, sender)

    def _failed(self, reason: str) -> JobError:
        return JobError(
            f"No transaction can be begun at Kafka at {self._settings.servers}: {reason}. Check "
            "that the brokers can be reached, that the sink's user may use transactions, and that "
            "transaction.timeout.ms, if it is set, is not more than the brokers' "
            "transaction.max.timeout.ms; then restart the job."
        )

    def close(self) -> None:
        """What is prepared stays open, for the driver to commit."""
        if self._open is not None:
            self._open.sender.producer.purge()
        self._coordinators.close()


def _made_free(producer: Any) -> bool:
    """Have a producer know that its transaction was committed; False if it is of no use."""
    from confluent_kafka import KafkaException

    try:
        producer.commit_transaction(_CALL_SECONDS)
    except KafkaException as failure:
        _log.info("a producer is given up: %s", failure.args[0].str())
        return False
    return True


def _named(state: State | None) -> str:
    return "it is not known any more" if state is None else f"its state is {state.name}"
