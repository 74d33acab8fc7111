"""Connections of the live engine, and who is let in."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from scurry.engine.live import doors
from scurry.engine.live.conductor import told_reason
from scurry.engine.live.doors import Address, Door, connect, own_host
from scurry.engine.live.encryption import Identity, encrypted, make_identity
from scurry.engine.live.links import Link, link_over
from scurry.engine.live.messages import FAILED, LOST

SECRET = b"s" * 32


@pytest.fixture(scope="module")
def identity() -> Identity:
    return make_identity()


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def pair(request: pytest.FixtureRequest, identity: Identity) -> Iterator[tuple[Link, Link]]:
    ends: list[socket.socket] = list(socket.socketpair())
    if request.param:
        with ThreadPoolExecutor(1) as other_side:
            waiting = other_side.submit(encrypted, ends[0], identity, True)
            ends = [encrypted(ends[1], identity, False), waiting.result()]
    one, other = map(link_over, ends)
    yield one, other
    one.close()
    other.close()


def drained(sender: Link, receiver: Link) -> list[object]:
    """All messages that ``sender`` has to send."""
    found: list[object] = []
    while sender.backlog:
        sender.flush()
        found.extend(receiver.receive())
    found.extend(receiver.receive())
    return found


def test_why_a_task_has_ended_is_read_before_it_counts_as_gone() -> None:
    ends = [list(map(link_over, socket.socketpair())) for _ in range(3)]
    for link, _ in ends:
        link.send([LOST, 0, 1])
        link.flush()
    ends[1][0].send([FAILED, 1, "no such key"])
    ends[1][0].flush()
    for link, _ in ends[1:]:
        link.close()
    here = [link for _, link in ends]
    assert told_reason(here, 5.0) == "no such key"
    assert told_reason(here, 0.01) is None
    for link in [ends[0][0], *here]:
        link.close()


def test_messages_arrive_whole_and_in_order(pair: tuple[Link, Link]) -> None:
    one, other = pair
    sent = [[1, "a", b"x"], [], {"k": None}, [b"y" * 5_000_000, 2.5], [7]]
    for message in sent:
        one.send(message)
    assert drained(one, other) == sent
    assert one.backlog == 0


def test_a_full_connection_does_not_block(pair: tuple[Link, Link]) -> None:
    one, other = pair
    one.send(b"z" * 20_000_000)
    one.flush()
    assert 0 < one.backlog < 20_000_100
    assert drained(one, other) == [b"z" * 20_000_000]


def test_both_sides_can_send_much_at_the_same_time(pair: tuple[Link, Link]) -> None:
    for link in pair:
        link.send(b"w" * 10_000_000)
    found: list[int] = []
    while len(found) < 2:
        for link in pair:
            link.flush()
            found.extend(len(message) for message in link.receive())
    assert found == [10_000_000, 10_000_000]


def test_what_was_sent_before_the_end_arrives(pair: tuple[Link, Link]) -> None:
    one, other = pair
    one.send("last words")
    one.flush()
    one.close()
    assert other.receive() == ["last words"]
    assert other.receive() == []
    assert other.closed


def test_sending_to_somebody_who_has_gone(pair: tuple[Link, Link]) -> None:
    one, other = pair
    other.close()
    one.send(b"x" * 1_000_000)
    one.flush()
    assert one.backlog == 0
    assert one.receive() == []
    assert one.closed


@pytest.fixture(params=[None, "127.0.0.1"], ids=["unix", "tcp"])
def door(request: pytest.FixtureRequest) -> Iterator[Door]:
    made = Door(SECRET, request.param)
    yield made
    made.close()


def reachable(door: Door) -> Address:
    """The address as somebody has it who is on another machine, if the door is for those too."""
    if door.address.tcp is None:
        return door.address
    return Address("another machine", "", door.address.tcp)


class Waiting(threading.Thread):
    """Whoever waits at a door."""

    def __init__(self, door: Door) -> None:
        super().__init__()
        self._door = door
        self.found: tuple[int, socket.socket] | None = None
        self.start()

    def run(self) -> None:
        self.found = self._door.accept(self._door.sockets[-1])


def test_who_knows_the_secret_is_let_in(door: Door) -> None:
    waiting = Waiting(door)
    with connect(reachable(door), SECRET, 7) as connection:
        waiting.join()
        assert waiting.found is not None
        number, other = waiting.found
        assert number == 7
        with other:
            connection.sendall(b"hello")
            assert other.recv(5) == b"hello"


def test_who_does_not_is_not(door: Door) -> None:
    waiting = Waiting(door)
    with pytest.raises(ConnectionError, match="cannot be reached"):
        connect(reachable(door), b"another secret", 7)
    waiting.join()
    assert waiting.found is None


def test_who_says_nothing_sensible_is_not(door: Door) -> None:
    waiting = Waiting(door)
    at = door.sockets[-1]
    with socket.socket(at.family, socket.SOCK_STREAM) as stranger:
        stranger.connect(at.getsockname())
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        waiting.join()
        assert waiting.found is None


def test_a_task_notices_that_somebody_else_answers() -> None:
    impostor, real = Door(b"impostor's own"), Door(SECRET)
    try:
        waiting = Waiting(impostor)
        with pytest.raises(ConnectionError):
            connect(impostor.address, SECRET, 0)
        waiting.join()
    finally:
        impostor.close()
        real.close()


def test_an_address_on_another_machine_without_tcp() -> None:
    with pytest.raises(ConnectionError, match="cannot be reached from this machine"):
        connect(Address("another machine", "/nowhere"), SECRET, 0)


def test_the_host_by_which_others_are_reached() -> None:
    assert own_host(("127.0.0.1", 9)) == "127.0.0.1"


@pytest.mark.parametrize("theirs", ["another", "none"])
def test_who_has_another_certificate_is_not_spoken_to(
    identity: Identity, theirs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "_SECONDS", 1.0)
    door = Door(SECRET, "127.0.0.1", identity)
    try:
        waiting = Waiting(door)
        with pytest.raises(ConnectionError, match="cannot be reached"):
            connect(reachable(door), SECRET, 7, make_identity() if theirs == "another" else None)
        waiting.join()
        assert waiting.found is None
    finally:
        door.close()


def test_nothing_can_be_read_on_the_way(identity: Identity) -> None:
    """A proxy sees all that goes over an encrypted connection."""
    door, seen = Door(SECRET, "127.0.0.1", identity), bytearray()
    with socket.create_server(("127.0.0.1", 0)) as proxy, ThreadPoolExecutor(3) as others:
        waiting = Waiting(door)
        coming = Address("another machine", "", proxy.getsockname())
        connecting = others.submit(connect, coming, SECRET, 7, identity)
        client, _ = proxy.accept()
        assert door.address.tcp is not None
        server = socket.create_connection(door.address.tcp)
        for source, target in ((client, server), (server, client)):
            others.submit(_pass_on, source, target, seen)
        with connecting.result() as connection:
            waiting.join()
            assert waiting.found is not None
            with waiting.found[1] as other:
                connection.sendall(b"what nobody else may read")
                assert other.recv(100) == b"what nobody else may read"
    door.close()
    assert len(seen) > 500
    assert b"nobody else" not in seen


def _pass_on(source: socket.socket, target: socket.socket, seen: bytearray) -> None:
    with source, suppress(OSError):
        while some := source.recv(4096):
            seen.extend(some)
            target.sendall(some)
        target.shutdown(socket.SHUT_WR)
