"""HDFS whose answers are cut: no file is taken for empty, or for shorter than it is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from scurry.common.object_store import ObjectStore, StoreSettings

_CONTENT = b"all of it"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def _answer(listener: socket.socket, answers: list[bytes]) -> None:
    for answer in answers:
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            client.sendall(answer)


@pytest.mark.parametrize("cut", ["redirect", "place", "content", "file"])
def test_an_answer_that_ends_early_is_asked_for_again(listener: socket.socket, cut: str) -> None:
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    place = b"Location: http://%s/data\r\n" % address.encode()
    redirect = b"HTTP/1.1 307 Temporary Redirect\r\n" + place + b"Content-Length: 0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
    file = head + b"content-length: %d\r\n\r\n" % len(_CONTENT) + _CONTENT
    broken = {
        "redirect": [redirect[:40]],
        "place": [redirect[: redirect.index(b"data") + 1]],
        "content": [redirect, head],
        "file": [redirect, file[:-3]],
    }
    answers = [*broken[cut], redirect, file]
    server = threading.Thread(target=_answer, args=(listener, answers), daemon=True)
    server.start()
    store = ObjectStore("webhdfs", StoreSettings({"user": "somebody"}))
    assert store.read(f"{address}/a/file") == _CONTENT
    server.join(10)
    assert not server.is_alive()
