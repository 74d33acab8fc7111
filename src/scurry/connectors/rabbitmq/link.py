"""A consumer of one queue that is alive whether or not somebody asks for messages.

A connection must be looked after all the time, or the server misses its heartbeats and gives the
messages to somebody else; a micro-batch may take longer than that. So a thread serves it, and
whatever others want done on the channel is handed to that thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent import futures
from typing import Any, NamedTuple

from scurry.connectors.rabbitmq.config import RMQConnectionConfig, package
from scurry.connectors.rabbitmq.connection import connect, hang_up, open_queue, reason_of

_DEFAULT_PREFETCH = 10_000
#: About how many bytes are handed out together.
_MOST_BYTES = 64 << 20
_SERVE_SECONDS = 1.0


class Delivery(NamedTuple):
    """A message; ``tag`` is its number on the channel, by which it is acknowledged."""

    tag: int
    correlation_id: str | None
    body: bytes


class Link:
    """Consumes ``queue`` from now on; making one raises what connecting raises."""

    def __init__(self, config: RMQConnectionConfig, queue: str) -> None:
        self.opened = time.monotonic()
        self._arrived: deque[Delivery] = deque()
        self._lost = ""
        self._closing = False
        self._connection = connect(config)
        try:
            self._queue = queue
            self._channel = open_queue(self._connection, queue)
            self._channel.basic_qos(prefetch_count=config.get_prefetch_count() or _DEFAULT_PREFETCH)
            self._channel.add_on_cancel_callback(self._on_cancel)
            self._channel.basic_consume(queue, self._on_message)
        except BaseException:
            hang_up(self._connection)
            raise
        self._thread = threading.Thread(target=self._serve, name=f"rabbitmq {queue}", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> str:
        """Why nothing will ever come through this again; empty as long as all is well."""
        return self._lost

    @property
    def arrived(self) -> int:
        """How many messages wait here to be taken."""
        return len(self._arrived)

    def take(self, most: int) -> list[Delivery]:
        """What has arrived, in order, at most so many."""
        taken: list[Delivery] = []
        size = 0
        while self._arrived and len(taken) < most and size < _MOST_BYTES:
            taken.append(self._arrived.popleft())
            size += len(taken[-1].body)
        return taken

    def acknowledge(self, tag: int) -> bool:
        """Tell the server that all messages up to ``tag`` are dealt with; False if that cannot be
        told, or nobody knows whether it was heard."""

        def tell() -> None:
            self._channel.basic_ack(tag, multiple=True)
            self._channel.tx_commit()

        return self._call(tell)

    def waiting(self) -> int:
        """How many messages wait to be taken: here, and at the server for room here. Those here
        only if the server cannot be asked."""
        found = [self.arrived]

        def ask() -> None:
            declared = self._channel.queue_declare(self._queue, passive=True)
            found[0] = declared.method.message_count + self.arrived

        self._call(ask)
        return found[0]

    def close(self) -> None:
        """Go; the server keeps what was not acknowledged for the next one."""
        self._closing = True
        self._call(lambda: None)
        self._thread.join()

    def _call(self, action: Callable[[], None]) -> bool:
        done: futures.Future[None] = futures.Future()

        def run() -> None:
            try:
                action()
            except Exception as failure:
                self._lost = self._lost or reason_of(failure)
            done.set_result(None)

        try:
            self._connection.add_callback_threadsafe(run)
        except package().exceptions.AMQPError:
            return False
        while not futures.wait([done], timeout=_SERVE_SECONDS).done:
            if not self._thread.is_alive():
                return False
        return not self._lost

    def _on_message(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self._arrived.append(Delivery(method.delivery_tag, properties.correlation_id, body))

    def _on_cancel(self, frame: Any) -> None:
        self._lost = "the queue was deleted"

    def _serve(self) -> None:
        try:
            while not self._closing and not self._lost:
                self._connection.process_data_events(_SERVE_SECONDS)
                if not self._channel.is_open:
                    self._lost = self._lost or "the server closed the channel"
        except Exception as failure:
            self._lost = self._lost or reason_of(failure)
        finally:
            hang_up(self._connection)
