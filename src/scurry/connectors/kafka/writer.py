"""The workers' half of a Kafka sink."""

from __future__ import annotations

from typing import Any

from scurry.common.errors import JobError
from scurry.connectors.kafka.client import ClientSettings, Patience, make
from scurry.connectors.kafka.outgoing import KafkaRecordSerializationSchema, Outgoing
from scurry.functions.sink import SinkWriter, WriterContext
from scurry.runtime.batch import Longs

_FLUSH_SECONDS = 1.0


class StagingWriter(SinkWriter):
    """Serialises records and hands them to the driver, which writes them in a transaction."""

    def __init__(self, schema: KafkaRecordSerializationSchema, context: WriterContext) -> None:
        self._schema = schema
        self._index = context.index
        self._parts: list[Outgoing] = []

    def write(self, rows: list[Any]) -> None:
        self.write_timed(rows, None)

    def write_timed(self, rows: list[Any], timestamps: Longs | None) -> None:
        self._parts.append(self._schema.outgoing(rows, timestamps))

    def prepare(self) -> Any:
        parts, self._parts = self._parts, []
        return (self._index, parts) if parts else None


class DirectWriter(SinkWriter):
    """Writes records as they come; a micro-batch ends when the brokers have all of them."""

    def __init__(self, schema: KafkaRecordSerializationSchema, settings: ClientSettings) -> None:
        self._schema = schema
        self._servers = settings.servers
        self._patience = Patience(settings.servers, "write records")
        self._refused: tuple[str, str] | None = None
        self._reason: Any = None
        self._producer = make(
            "Producer",
            {
                **settings.with_defaults(
                    partitioner="murmur2_random",
                    linger_ms="5",
                    enable_idempotence="true",
                    # records wait for brokers that are away, as long as it takes
                    message_timeout_ms="0",
                    queue_buffering_max_messages="500000",
                ),
                "delivery.report.only.error": True,
                "on_delivery": self._on_delivery,
                "error_cb": self._on_error,
            },
        )

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None and self._refused is None:
            self._refused = (message.topic(), error.str())

    def _on_error(self, error: Any) -> None:
        self._reason = error

    def write(self, rows: list[Any]) -> None:
        self.write_timed(rows, None)

    def write_timed(self, rows: list[Any], timestamps: Longs | None) -> None:
        self._schema.outgoing(rows, timestamps).send(self._producer)
        self._check()

    def prepare(self) -> Any:
        while self._producer.flush(_FLUSH_SECONDS):
            self._check()
            reason = "no answer" if self._reason is None else self._reason.str()
            self._patience.waiting(reason)
        self._patience.over()
        self._check()
        return None

    def _check(self) -> None:
        if self._refused is not None:
            topic, error = self._refused
            raise JobError(
                f"Kafka at {self._servers} refused a record for the topic {topic!r}: {error}. "
                "Check that the topic exists and takes records of this size, and that the sink's "
                "user may write to it; then restart the job."
            )

    def close(self) -> None:
        self._producer.flush(_FLUSH_SECONDS)
