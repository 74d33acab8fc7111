"""`RMQSink`: elements as messages of a RabbitMQ queue, at least once.

Workers make the messages, the driver publishes those of a micro-batch in a transaction of the
channel: the server confirms it when all of them are in the queue, and on disk if the queue is
durable, and only then the micro-batch is committed. A crash between the two publishes the batch
again, so consumers may see messages twice.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from scurry.common.errors import JobError, ProgramError
from scurry.common.serialization import SerializationSchema
from scurry.common.type_information import describe
from scurry.connectors.memory import BufferWriter
from scurry.connectors.patience import DEFAULT_SECONDS, Patience
from scurry.connectors.rabbitmq.config import RMQConnectionConfig, package
from scurry.connectors.rabbitmq.connection import (
    connect,
    hang_up,
    is_passing,
    open_queue,
    reason_of,
)
from scurry.connectors.rabbitmq.source import check
from scurry.functions.sink import AT_LEAST_ONCE, Sink, SinkWriter, WriterContext

__all__ = ["RMQSink"]

#: The most messages of one transaction: the server holds them in memory until it ends.
_MOST_MESSAGES = 10_000
#: A connection that was not used for so long is not trusted: nobody has answered its heartbeats.
_TRUST_SECONDS = 10.0
_PERSISTENT = 2


class _Away(Exception):
    """The server did not confirm."""


class RMQSink(Sink):
    """Writes one persistent message for each element; the queue is made if it is not there."""

    guarantee = AT_LEAST_ONCE
    known_by_uid = False

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema,
    ) -> None:
        package()
        check(connection_config, queue_name, "RMQSink")
        if not isinstance(serialization_schema, SerializationSchema):
            raise ProgramError(
                f"RMQSink takes a SerializationSchema, got {describe(serialization_schema)}."
            )
        self._config: RMQConnectionConfig | None = connection_config
        self._queue = queue_name
        self._schema = serialization_schema
        self._connection: Any = None
        self._channel: Any = None
        self._used = 0.0
        self._returned: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        # writers never connect, so the password stays on the driver
        return {**self.__dict__, "_config": None, "_connection": None, "_channel": None}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _MessageWriter(context, self._schema)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        assert self._config is not None
        bodies = [body for _, part in sorted(messages, key=lambda each: each[0]) for body in part]
        seconds = 0 if self._config.is_automatic_recovery() is False else DEFAULT_SECONDS
        waiting = Patience(self._config.server, seconds, purpose=f"write to {self._queue}")
        for at in range(0, len(bodies), _MOST_MESSAGES):
            publish = partial(self._publish, bodies[at : at + _MOST_MESSAGES])
            waiting.call(publish, lambda failure: isinstance(failure, _Away))

    def _publish(self, bodies: list[bytes]) -> None:
        assert self._config is not None
        durable = package().BasicProperties(delivery_mode=_PERSISTENT)
        try:
            channel = self._opened()
            for body in bodies:
                channel.basic_publish("", self._queue, body, durable, mandatory=True)
            channel.tx_commit()
            self._connection.process_data_events(0)
        except Exception as failure:
            self.close()
            if is_passing(failure):
                raise _Away(reason_of(failure)) from failure
            raise JobError(
                f"RMQSink: {self._config.server} refuses: {reason_of(failure)}. Check user, "
                "password and virtual host, and that this user may write to the queue "
                f"{self._queue!r}."
            ) from failure
        if self._returned:
            self.close()
            raise _Away(f"the queue {self._queue!r} was deleted; it will be made anew")
        self._used = time.monotonic()

    def _opened(self) -> Any:
        if self._connection is None or time.monotonic() - self._used > _TRUST_SECONDS:
            self.close()
            assert self._config is not None
            self._connection = connect(self._config)
            self._channel = open_queue(self._connection, self._queue)
            self._returned = []
            self._channel.add_on_return_callback(lambda *returned: self._returned.append(returned))
        return self._channel

    def close(self) -> None:
        if self._connection is not None:
            hang_up(self._connection)
        self._connection = self._channel = None


class _MessageWriter(BufferWriter):
    def __init__(self, context: WriterContext, schema: SerializationSchema) -> None:
        super().__init__(context)
        self._schema = schema

    def write(self, rows: list[Any]) -> None:
        super().write([body or b"" for body in self._schema.serialize_batch(rows)])
