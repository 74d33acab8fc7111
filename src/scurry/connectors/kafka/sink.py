"""``KafkaSink`` and its builder, with the names PyFlink has for them."""

from __future__ import annotations

from typing import Any

from scurry.common.errors import ProgramError
from scurry.common.type_information import describe
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.outgoing import KafkaRecordSerializationSchema
from scurry.connectors.kafka.transactions import BatchTransactions
from scurry.connectors.kafka.writer import DirectWriter, StagingWriter
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


class KafkaSink(Sink):
    """Writes elements to topics.

    At least once: workers write as elements come, and a micro-batch is complete when the brokers
    have acknowledged all of it. Exactly once: the driver writes each micro-batch in one
    transaction; consumers that read committed records see every element once, whatever crashes.
    """

    def __init__(
        self,
        settings: ClientSettings,
        schema: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        transactional_id_prefix: str,
    ) -> None:
        self._settings = settings
        self._schema = schema
        self._prefix = transactional_id_prefix
        self._transactional = guarantee is DeliveryGuarantee.EXACTLY_ONCE
        self.guarantee = EXACTLY_ONCE if self._transactional else AT_LEAST_ONCE
        self._transactions: BatchTransactions | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_transactions": None}

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """A builder without settings."""
        return KafkaSinkBuilder()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if self._transactional:
            return StagingWriter(self._schema, context)
        return DirectWriter(self._schema, self._settings)

    def start(self, context: CommitterContext) -> None:
        if self._transactions is not None:
            self._transactions.close()
        if self._transactional:
            name = f"{self._prefix}-{context.uid}"
            self._transactions = BatchTransactions(self._settings, name, context)

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
        if self._transactions is not None:
            ordered = sorted(messages, key=lambda message: int(message[0]))
            self._transactions.commit(batch_id, [part for _, parts in ordered for part in parts])

    def close(self) -> None:
        if self._transactions is not None:
            self._transactions.close()

    def __repr__(self) -> str:
        return f"KafkaSink({self._settings.servers!r}, {self.guarantee})"


class KafkaSinkBuilder:
    """Makes a :class:`KafkaSink`: bootstrap servers and a record serializer are needed."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._schema: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix = "kafka-sink"

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
        return KafkaSink(settings, self._schema, self._guarantee, self._prefix)
