"""What the driver makes of the answers of a coordinator, also of those that do not arrive.

The coordinator is a socket of the test's own, so that it can refuse, move and fall silent at will.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("confluent_kafka")

from scurry.common.errors import JobError
from scurry.connectors.kafka import coordinators
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.coordinators import ONGOING, Coordinators
from scurry.connectors.kafka.promises import PromisedTransactions
from scurry.connectors.kafka.task_transactions import Ticket
from scurry.connectors.kafka.wire import (
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    Answer,
    Body,
)

#: The error codes of Kafka's protocol.
NOT_COORDINATOR, TRANSACTIONAL_ID_DENIED, INVALID_REQUEST = 16, 53, 42
SILENCE = None
TICKET = Ticket(0, 1, "id", producer=7, epoch=3, began=100, timeout=1000, topic="x", records=1)


class Coordinator:
    """Answers requests to end a transaction with these codes, one after the other, and hangs up
    instead of an answer where there is none."""

    def __init__(self, *ends: int | None) -> None:
        self._ends = list(ends)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        #: the requests that came, by their numbers
        self.asked: list[int] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as incoming:
                while size := incoming.read(4):
                    answer = self._answer(incoming.read(struct.unpack(">i", size)[0]))
                    if answer is None:
                        break
                    connection.sendall(struct.pack(">i", len(answer)) + answer)

    def _answer(self, frame: bytes) -> bytes | None:
        request = Answer(frame)
        key, _, number = request.number("h"), request.number("h"), request.number("i")
        self.asked.append(key)
        head = struct.pack(">i", number)
        if key == FIND_COORDINATOR.key:
            found = Body().number("i", 0).number("h", 0).text("").number("i", 1)
            return head + found.text("127.0.0.1").number("i", self.port).end()
        if key == DESCRIBE_TRANSACTIONS.key:
            one = Body(flexible=True).number("i", 0).number("B", 2).number("h", 0).text("id")
            one.text(ONGOING).number("i", TICKET.timeout).number("q", TICKET.began)
            one.number("q", TICKET.producer).number("h", TICKET.epoch).number("B", 1)
            return head + b"\0" + one.number("B", 0).end()
        if key == INIT_PRODUCER_ID.key:
            return head + Body().number("i", 0).number("h", 0).number("q", 7).number("h", 4).end()
        code = self._ends.pop(0)
        return SILENCE if code is None else head + Body().number("i", 0).number("h", code).end()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextmanager
def coordinator(*ends: int | None) -> Iterator[tuple[Coordinator, ClientSettings]]:
    made = Coordinator(*ends)
    try:
        yield made, ClientSettings({"bootstrap.servers": f"127.0.0.1:{made.port}"})
    finally:
        made.close()


def test_a_promise_is_committed_with_one_request() -> None:
    with coordinator(0) as (broker, settings):
        target = PromisedTransactions(settings, "id")
        target.commit(1, [TICKET])
        assert broker.asked.count(END_TXN.key) == 1
        assert INIT_PRODUCER_ID.key not in broker.asked
        target.close()


def test_after_an_answer_is_lost_nobody_can_use_the_same_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The request may still be carried out, when the writer is at its next transaction."""
    monkeypatch.setattr(coordinators, "_PAUSE_SECONDS", 0.01)
    with coordinator(SILENCE, 0) as (broker, settings):
        target = PromisedTransactions(settings, "id")
        target.commit(1, [TICKET])
        assert broker.asked.count(END_TXN.key) == 2
        assert broker.asked[-1] == INIT_PRODUCER_ID.key
        target.close()


def test_a_coordinator_that_has_moved_is_looked_for_again() -> None:
    with coordinator(NOT_COORDINATOR, 0) as (broker, settings):
        asked = Coordinators(settings, "test")
        assert asked.end("id", 7, 3, commit=True) == (0, False)
        assert broker.asked == [FIND_COORDINATOR.key, END_TXN.key] * 2
        asked.close()


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        (TRANSACTIONAL_ID_DENIED, r"does not let .* 'id'\. Allow Write and Describe on trans"),
        (INVALID_REQUEST, r"answered with error 42 .* 'id' in order to test\. See the broker's"),
    ],
)
def test_a_refusal_says_what_to_do(code: int, complaint: str) -> None:
    with coordinator(code) as (_, settings):
        asked = Coordinators(settings, "test")
        with pytest.raises(JobError, match=complaint):
            asked.end("id", 7, 3, commit=True)
        asked.close()
