"""The workers' half of a Kafka sink: writing at once, or handing records to the driver.

Writing in transactions of the workers' own is in :mod:`scurry.connectors.kafka.task_transactions`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from scurry.common.errors import JobError
from scurry.connectors.kafka.client import ClientSettings, Patience, make
from scurry.connectors.kafka.outgoing import Outgoing
from scurry.functions.sink import Records, SinkWriter, WriterContext
from scurry.runtime.batch import Longs

_FLUSH_SECONDS = 1.0


class Encoder(Protocol):
    """Makes Kafka's records of elements."""

    def encode_records(self, records: Records) -> Outgoing:
        """The records for elements, held as rows or as columns."""


class KafkaWriter(SinkWriter):
    """A writer that is told by an encoder what to write."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def write(self, rows: list[Any]) -> None:
        self.write_timed(rows, None)

    def write_timed(self, rows: list[Any], timestamps: Longs | None) -> None:
        self.write_records(_Rows(rows, timestamps), 0)

    def write_records(self, records: Records, now: int) -> None:
        outgoing = self._encoder.encode_records(records)
        if len(outgoing):
            self.take(outgoing)

    @abstractmethod
    def take(self, outgoing: Outgoing) -> None:
        """Write these records, of which there is at least one."""


@dataclass(frozen=True)
class _Rows:
    """Elements that nobody holds as columns."""

    rows: list[Any]
    ts: Longs | None
    columns: None = None
    kinds: None = None


class StagingWriter(KafkaWriter):
    """Serialises records and hands them to the driver, which writes them in a transaction."""

    def __init__(self, encoder: Encoder, context: WriterContext) -> None:
        super().__init__(encoder)
        self._index = context.index
        self._parts: list[Outgoing] = []

    def take(self, outgoing: Outgoing) -> None:
        self._parts.append(outgoing)

    def prepare(self) -> Any:
        parts, self._parts = self._parts, []
        return (self._index, parts) if parts else None


class Sender:
    """A producer, and what became of the records that it was given."""

    def __init__(self, settings: ClientSettings, **more: Any) -> None:
        """A producer with these settings; ``more`` are those of its use (``_`` for ``.``)."""
        self._servers = settings.servers
        self._patience = Patience(settings.servers, "write records")
        self._refused: tuple[str, str] | None = None
        self._reason: Any = None
        self.producer = make(
            "Producer",
            {
                **settings.with_defaults(
                    partitioner="murmur2_random",
                    # what waits takes far more room than what is in it, and a producer that is
                    # ahead of the brokers by more than this gains nothing
                    queue_buffering_max_messages="100000",
                    **{"linger_ms": "5", **more},
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

    def send(self, records: Outgoing) -> None:
        """Hand records to the producer; raises if brokers have refused one."""
        records.send(self.producer)
        self._check()

    def finish(self) -> None:
        """Return when the brokers have all records, however long that takes."""
        while self.producer.flush(_FLUSH_SECONDS):
            self._check()
            reason = "no answer" if self._reason is None else self._reason.str()
            self._patience.waiting(reason)
        self._patience.over()
        self._check()

    def _check(self) -> None:
        if self._refused is not None:
            topic, error = self._refused
            raise JobError(
                f"Kafka at {self._servers} refused a record for the topic {topic!r}: {error}. "
                "Check that the topic exists and takes records of this size, and that the sink's "
                "user may write to it; then restart the job."
            )


class DirectWriter(KafkaWriter):
    """Writes records as they come; a micro-batch ends when the brokers have all of them."""

    def __init__(self, encoder: Encoder, settings: ClientSettings, often: bool = False) -> None:
        """``often``: a little is written every few milliseconds, and should arrive soon."""
        super().__init__(encoder)
        linger = {"linger_ms": "1"} if often else {}
        # records wait for brokers that are away, as long as it takes
        self._sender = Sender(settings, enable_idempotence="true", message_timeout_ms="0", **linger)

    def take(self, outgoing: Outgoing) -> None:
        self._sender.send(outgoing)

    def prepare(self) -> Any:
        self._sender.finish()
        return None

    def close(self) -> None:
        self._sender.producer.flush(_FLUSH_SECONDS)
