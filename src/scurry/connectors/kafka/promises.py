"""The driver's half of an exactly-once sink whose tasks write in transactions of their own.

The driver gets a :class:`~scurry.connectors.kafka.task_transactions.Ticket` for each task's open
transaction. The engine makes the tickets durable before the sink commits any of them: that is the
*promise*. From then on the records will become visible, whoever dies: the driver that finds the
promise after a crash commits what is not committed yet. What no promise covers is aborted.

Kafka can break a promise: it aborts a transaction that stays open for longer than its timeout. So
nothing is taken for committed that the coordinator does not say was. What a coordinator can say of
a promised transaction, in terms of the producer id and epoch at the time of the promise:

=========================================  =======================================================
state                                      meaning
=========================================  =======================================================
same epoch, open, begun at the same time   still to be committed
same epoch, open, begun later              committed: its writer is already at the next one
same epoch, being or having been committed  committed
next epoch, no transaction since           committed, and fenced off afterwards
anything else                              lost: the brokers have aborted it
=========================================  =======================================================

An abort raises the epoch as well, and so does fencing, so what was aborted and fenced off has the
epoch after the next.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from scurry.common.errors import LostPromiseError
from scurry.common.fault_points import fault_point
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.coordinators import (
    COMMITTED,
    EMPTY,
    ONGOING,
    REFUSED,
    Coordinators,
    State,
)
from scurry.connectors.kafka.task_transactions import Ticket
from scurry.connectors.kafka.wire import Unreachable

_log = logging.getLogger("scurry.kafka")
#: How often transactions are looked for that nobody will commit.
_SWEEP_SECONDS = 30.0
#: How long brokers may take to answer where nothing depends on it.
_PATIENCE_SECONDS = 10.0
_ID = re.compile(r"/(\d+)/([0-9a-f]{12})/\d+")
OPEN, DONE, LOST = "open", "done", "lost"


def tickets_of(messages: Iterable[Any]) -> list[Ticket]:
    """The tickets among the messages of writers."""
    found = (each for each in messages if isinstance(each, dict))
    return [msgspec.convert(each, Ticket) for each in found]


def verdict(ticket: Ticket, state: State | None) -> str:
    """What has become of a promised transaction; see the table above."""
    if state is None or state.producer != ticket.producer:
        return LOST
    if state.epoch == ticket.epoch:
        if state.name == ONGOING:
            return OPEN if state.began == ticket.began else DONE
        return DONE if state.name in COMMITTED else LOST
    return DONE if state.epoch == ticket.epoch + 1 and state.name == EMPTY else LOST


class PromisedTransactions:
    """Commits the transactions of a sink's tasks, and aborts those that nobody commits."""

    def __init__(self, settings: ClientSettings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._coordinators = Coordinators(settings, "commit transactions")
        #: by task: the writer whose transaction was committed last, and when it began
        self._writers: dict[int, tuple[str, int]] = {}
        self._swept = time.monotonic()

    def commit(self, batch: int, tickets: list[Ticket]) -> None:
        """Make what the tickets stand for visible; those of which that is true already are passed
        over. Raises :class:`~scurry.common.errors.LostPromiseError`, after all others have been
        committed, if brokers have aborted one."""
        lost = []
        for ticket, found in self._verdicts(tickets):
            if found == OPEN and not self._end(ticket):
                ((_, found),) = self._verdicts([ticket])
            if found == LOST:
                lost.append(ticket)
            fault_point("kafka-between-transactions")
        if lost:
            raise LostPromiseError(self._lost(batch, lost, len(tickets)))
        self._tidy(tickets)

    def _verdicts(self, tickets: list[Ticket]) -> list[tuple[Ticket, str]]:
        states = self._coordinators.describe(ticket.transactional_id for ticket in tickets)
        return [(each, verdict(each, states.get(each.transactional_id))) for each in tickets]

    def _end(self, ticket: Ticket) -> bool:
        name = ticket.transactional_id
        code, may_come_again = self._coordinators.end(name, ticket.producer, ticket.epoch, True)
        if may_come_again and not code:
            # A request without an answer may still lie somewhere. It must not find the next
            # transaction of the same writer, which has the same producer id and epoch.
            self._coordinators.fence(name)
        return code not in REFUSED

    def repeated(
        self, batch: int, promised: list[Ticket], again: list[Ticket]
    ) -> list[dict[str, Any]]:
        """The messages that count when a promised batch was written again: those that were
        promised, but for transactions that brokers have aborted. In their place come those of the
        same tasks now. The other new transactions are aborted."""
        lost = {ticket.task: ticket for ticket, found in self._verdicts(promised) if found == LOST}
        new = {ticket.task: ticket for ticket in again}
        if any(task not in new or new[task].tasks != each.tasks for task, each in lost.items()):
            some = next(iter(lost.values()))
            raise LostPromiseError(
                f"{self._lost(batch, list(lost.values()), len(promised))} Now the job has another "
                f"parallelism, or its driver writes, so what task {some.task} wrote cannot be told "
                f"from the rest. Start the job once as it was, with a parallelism of {some.tasks} "
                "for this sink; it then writes again what is missing."
            )
        self.abort(ticket for task, ticket in new.items() if task not in lost)
        kept = [each for each in promised if each.task not in lost]
        return [each.as_message() for each in [*kept, *(new[task] for task in lost)]]

    def abort(self, tickets: Iterable[Ticket]) -> None:
        """Throw away what the tickets stand for, unless that is visible already."""
        for ticket, found in self._verdicts(list(tickets)):
            if found == OPEN:
                self._coordinators.fence(ticket.transactional_id)

    def sweep(self) -> None:
        """Abort all transactions of this sink that are open. Called when all that was promised is
        committed, and no task is at work. If the brokers do not answer, it is left to the next
        look: what is open only keeps consumers waiting."""
        try:
            with self._coordinators.no_longer_than(_PATIENCE_SECONDS):
                for name, _, _ in self._ongoing():
                    _log.info("the transaction %r was left open, and is aborted", name)
                    self._coordinators.fence(name)
        except Unreachable as away:
            _log.warning(
                "transactions that were left open at Kafka at %s are not aborted now: %s",
                *(self._settings.servers, away),
            )

    def _tidy(self, tickets: list[Ticket]) -> None:
        """Abort transactions of tasks that were given up: a task may be run twice, and of its two
        writers only one has its transaction committed."""
        replaced = False
        for ticket in tickets:
            writer = ticket.transactional_id.rpartition("/")[0]
            replaced |= self._writers.get(ticket.task, (writer, 0))[0] != writer
            self._writers[ticket.task] = writer, ticket.began
        if not replaced and time.monotonic() - self._swept < _SWEEP_SECONDS:
            return
        self._swept = time.monotonic()
        open_ones = list(self._ongoing())
        states = self._coordinators.describe(name for name, _, _ in open_ones)
        for name, task, writer in open_ones:
            current, began = self._writers.get(task, (writer, 0))
            state = states.get(name)
            if state and state.name == ONGOING and (writer != current or state.began < began):
                _log.info("the transaction %r of a task that was run again is aborted", name)
                self._coordinators.fence(name)

    def _ongoing(self) -> Iterable[tuple[str, int, str]]:
        """The open transactions of this sink: name, task and writer of each."""
        for name in self._coordinators.ongoing():
            found = _ID.fullmatch(name.removeprefix(self._name))
            if found and name.startswith(self._name):
                yield name, int(found[1]), name.rpartition("/")[0]

    def _lost(self, batch: int, lost: list[Ticket], total: int) -> str:
        first = lost[0]
        records = sum(each.records for each in lost)
        began = datetime.fromtimestamp(first.began / 1000, UTC)
        return (
            f"Kafka at {self._settings.servers} has aborted {len(lost)} of the {total} "
            f"transactions of micro-batch {batch}, which the checkpoint promises: {records} "
            f"records of the topic {first.topic!r} are missing. The first is "
            f"{first.transactional_id!r} of task {first.task}, open since {began:%Y-%m-%d %H:%M:%S}"
            f" UTC. Either the job was not running for longer than the transaction's timeout "
            f"({first.timeout / 1000:g} s), or another job has the same transactional id prefix "
            "and uid."
        )

    def close(self) -> None:
        """Let go of the brokers."""
        self._coordinators.close()
