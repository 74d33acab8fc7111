"""``KafkaSink`` and its builder, with the names PyFlink has for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scurry.common.errors import ConfigurationError, ProgramError
from scurry.common.type_information import describe
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.outgoing import KafkaRecordSerializationSchema
from scurry.connectors.kafka.promises import PromisedTransactions, tickets_of
from scurry.connectors.kafka.task_transactions import TransactionWriter, transaction_timeout
from scurry.connectors.kafka.transactions import BatchTransactions
from scurry.connectors.kafka.who_writes import AUTO, DRIVER, TASKS, tasks_can_write
from scurry.connectors.kafka.writer import DirectWriter, Encoder, StagingWriter
from scurry.functions.history import Mark
from scurry.functions.sink import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)

__all__ = ["KafkaSink", "KafkaSinkBuilder"]

#: Who writes transactions, and what ``explain()`` says of it.
_MANNERS = {
    AUTO: "each task in transactions of its own, where the brokers allow that",
    TASKS: "each task in transactions of its own",
    DRIVER: "the driver in one transaction for each micro-batch",
}


class KafkaSink(Sink):
    """Writes elements to topics.

    At least once: workers write as elements come, and a micro-batch is complete when the brokers
    have acknowledged all of it. Exactly once: every task writes in a transaction of its own, and
    the driver commits those of a micro-batch once all are complete; consumers that read committed
    records see every element once, whatever crashes. Where brokers or security settings do not
    allow that, the driver writes each micro-batch in one transaction; the log says which it is.
    """

    def __init__(
        self,
        settings: ClientSettings,
        schema: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        transactional_id_prefix: str,
        writers: str = AUTO,
        fail_on_data_loss: bool = True,
    ) -> None:
        self._settings = settings
        self._schema = schema
        self._prefix = transactional_id_prefix
        self._transactional = guarantee is DeliveryGuarantee.EXACTLY_ONCE
        self.guarantee = EXACTLY_ONCE if self._transactional else AT_LEAST_ONCE
        self._transactions: BatchTransactions | None = None
        self._tickets: PromisedTransactions | None = None
        self._writers = writers
        self._fail_on_data_loss = fail_on_data_loss
        #: whether tasks write in transactions of their own, as decided when the job starts
        self._by_tasks = False
        #: whether the job runs in the live engine, where a few records come every few milliseconds
        self._often = False
        #: a topic of the promise that is being kept
        self._promised_to = ""
        if self._transactional:
            self.manner = _MANNERS[writers]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_transactions": None, "_tickets": None}

    @property
    def promises(self) -> bool:  # type: ignore[override]
        """Whether tickets have to be durable: not those records that the driver will write."""
        return self._by_tasks

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """A builder without settings."""
        return KafkaSinkBuilder()

    def take_interval(self, milliseconds: int) -> None:
        """Transactions of tasks are open from one checkpoint to the next, and beyond. Records that
        do not wait for a checkpoint hardly wait for others."""
        self._often = True
        timeout = transaction_timeout(self._settings)
        if self._transactional and self._writers != DRIVER and timeout <= milliseconds:
            raise ConfigurationError(
                f"The sink's transactions may stay open for {timeout / 1000:g} s "
                f"(transaction.timeout.ms), and are committed with checkpoints that are "
                f"{milliseconds / 1000:g} s apart (execution.checkpointing.interval): Kafka would "
                "abort them before. Make checkpoints more often, or let transactions stay open "
                "for longer: for an interval, and for as long as the job may take to run again "
                "after a failure."
            )

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if not self._transactional:
            return DirectWriter(self._encoder, self._settings, self._often)
        if self._by_tasks:
            name = f"{self._prefix}-{context.uid}"
            return TransactionWriter(self._encoder, self._settings, name, context)
        return StagingWriter(self._encoder, context)

    @property
    def _encoder(self) -> Encoder:
        """How elements become records."""
        return self._schema

    @property
    def keeps_files(self) -> bool:
        return False

    def take_room(self, room: Path) -> None:
        """Decide who writes, before the sink is sent to workers."""
        if self._transactional:
            self._by_tasks = tasks_can_write(self._settings, self._writers)

    def start(self, context: CommitterContext) -> None:
        self.close()
        if self._transactional:
            name = f"{self._prefix}-{context.uid}"
            self._transactions = BatchTransactions(self._settings, name, context)
            self._tickets = PromisedTransactions(self._settings, name)

    def committed_mark(self) -> Mark | None:
        return None if self._transactions is None else self._transactions.start()

    def why_not_truncate(self) -> str:
        return (
            "Kafka does not let records be taken back. With 'append' the records of both "
            "histories are in the topic, and consumers have to bear them."
        )

    def accept(self, mark: Mark) -> None:
        if self._transactions is not None:
            self._transactions.accept(mark)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        if self._transactions is None or self._tickets is None:
            return
        tickets = tickets_of(messages)
        if not tickets:
            ordered = sorted(messages, key=lambda message: int(message[0]))
            self._transactions.commit(batch_id, [part for _, parts in ordered for part in parts])
        elif self._transactions.begin(batch_id, tickets[0].topic):
            self._promised_to = tickets[0].topic
            self._tickets.commit(batch_id, tickets)
            self._transactions.end(batch_id, tickets[0].topic)
        else:
            self._tickets.abort(tickets)

    def forgo(self, batch_id: int) -> bool:
        if self._fail_on_data_loss or self._transactions is None:
            return False
        self._transactions.end(batch_id, self._promised_to)
        return True

    def repeated(self, batch_id: int, promised: list[Any], messages: list[Any]) -> list[Any]:
        if self._tickets is None:
            return promised
        return self._tickets.repeated(batch_id, tickets_of(promised), tickets_of(messages))

    def recover(self, batch_id: int) -> None:
        if self._transactions is not None:
            self._transactions.check_promises()
        self.abort(batch_id)

    def abort(self, batch_id: int) -> None:
        if self._by_tasks and self._tickets is not None:
            self._tickets.sweep()

    def close(self) -> None:
        if self._transactions is not None:
            self._transactions.close()
        if self._tickets is not None:
            self._tickets.close()

    def __repr__(self) -> str:
        return f"KafkaSink({self._settings.servers!r}, {self.guarantee})"


class KafkaSinkBuilder:
    """Makes a :class:`KafkaSink`: bootstrap servers and a record serializer are needed."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._schema: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix = "kafka-sink"
        self._writers = AUTO
        self._fail_on_data_loss = True

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """The brokers to ask first, ``host:port`` separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """How often an element may arrive; ``NONE`` without this."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ProgramError(
                "set_delivery_guarantee takes a DeliveryGuarantee, got "
                f"{describe(delivery_guarantee)}."
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """What the job's transactions are called: something no other job on these brokers uses,
        and the same in every run."""
        if not isinstance(transactional_id_prefix, str) or not transactional_id_prefix:
            raise ProgramError(
                f"A transactional id prefix is a text, got {describe(transactional_id_prefix)}."
            )
        self._prefix = transactional_id_prefix
        return self

    def set_transaction_writers(self, transaction_writers: str) -> KafkaSinkBuilder:
        """Who writes the transactions of an exactly-once sink: the ``"tasks"``, each its own; the
        ``"driver"``, one for all; or ``"auto"``, the default: the tasks, if the brokers and the
        security settings allow that."""
        if transaction_writers not in _MANNERS:
            raise ProgramError(
                "set_transaction_writers takes 'auto', 'tasks' or 'driver', got "
                f"{describe(transaction_writers)}."
            )
        self._writers = transaction_writers
        return self

    def set_fail_on_data_loss(self, fail: bool) -> KafkaSinkBuilder:
        """Whether a job in the live engine ends when brokers have aborted a transaction that a
        checkpoint promises, as they do when the job stays away for longer than the transaction's
        timeout: nobody has its records any more. With ``False`` it goes on without them, and the
        log says how many are missing. In micro-batches they are written again, and not lost."""
        self._fail_on_data_loss = fail
        return self

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """How elements become records."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise ProgramError(
                "set_record_serializer takes a KafkaRecordSerializationSchema, got "
                f"{describe(record_serializer)}."
            )
        self._schema = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """A setting of Kafka's client, such as ``security.protocol``."""
        self._properties[key] = value
        return self

    def build(self) -> KafkaSink:
        """The sink."""
        if not self._properties.get("bootstrap.servers"):
            raise ProgramError("A KafkaSink needs brokers: call set_bootstrap_servers.")
        if self._schema is None:
            raise ProgramError(
                "A KafkaSink needs to know how to write elements: call set_record_serializer."
            )
        settings = ClientSettings(self._properties)
        return KafkaSink(
            *(settings, self._schema, self._guarantee, self._prefix, self._writers),
            fail_on_data_loss=self._fail_on_data_loss,
        )
