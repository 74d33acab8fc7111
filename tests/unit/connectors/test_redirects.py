"""Redirects: what is posted arrives or the job says why not, and secrets stay with their host."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scurry.common import Time
from scurry.common.errors import ConfigurationError, FunctionError, JobError
from scurry.connectors.formats.registry import SchemaRegistry
from scurry.connectors.lookup import AsyncHttpLookup
from scurry.connectors.redirects import RedirectError, check_redirect
from scurry.connectors.webhook import WebhookSink
from scurry.datastream import AsyncDataStream, StreamExecutionEnvironment
from scurry.testing.local import collect_local


class Host:
    """A server that sends requests for ``/old`` on to a place, and keeps what it gets elsewhere."""

    def __init__(self) -> None:
        self.redirect: tuple[int, str] = (307, "/new")
        self.got: list[tuple[str, str, Any, dict[str, str]]] = []
        host = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path.startswith("/old"):
                    self.send_response(host.redirect[0])
                    self.send_header("Location", host.redirect[1])
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                content = json.loads(body) if body else None
                host.got.append((self.command, self.path, content, dict(self.headers)))
                found = json.dumps({"schema": "s", "id": 1}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                self.wfile.write(found)

            do_GET = do_POST = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    pair = Host(), Host()
    yield pair
    for host in pair:
        host.server.shutdown()
        host.server.server_close()


SECRET = {"X-Api-Key": "secret"}


def post(url: str, headers: dict[str, str] | None = None) -> None:
    WebhookSink(url, headers, patience_seconds=0).commit(0, [((0, 1), ["x"])])


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_post_never_becomes_a_get(hosts: tuple[Host, Host], status: int) -> None:
    for target in hosts:
        hosts[0].redirect = (status, f"{target.url}/new?token=secret")
        with pytest.raises(JobError) as caught:
            post(f"{hosts[0].url}/old?token=secret", SECRET)
        said = str(caught.value)
        assert f"WebhookSink: {hosts[0].url}/old answered with status {status}" in said
        assert f"on to {target.url}/new." in said
        assert "the POST would become a GET without its content" in said
        assert "give it in the program instead" in said
        assert "secret" not in said
    assert not hosts[0].got
    assert not hosts[1].got


@pytest.mark.parametrize("status", [307, 308])
def test_a_post_goes_where_it_stays_a_post(hosts: tuple[Host, Host], status: int) -> None:
    home, other = hosts
    home.redirect = (status, "/new")
    post(f"{home.url}/old", SECRET)
    method, path, content, headers = home.got[0]
    assert (method, path, content) == ("POST", "/new", ["x"])
    assert (headers["X-Api-Key"], headers["Content-Type"]) == ("secret", "application/json")
    assert headers["Idempotency-Key"] == "/0/0"
    home.redirect = (status, f"{other.url}/new")
    post(f"{home.url}/old")
    assert other.got[0][:3] == ("POST", "/new", ["x"])


def lookup(url: str, headers: dict[str, str] | None = None) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    asked = AsyncHttpLookup(f"{url}/{{key}}", lambda name: name, headers=headers)
    stream = env.from_collection(["a"])
    return collect_local(AsyncDataStream.ordered_wait(stream, asked, Time.seconds(20)))


def with_login(url: str) -> str:
    return url.replace("http://", "http://me:secret@")


PRIVATE: dict[str, Callable[[str], Any]] = {
    "webhook": lambda url: post(f"{url}/old", SECRET),
    "lookup with a header": lambda url: lookup(f"{url}/old", SECRET),
    "lookup with a login": lambda url: lookup(with_login(f"{url}/old")),
    "registry, asked": lambda url: SchemaRegistry(with_login(f"{url}/old")).schema(1),
    "registry, told": lambda url: SchemaRegistry(with_login(f"{url}/old")).register("s", "{}"),
}


@pytest.mark.parametrize("request_of", PRIVATE.values(), ids=PRIVATE)
def test_secrets_stay_with_their_host(
    hosts: tuple[Host, Host], request_of: Callable[[str], Any]
) -> None:
    home, other = hosts
    home.redirect = (307, f"{other.url}/new")
    with pytest.raises((JobError, ConfigurationError, FunctionError)) as caught:
        request_of(home.url)
    assert "would go to another host, port or scheme" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not other.got, "another port is another host"
    home.redirect = (307, "/new")
    request_of(home.url)
    headers = home.got[-1][3]
    assert headers.get("X-Api-Key") == "secret" or headers["Authorization"].startswith("Basic ")


def test_questions_without_secrets_follow_all_redirects(hosts: tuple[Host, Host]) -> None:
    home, other = hosts
    for status in (301, 302, 303, 307, 308):
        home.redirect = (status, f"{other.url}/new")
        assert lookup(f"{home.url}/old") == [("a", {"schema": "s", "id": 1})]
        assert SchemaRegistry(f"{home.url}/old").schema(1) == "s"
    assert [method for method, *_ in other.got] == ["GET"] * 10
    home.redirect = (302, "/new")
    with pytest.raises(ConfigurationError, match=r"The schema registry: .* would become a GET"):
        SchemaRegistry(f"{home.url}/old").register("subject", "{}")


def test_circles_end(hosts: tuple[Host, Host]) -> None:
    home = hosts[0]
    home.redirect = (307, "/old")
    with pytest.raises(FunctionError, match="more than 10 redirects"):
        lookup(f"{home.url}/old")
    with pytest.raises(JobError, match="refuses records with status 307"):
        post(f"{home.url}/old")


def test_nothing_leaves_encryption() -> None:
    with pytest.raises(RedirectError, match="it would be sent unencrypted"):
        check_redirect("POST", 307, "https://a/x", "http://a/x", False)
    with pytest.raises(RedirectError, match="'ftp' is neither http nor https"):
        check_redirect("GET", 301, "https://a/x", "ftp://a/x", False)
    check_redirect("POST", 308, "https://a/x", "https://a:443/y", True)
    with pytest.raises(RedirectError, match="another host, port or scheme"):
        check_redirect("POST", 308, "http://a/x", "https://a/x", True)
    check_redirect("POST", 308, "http://a/x", "https://a/x", False)
