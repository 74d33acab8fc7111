"""HTTP as clients send it, and as they should not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from scurry.queryable.http import MOST_BODY, MOST_HEAD, Listener, Request, listen


def told(request: Request) -> tuple[int, dict[str, Any]]:
    """An answer that says what was asked."""
    status = 401 if "secret" in request.parts else 200
    return status, {
        "method": request.method,
        "parts": request.parts,
        "parameters": request.parameters,
        "host": request.headers.get("host"),
        "body": len(request.body),
    }


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def talk(*steps: Callable[[Streams, Listener], Awaitable[Any]]) -> list[Any]:
    """What each of the steps gives, on one connection."""

    async def run() -> list[Any]:
        listener = await listen(told, "127.0.0.1", 0)
        streams = await asyncio.open_connection(*listener.address)
        try:
            return [await asyncio.wait_for(step(streams, listener), 30) for step in steps]
        finally:
            streams[1].close()
            listener.close()

    return asyncio.run(run())


async def answer(streams: Streams) -> tuple[int, dict[str, str], Any]:
    """Status, headers and content of the next answer."""
    head = (await streams[0].readuntil(b"\r\n\r\n")).decode().split("\r\n")
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    body = await streams[0].readexactly(int(headers.get("content-length", "0")))
    return int(head[0].split()[1]), headers, json.loads(body) if body else None


def ask(*pieces: bytes, answers: int = 1) -> Callable[[Streams, Listener], Awaitable[Any]]:
    """Send bytes, one piece after the other, and read so many answers."""

    async def step(streams: Streams, listener: Listener) -> Any:
        for piece in pieces:
            streams[1].write(piece)
            await streams[1].drain()
            await asyncio.sleep(0.001)
        return [await answer(streams) for _ in range(answers)]

    return step


async def ended(streams: Streams, listener: Listener) -> bool:
    """Whether the other side closes the connection."""
    return await streams[0].read() == b""


GET = b"GET /jobs/a%2Fb/%22%C3%BC%22?from=1&to=%22x+y%22 HTTP/1.1\r\nHost: localhost:1\r\n\r\n"
ASKED = {
    "method": "GET",
    "parts": ["jobs", "a/b", '"ü"'],
    "parameters": {"from": "1", "to": '"x y"'},
    "host": "localhost:1",
    "body": 0,
}


def test_a_request_may_come_in_any_pieces() -> None:
    whole, bytewise = talk(ask(GET), ask(*(GET[at : at + 1] for at in range(len(GET)))))
    for ((status, headers, content),) in (whole, bytewise):
        assert (status, content) == (200, ASKED)
        assert headers["content-type"] == "application/json"


def test_several_requests_at_once_are_answered_in_order() -> None:
    post = b"POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345"
    ((first, second, third),) = talk(ask(GET + b"\r\n" + post + GET, answers=3))
    assert [each[2]["method"] for each in (first, second, third)] == ["GET", "POST", "GET"]
    assert (second[2]["body"], second[2]["host"]) == (5, None)


def test_a_body_that_is_too_large_is_read_and_refused() -> None:
    length = 3 * MOST_BODY
    head = b"POST /b HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % length
    pieces = [head, *([b"x" * (length // 8)] * 8)]
    ((large,), (next_,)) = talk(ask(*pieces), ask(GET))
    assert (large[0], large[2]["error"]["code"]) == (413, "too_large")
    assert next_[2] == ASKED


def test_whoever_waits_to_be_told_to_go_on_is_told() -> None:
    head = b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    ((go_on,), (done,)) = talk(ask(head), ask(b"[]"))
    assert go_on[0] == 100
    assert done[2]["body"] == 2


def test_connections_end_when_clients_want_them_to() -> None:
    close = GET[:-2] + b"Connection: Close\r\n\r\n"
    ((one,), end) = talk(ask(close), ended)
    assert (one[1]["connection"], end) == ("close", True)
    ((old,), end) = talk(ask(GET.replace(b"/1.1", b"/1.0")), ended)
    assert (old[0], end) == (200, True)


def test_a_refusal_for_want_of_a_token_says_what_is_wanted() -> None:
    (((status, headers, _),),) = talk(ask(b"GET /secret HTTP/1.1\r\n\r\n"))
    assert (status, headers["www-authenticate"]) == (401, "Bearer")


def test_only_the_headers_of_an_answer_are_sent_to_head() -> None:
    async def head(streams: Streams, listener: Listener) -> bytes:
        streams[1].write(b"HEAD /a HTTP/1.1\r\n\r\nGET /b HTTP/1.0\r\n\r\n")
        return await streams[0].read()

    (content,) = talk(head)
    assert content.count(b"HTTP/1.1 200") == 2
    assert content.count(b'"method"') == 1


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"hello\r\n\r\n", 400, "not a request"),
        (b"GET / HTTP/2\r\n\r\n", 400, "not a request"),
        (b"GET / HTTP/1.1\r\nno header\r\n\r\n", 400, "'no header' is not a header"),
        (b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400, "' folded' is not a header"),
        (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400, "'Host : x' is not a header"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400, "two headers 'host'"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "Content-Length is '-1'"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411, "Content-Length"),
        (b"GET /" + b"x" * MOST_HEAD + b" HTTP/1.1\r\n\r\n", 431, "longer than 16384 bytes"),
    ],
)
def test_what_cannot_be_read_is_refused(sent: bytes, status: int, said: str) -> None:
    ((refused,), end) = talk(ask(sent), ended)
    assert (refused[0], end) == (status, True)
    assert said in refused[2]["error"]["message"]


def test_whoever_does_not_read_is_not_read_from() -> None:
    """Answers to many requests do not pile up."""

    async def flood(streams: Streams, listener: Listener) -> int:
        path = b"GET /" + b"x" * 8000 + b" HTTP/1.1\r\n\r\n"
        for _ in range(2000):
            streams[1].write(path)
        await asyncio.sleep(0.2)
        (connection,) = listener._connections
        assert connection._transport is not None
        assert connection._transport.get_write_buffer_size() < 1 << 20
        for _ in range(2000):
            await answer(streams)
        return 2000

    assert talk(flood) == [2000]


def test_connections_without_use_are_closed() -> None:
    async def wait(streams: Streams, listener: Listener) -> None:
        listener.close_idle()
        (connection,) = listener._connections
        connection.used -= 1000
        listener.close_idle()

    assert talk(ask(GET), wait, ended)[2]
