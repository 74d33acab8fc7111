"""Look-ups: the cache, and questions over HTTP to a server of our own."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scurry.common.errors import FunctionError, ProgramError
from scurry.common.time import Time
from scurry.connectors.lookup import AsyncHttpLookup, AsyncPostgresLookup, LookupCache
from scurry.connectors.lookup.cache import UNKNOWN, KeptAnswers
from scurry.connectors.lookup.http import is_passing
from scurry.datastream import AsyncDataStream, AsyncRetryStrategy, StreamExecutionEnvironment
from scurry.testing import ListSink, collect_local
from scurry.testing.local import LocalJob


class Service:
    """Something to ask, on a clock of our own."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.now = 0.0
        self.failing = False

    async def ask(self, key: Any) -> Any:
        self.asked.append(key)
        await asyncio.sleep(0.001)
        if self.failing:
            raise ConnectionError("down")
        return None if key == "nothing" else f"<{key}>"

    def cache(self, size: int = 10, ttl: int = 10_000, missing_ttl: int = 5000) -> LookupCache:
        return LookupCache(size, ttl, missing_ttl, lambda: self.now)


def test_answers_are_kept_until_they_are_too_old() -> None:
    service = Service()
    cache = service.cache()

    async def scene() -> None:
        assert await cache.get("a", service.ask) == "<a>"
        assert await cache.get("nothing", service.ask) is None
        service.now = 4.9
        assert await cache.get("a", service.ask) == "<a>"
        assert await cache.get("nothing", service.ask) is None
        assert service.asked == ["a", "nothing"]
        service.now = 5.1
        assert await cache.get("nothing", service.ask) is None
        assert await cache.get("a", service.ask) == "<a>"
        assert service.asked == ["a", "nothing", "nothing"]
        service.now = 10.1
        assert await cache.get("a", service.ask) == "<a>"
        assert service.asked[3:] == ["a"]

    asyncio.run(scene())
    assert (cache.hits, cache.misses) == (3, 4)


def test_what_was_used_longest_ago_goes_first() -> None:
    service = Service()
    cache = service.cache(size=2)

    async def scene() -> None:
        for key in "abacab":
            await cache.get(key, service.ask)

    asyncio.run(scene())
    assert service.asked == ["a", "b", "c", "b"]
    assert len(cache) == 2


@pytest.mark.parametrize("size", [0, 10])
def test_questions_about_one_key_at_the_same_time_are_one(size: int) -> None:
    service = Service()
    cache = service.cache(size)

    async def scene() -> list[Any]:
        return await asyncio.gather(*(cache.get("a", service.ask) for _ in range(9)))

    assert asyncio.run(scene()) == ["<a>"] * 9
    assert service.asked == ["a"]
    asyncio.run(scene())
    assert service.asked == (["a"] if size else ["a", "a"])


def test_failures_are_not_kept_and_strike_everyone_for_themselves() -> None:
    service = Service()
    cache = service.cache()
    service.failing = True

    async def scene() -> None:
        found = await asyncio.gather(
            *(cache.get("a", service.ask) for _ in range(3)), return_exceptions=True
        )
        assert [type(one) for one in found] == [ConnectionError] * 3
        assert service.asked == ["a"] * 3
        first = asyncio.ensure_future(cache.get("b", service.ask))
        second = asyncio.ensure_future(cache.get("b", service.ask))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        service.failing = False
        first.cancel()
        assert await second == "<b>"

    asyncio.run(scene())


class Answers(BaseHTTPRequestHandler):
    """``/users/<name>``: JSON about users, nothing about nobody, trouble on demand."""

    asked: dict[str, int]

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].rpartition("/")[2]
        self.asked[name] = asked = self.asked.get(name, 0) + 1
        status = {"nobody": 404, "broken": 500}.get(name, 200)
        if name == "busy" and asked < 3:
            status = 503
        body = json.dumps({"name": name, "token": self.headers.get("X-Token")}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Any]:
    handler = type("Handler", (Answers,), {"asked": {}, "protocol_version": "HTTP/1.1"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.asked = handler.asked  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def url(service: Any) -> str:
    return f"http://127.0.0.1:{service.server_address[1]}/users/{{key}}"


def asked(names: list[str], lookup: AsyncHttpLookup, strategy: Any = None) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    return AsyncDataStream.ordered_wait_with_retry(
        env.from_collection(names),
        lookup,
        Time.seconds(20),
        strategy or AsyncRetryStrategy.no_restart(),
    )


def test_http_answers_are_joined_to_elements_and_cached(service: Any) -> None:
    names = ["ann", "bob", "nobody", "ann", "a/b c"] * 3
    lookup = AsyncHttpLookup(url(service), key=lambda name: name, headers={"X-Token": "t"})
    stream = asked(names, lookup).name("users")
    sink = ListSink()
    stream.sink_to(sink)
    with LocalJob(stream.get_execution_environment()._compile(None)) as job:
        while not job.done:
            job.step(4)
        metrics = job.metrics["users"]
    assert sink.values == [
        (
            name,
            None
            if name == "nobody"
            else {"name": name.replace("/", "%2F").replace(" ", "%20"), "token": "t"},
        )
        for name in names
    ]
    assert service.asked == {"ann": 1, "bob": 1, "nobody": 1, "a%2Fb%20c": 1}
    assert (metrics["lookup.hits"], metrics["lookup.misses"]) == (11, 4)
    assert metrics["lookup.cached"] == 4


def test_http_text_bytes_and_a_function_for_the_address(service: Any) -> None:
    address = url(service).replace("{key}", "")
    for answer, kind in (("text", str), ("bytes", bytes)):
        lookup = AsyncHttpLookup(
            lambda key: address + key,
            key=lambda name: name,
            join=lambda name, found: (name, type(found)),
            answer=answer,
        )
        assert collect_local(asked(["ann"], lookup)) == [("ann", kind)]


def test_http_trouble_that_passes_can_be_waited_for(service: Any) -> None:
    strategy = AsyncRetryStrategy.fixed_delay(5, 1, None, is_passing)
    lookup = AsyncHttpLookup(url(service), lambda name: name, lambda name, found: found["name"])
    assert collect_local(asked(["busy"], lookup, strategy)) == ["busy"]
    assert service.asked["busy"] == 3
    dead = asked(["busy"], AsyncHttpLookup("http://127.0.0.1:9/{key}", lambda name: name), strategy)
    with pytest.raises(FunctionError, match="Cannot connect to host"):
        collect_local(dead)


def test_http_trouble_that_does_not_pass_names_the_service_without_its_secrets(
    service: Any,
) -> None:
    address = url(service).replace("http://", "http://me:secret@") + "?token=secret"
    lookup = AsyncHttpLookup(address, lambda name: name)
    with pytest.raises(FunctionError) as caught:
        collect_local(asked(["broken"], AsyncHttpLookup(url(service), lambda name: name)))
    assert "/users/broken answered with status 500" in str(caught.value)
    assert caught.value.element == "'broken'"
    with pytest.raises(FunctionError) as caught:
        collect_local(asked(["broken"], lookup))
    assert "secret" not in str(caught.value)


def test_mistakes_are_told_at_once() -> None:
    with pytest.raises(ProgramError, match="http://host/x has no place for the key"):
        AsyncHttpLookup("http://host/x?token=secret", lambda value: value)
    with pytest.raises(ProgramError, match="answer must be 'json', 'text' or 'bytes', got 'xml'"):
        AsyncHttpLookup("http://host/{key}", lambda value: value, answer="xml")
    with pytest.raises(ProgramError, match="AsyncHttpLookup needs a function as key, got 'id'"):
        AsyncHttpLookup("http://host/{key}", "id")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="cache_size of AsyncHttpLookup is -1"):
        AsyncHttpLookup("http://host/{key}", lambda value: value, cache_size=-1)
    with pytest.raises(ProgramError, match="pool_size of a look-up must be 1 at least, got 0"):
        AsyncPostgresLookup("postgresql://h/d", "SELECT 1", lambda value: value, pool_size=0)


def test_kept_answers_go_when_they_are_old_or_unused() -> None:
    now = [0.0]
    kept = KeptAnswers(3, 10_000, 0, idle_ms=4_000, clock=lambda: now[0])
    for key in ("used", "unused"):
        kept.keep(key, [1])
    kept.keep("nothing", [])
    assert kept.get("nothing") is UNKNOWN
    for now[0] in (3.0, 6.0, 9.0):
        assert kept.get("used") == [1]
    assert kept.get("unused") is UNKNOWN
    now[0] = 10.0
    assert kept.get("used") is UNKNOWN
