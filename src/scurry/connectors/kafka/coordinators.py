"""Looking at, and ending, transactions that other processes have begun.

Each transactional id has a *coordinator*, one of the brokers, which knows the state of its
transaction. Whoever knows the producer id and epoch of a transaction can have the coordinator
commit it; that need not be the process that wrote the records. librdkafka has no call for that, so
these requests are made over connections of our own (:mod:`scurry.connectors.kafka.wire`).

Coordinators move when brokers come and go, and answer "not me" or "not yet" meanwhile. Then they
are looked for anew, and asked again, for as long as it takes; the job says that it waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from scurry.common.errors import JobError
from scurry.connectors.kafka import wire
from scurry.connectors.kafka.client import ClientSettings, Patience
from scurry.connectors.kafka.security import AuthenticationFailed, why_not
from scurry.connectors.kafka.wire import Answer, Api, Body, Connection, Unreachable

#: What transactions are in, by the names that brokers give.
ONGOING, EMPTY = "Ongoing", "Empty"
COMMITTED = ("PrepareCommit", "CompleteCommit")

_NOT_YET = {14: "the coordinator is loading", 15: "there is no coordinator yet"}
_NOT_YET |= {16: "the coordinator has moved", 7: "the request timed out"}
_NOT_YET |= {51: "the transaction is about to end", 52: "the coordinator was replaced"}
_CONCURRENT, _UNKNOWN_ID = 51, 105
_NOT_ALLOWED = (29, 31, 53)
#: The producer id and epoch are not those of the transaction, or it has ended the other way.
REFUSED = (47, 48, 49, 90)
_MOMENT_SECONDS, _PAUSE_SECONDS = 0.01, 0.2
#: The timeout that a transactional id gets which nobody will use again.
_FENCED_MS = 60_000
_NEEDED = (
    wire.FIND_COORDINATOR,
    wire.INIT_PRODUCER_ID,
    wire.END_TXN,
    wire.DESCRIBE_TRANSACTIONS,
    wire.LIST_TRANSACTIONS,
)


class State(NamedTuple):
    """What a coordinator says about a transactional id; times are milliseconds."""

    name: str
    producer: int
    epoch: int
    #: when the open transaction began
    began: int = -1
    timeout: int = 0


class _TryAgain(Exception):
    """The answer says that another one may be better in a moment."""


class Coordinators:
    """The coordinators of a Kafka, for one thread at a time."""

    def __init__(self, settings: ClientSettings, purpose: str) -> None:
        self._settings = settings
        self._purpose = purpose
        self._patience = Patience(settings.servers, purpose)
        self._places: dict[str, tuple[str, int]] = {}
        self._open: dict[tuple[str, int], Connection] = {}
        self._until = float("inf")

    @contextmanager
    def no_longer_than(self, seconds: float) -> Iterator[None]:
        """What is asked within this block raises
        :class:`~scurry.connectors.kafka.wire.Unreachable` if the brokers have not answered after
        so many seconds."""
        self._until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = float("inf")

    def lacking(self) -> str:
        """Why these brokers cannot be used like this, in words; empty if they can. Raises
        :class:`~scurry.connectors.kafka.wire.Unreachable` if no broker answers."""
        reason = why_not(self._settings)
        if reason:
            return reason
        answer = self._ask_any(wire.API_VERSIONS, Body())
        answer.number("h")
        known = {key: (least, most) for key, least, most in answer.many(_versions)}
        for api in _NEEDED:
            least, most = known.get(api.key, (0, -1))
            if not least <= api.version <= most:
                return f"the brokers do not know version {api.version} of {api.name}"
        return ""

    def describe(self, ids: Iterable[str]) -> dict[str, State]:
        """The states of transactional ids; those that the brokers do not know are left out."""
        wanted, found = list(ids), dict[str, State]()

        def look() -> None:
            for place, group in self._grouped(each for each in wanted if each not in found):
                body = Body(flexible=True).texts(group)
                answer = self._connection(place).ask(wire.DESCRIBE_TRANSACTIONS, body)
                answer.number("i")
                for code, name, state in answer.structures(_state):
                    if code == _UNKNOWN_ID:
                        wanted.remove(name)
                    else:
                        self._check(code, name)
                        found[name] = state

        self._insist(look)
        return found

    def end(self, name: str, producer: int, epoch: int, commit: bool) -> tuple[int, bool]:
        """End a transaction; returns 0 or one of :data:`REFUSED`, and whether a request may have
        got lost, and be carried out later."""
        lost: list[bool] = []

        def send() -> int:
            body = Body().text(name).number("q", producer).number("h", epoch).number("?", commit)
            connection = self._connection(self._place(name))
            try:
                answer = connection.ask(wire.END_TXN, body)
            except Unreachable:
                lost.append(True)
                raise
            answer.number("i")
            code = answer.number("h")
            if code not in REFUSED:
                self._check(code, name)
            return code

        return self._insist(send), bool(lost)

    def fence(self, name: str) -> None:
        """Abort what is open under a transactional id, and let nobody go on with it who has used
        it until now."""

        def send() -> None:
            body = Body().text(name).number("i", _FENCED_MS)
            answer = self._connection(self._place(name)).ask(wire.INIT_PRODUCER_ID, body)
            answer.number("i")
            code = answer.number("h")
            if code not in REFUSED:
                self._check(code, name)

        self._insist(send)

    def ongoing(self) -> list[str]:
        """The transactional ids of all open transactions that this user may know of."""

        def look() -> list[str]:
            answer = self._ask_any(wire.METADATA, Body().texts([]))
            brokers = answer.many(_broker)
            found = []
            for place in brokers:
                body = Body(flexible=True).texts([ONGOING]).texts([])
                answer = self._connection(place).ask(wire.LIST_TRANSACTIONS, body)
                answer.number("i")
                self._check(answer.number("h"), "")
                answer.many(Answer.text)
                found += [name for name, state in answer.structures(_listed) if state == ONGOING]
            return found

        return self._insist(look)

    def close(self) -> None:
        """Let go of the brokers."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()
        self._places.clear()

    def _grouped(self, names: Iterable[str]) -> list[tuple[tuple[str, int], list[str]]]:
        groups: dict[tuple[str, int], list[str]] = {}
        for name in names:
            groups.setdefault(self._place(name), []).append(name)
        return list(groups.items())

    def _place(self, name: str) -> tuple[str, int]:
        """Where the coordinator of a transactional id is."""
        if name not in self._places:
            answer = self._ask_any(wire.FIND_COORDINATOR, Body().text(name).number("b", 1))
            answer.number("i")
            code = answer.number("h")
            answer.text()
            self._check(code, name)
            answer.number("i")
            self._places[name] = answer.text(), answer.number("i")
        return self._places[name]

    def _ask_any(self, api: Api, body: Body) -> Answer:
        """Ask some broker."""
        known = list(self._open) + [p for p in _bootstrap(self._settings) if p not in self._open]
        failure = Unreachable("there are no bootstrap servers")
        for place in known:
            try:
                return self._connection(place).ask(api, body)
            except Unreachable as away:
                self._drop(place)
                failure = away
        raise failure

    def _connection(self, place: tuple[str, int]) -> Connection:
        if place not in self._open:
            self._open[place] = Connection(*place, self._settings)
        return self._open[place]

    def _drop(self, place: tuple[str, int]) -> None:
        connection = self._open.pop(place, None)
        if connection is not None:
            connection.close()

    def _check(self, code: int, name: str) -> None:
        """Raise what an error code means."""
        if code in _NOT_YET:
            if code != _CONCURRENT:
                self._places.pop(name, None)
            raise _TryAgain(_NOT_YET[code])
        if code in _NOT_ALLOWED:
            raise JobError(
                f"Kafka at {self._settings.servers} does not let the sink's user work with the "
                f"transactional id {name!r}. Allow Write and Describe on transactional ids that "
                "begin with the sink's transactional id prefix; then restart the job."
            )
        if code:
            raise JobError(
                f"Kafka at {self._settings.servers} answered with error {code} when asked about "
                f"the transactional id {name!r} in order to {self._purpose}. See the broker's log; "
                "then restart the job."
            )

    def _insist(self, action: Callable[[], wire.T]) -> wire.T:
        """Do something until it succeeds."""
        while True:
            try:
                result = action()
            except _TryAgain as reason:
                self._wait(str(reason), _MOMENT_SECONDS)
            except Unreachable as reason:
                self.close()
                self._wait(str(reason), _PAUSE_SECONDS)
            except AuthenticationFailed as failure:
                raise JobError(
                    f"Kafka at {self._settings.servers} refuses the sink's user: {failure}. Check "
                    "sasl.username and sasl.password; then restart the job."
                ) from None
            else:
                self._patience.over()
                return result

    def _wait(self, reason: str, seconds: float) -> None:
        if time.monotonic() > self._until:
            self._patience.over()
            raise Unreachable(reason)
        self._patience.waiting(reason)
        time.sleep(seconds)


def _bootstrap(settings: ClientSettings) -> list[tuple[str, int]]:
    """The addresses to ask first."""
    found = []
    for entry in settings.servers.split(","):
        host, _, port = entry.strip().rpartition("://")[2].rpartition(":")
        if host and port.isdigit():
            found.append((host.strip("[]"), int(port)))
    return found


def _versions(answer: Answer) -> tuple[int, int, int]:
    return answer.number("h"), answer.number("h"), answer.number("h")


def _broker(answer: Answer) -> tuple[str, int]:
    answer.number("i")
    place = answer.text(), answer.number("i")
    answer.text()
    return place


def _listed(answer: Answer) -> tuple[str, str]:
    name = answer.text()
    answer.number("q")
    return name, answer.text()


def _state(answer: Answer) -> tuple[int, str, State]:
    code, name, state = answer.number("h"), answer.text(), answer.text()
    timeout, began = answer.number("i"), answer.number("q")
    found = State(state, answer.number("q"), answer.number("h"), began, timeout)
    answer.structures(_topic)
    return code, name, found


def _topic(answer: Answer) -> None:
    answer.text()
    answer.many(lambda each: each.number("i"))
