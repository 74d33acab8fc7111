"""Redis, Delta Lake and webhooks on Spark keep their promises although the driver is killed."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet as pq
import pytest
import redis
from tests.spark._kills import all_counts, counting_program, run_and_kill

from scurry.testing.servers import RedisServer

SINKS = """
from scurry.datastream.connectors.delta import DeltaSink
from scurry.datastream.connectors.redis import RedisSink
from scurry.datastream.connectors.webhook import WebhookSink

redis_url, hook = sys.argv[2:]
rows = counts.map(lambda pair: {"key": pair[0], "n": pair[1]}).uid("rows")
rows.sink_to(DeltaSink(str(root / "table"))).uid("table")
rows.sink_to(WebhookSink(hook)).uid("hook")
pairs = counts.map(lambda pair: (pair[0], str(pair[1]))).uid("pairs")
pairs.sink_to(RedisSink.values(redis_url, prefix="count:")).uid("latest")
"""


class Hook(BaseHTTPRequestHandler):
    """Remembers what was posted, by idempotency key."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server: Any = self.server
        server.posts.append((self.headers["Idempotency-Key"], body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def hook() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.posts = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_killed_drivers_leave_every_record_once(
    tmp_path: Path, redis_server: RedisServer, hook: Any
) -> None:
    address = f"http://127.0.0.1:{hook.server_port}/"
    command = counting_program(tmp_path, SINKS, redis_server.url, address)
    sizes, expected = all_counts()
    for batches, delay in ((3, 0.0), (4, 0.15), (5, 0.3)):
        assert not run_and_kill(command, batches, delay)
        assert rows_of(tmp_path / "table") <= expected, "nothing twice, at no time"
    assert run_and_kill(command, None, 0)
    assert rows_of(tmp_path / "table") == expected
    with redis.Redis.from_url(redis_server.url) as client:
        latest = {key: client.get(f"count:{key}") for key in sizes}
    assert latest == {key: b"%d" % size for key, size in sizes.items()}
    by_key = dict(hook.posts)
    assert all(by_key[key] == body for key, body in hook.posts), "what comes again is the same"
    posted = Counter(
        (record["key"], record["n"]) for body in by_key.values() for record in json.loads(body)
    )
    assert posted == expected, "once, if who receives it heeds the idempotency key"


def rows_of(table: Path) -> Counter[tuple[str, int]]:
    if not deltalake.DeltaTable.is_deltatable(str(table)):
        return Counter()
    rows = pq.read_table(deltalake.DeltaTable(str(table)).file_uris()).to_pylist()
    return Counter((row["key"], row["n"]) for row in rows)
