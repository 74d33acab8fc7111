"""Redis, Delta Lake and webhooks on Spark keep their promises although the driver is killed."""

from __future__ import annotations

import json
import sys
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
from tests.spark._kills import run_and_kill

from scurry.testing.servers import RedisServer

LINES = [f"{number % 7}-{number}" for number in range(400)]

PROGRAM = """
import sys
from pathlib import Path
from scurry.common import Configuration
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.delta import DeltaSink
from scurry.datastream.connectors.file_system import FileSource, StreamFormat
from scurry.datastream.connectors.webhook import WebhookSink
from scurry.datastream.connectors.redis import RedisSink
from scurry.datastream.state import ValueStateDescriptor

root, redis_url, hook = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield {"key": value.partition("-")[0], "n": self.count.value()}

env = StreamExecutionEnvironment.get_execution_environment(Configuration.of({
    "execution.checkpointing.dir": str(root / "ck"),
    "scurry.batch.max-records": "16",
})).set_parallelism(2)
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(root / "in"))
lines = env.from_source(source.build(), None, "lines").uid("lines")
counts = lines.key_by(lambda line: line.partition("-")[0]).process(Count()).uid("count")
counts.sink_to(DeltaSink(str(root / "table"))).uid("table")
pairs = counts.map(lambda count: (count["key"], str(count["n"]))).uid("pairs")
pairs.sink_to(RedisSink.values(redis_url, prefix="count:")).uid("latest")
counts.sink_to(WebhookSink(hook)).uid("hook")
env.on_progress(lambda progress: print("batch", progress.batch, flush=True))
env.execute()
print("finished", flush=True)
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
    (tmp_path / "in").mkdir()
    for number in range(4):
        part = LINES[number * 100 : (number + 1) * 100]
        (tmp_path / "in" / f"{number}.txt").write_text("\n".join(part) + "\n")
    script = tmp_path / "job.py"
    script.write_text(PROGRAM)
    address = f"http://127.0.0.1:{hook.server_port}/"
    command = [sys.executable, str(script), str(tmp_path), redis_server.url, address]
    sizes = Counter(line.partition("-")[0] for line in LINES)
    expected = Counter((key, n) for key, size in sizes.items() for n in range(1, size + 1))
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
