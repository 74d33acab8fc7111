"""`RMQSource`: the messages of a RabbitMQ queue.

A message that was acknowledged cannot be fetched again, and one that was not may be delivered again
at any time. So the plan of a micro-batch, which is on disk before the batch runs, holds the
messages themselves, and they are acknowledged once the batch is durable. After a crash between the
two, the server delivers messages again that are in a durable batch. With correlation ids the source
recognises these messages, because its position holds the ids of recent ones, and drops them;
without, they are processed twice.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

from scurry.common.errors import JobError, ProgramError, TypeMismatchError, shorten
from scurry.common.serialization import DeserializationSchema
from scurry.common.type_information import TypeInformation, describe
from scurry.connectors.patience import Vigil
from scurry.connectors.rabbitmq.config import RMQConnectionConfig, package
from scurry.connectors.rabbitmq.connection import is_passing, reason_of
from scurry.connectors.rabbitmq.link import Delivery, Link
from scurry.functions.source import (
    LAG,
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

__all__ = ["RMQSource"]

_RETRY_MILLIS = 1000
#: How often the server is asked how many messages it has.
_COUNT_SECONDS = 1.0
#: A message that was not acknowledged comes again once the server has noticed that its consumer
#: is gone, or has lost patience with it, which it does after half an hour.
_REMEMBER_SECONDS = 3600.0


class RMQSource(Source):
    """Reads a queue, with one task.

    With ``use_correlation_id`` every message is processed exactly once, if its producer gave it a
    correlation id that no other has; without, at least once.
    """

    bounded = False
    max_tasks = 1

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema,
    ) -> None:
        package()
        check(connection_config, queue_name, "RMQSource")
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ProgramError(
                f"RMQSource takes a DeserializationSchema, got {describe(deserialization_schema)}."
            )
        self._config: RMQConnectionConfig | None = connection_config
        self._queue = queue_name
        self._with_ids = use_correlation_id
        self._schema = deserialization_schema
        self.changelog = deserialization_schema.changelog

    def __getstate__(self) -> dict[str, Any]:
        # readers never connect, so the password stays on the driver
        return {**self.__dict__, "_config": None}

    @property
    def type_info(self) -> TypeInformation | None:
        return self._schema.get_produced_type()

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        assert self._config is not None
        return _QueueEnumerator(self._config, self._queue, self._with_ids)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        bodies = [base64.b64decode(message) for message in what]
        try:
            rows = self._schema.deserialize_batch(bodies)
        except Exception:
            rows = list(map(self._decoded, bodies))
        if self._schema.flattens:
            rows = [row for some in rows for row in some]
        kept = [row for row in rows if row is not None]
        yield SourceBatch(kept, bytes_read=sum(map(len, bodies)))

    def _decoded(self, body: bytes) -> Any:
        try:
            return self._schema.deserialize(body)
        except Exception as failure:
            raise TypeMismatchError(
                f"a message of the queue {self._queue!r} cannot be decoded: "
                f"{type(failure).__name__}: {failure}; it is {shorten(body)}. Mend the producer, "
                "or use a schema that returns None for what it cannot read."
            ) from failure


def check(config: Any, queue: Any, who: str) -> None:
    """Refuse what is no connection or no queue."""
    if not isinstance(config, RMQConnectionConfig):
        raise ProgramError(f"{who} takes an RMQConnectionConfig, got {describe(config)}.")
    if not isinstance(queue, str) or not queue:
        raise ProgramError(f"{who} takes the name of a queue, got {queue!r}.")


class _QueueEnumerator(SourceEnumerator):
    """The position holds the correlation ids of messages that are in durable micro-batches (or in
    the one being planned) and may come again."""

    def __init__(self, config: RMQConnectionConfig, queue: str, with_ids: bool) -> None:
        self._config = config
        self._queue = queue
        self._with_ids = with_ids
        self._vigil = Vigil(config.server, f"read the queue {queue}")
        self._link: Link | None = None
        self._retry_at = 0.0
        #: what has been taken from the link and not been acknowledged: the last tag, all ids
        self._tag = 0
        self._taken: set[str] = set()
        #: ids of messages that will not come again
        self._settled: set[str] = set()
        self._left, self._count_at = 0, 0.0

    def initial_position(self) -> Json:
        return {"ids": []}

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        # being asked to plan means that all before ``position`` is durable
        link = self._connected()
        if link is None:
            return ReadPlan(position)
        deliveries = link.take(max_records)
        if time.monotonic() >= self._count_at:
            self._left = link.waiting()
            self._count_at = time.monotonic() + _COUNT_SECONDS
        else:
            self._left = max(link.arrived, self._left - len(deliveries))
        if not deliveries:
            return ReadPlan(position)
        old = link.opened < time.monotonic() - _REMEMBER_SECONDS
        held = [] if old else [each for each in position["ids"] if each not in self._settled]
        fresh = self._fresh(deliveries, set(held)) if self._with_ids else deliveries
        self._tag = deliveries[-1].tag
        if not fresh:
            self.committed(position)
            return ReadPlan(position)
        self._settled.clear()
        ids = [each.correlation_id for each in fresh] if self._with_ids else []
        messages = [base64.b64encode(each.body).decode() for each in fresh]
        return ReadPlan({"ids": [*held, *ids]}, [ReadRange("0", messages)])

    def _fresh(self, deliveries: list[Delivery], known: set[str]) -> list[Delivery]:
        fresh: list[Delivery] = []
        for delivery in deliveries:
            name = delivery.correlation_id
            if name is None:
                raise JobError(
                    f"RMQSource: a message of the queue {self._queue!r} at {self._config.server} "
                    "has no correlation id. Have the producer give each message one of its own, or "
                    "set use_correlation_id to False."
                )
            self._taken.add(name)
            if name not in known:
                known.add(name)
                fresh.append(delivery)
        return fresh

    def _connected(self) -> Link | None:
        """The link, None if there is none at the moment."""
        if self._link is not None and not self._link.lost:
            return self._link
        if self._link is not None:
            self._away(self._link.lost)
            self._link.close()
            self._link = None
        if time.monotonic() < self._retry_at:
            return None
        try:
            self._link = Link(self._config, self._queue)
        except Exception as failure:
            if not is_passing(failure):
                raise JobError(
                    f"RMQSource: {self._config.server} refuses: {reason_of(failure)}. Check user, "
                    "password and virtual host, and that this user may read the queue "
                    f"{self._queue!r}."
                ) from failure
            self._away(reason_of(failure))
            pause = self._config.get_network_recovery_interval() or _RETRY_MILLIS
            self._retry_at = time.monotonic() + pause / 1000
            return None
        self._tag, self._taken = 0, set()
        self._vigil.over()
        return self._link

    def _away(self, reason: str) -> None:
        if self._config.is_automatic_recovery() is False:
            raise JobError(
                f"RMQSource: {self._config.server} cannot be reached: {reason}. Bring it back and "
                "restart the job, or have the source wait for it: set_automatic_recovery(True)."
            )
        self._vigil.waiting(reason)

    def committed(self, position: Json) -> None:
        if self._tag and self._link is not None and self._link.acknowledge(self._tag):
            self._settled |= self._taken
            self._tag, self._taken = 0, set()

    def gauges(self) -> dict[str, int]:
        return {LAG: self._left, "prefetched": 0 if self._link is None else self._link.arrived}

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
