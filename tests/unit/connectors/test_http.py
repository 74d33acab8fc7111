"""Records posted to others, and by others to us."""

from __future__ import annotations

import json
import logging
import pickle
import resource
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import scurry.connectors.push as push_module
from scurry.common import Row, Types
from scurry.common.errors import JobError, ProgramError
from scurry.connectors.push import PushSource, Spool
from scurry.connectors.webhook import WebhookSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.history import Branch, History
from scurry.functions.sink import AT_LEAST_ONCE, CommitterContext
from scurry.testing.local import run_local
from scurry.testing.servers import free_port


class Receiver:
    """An address that answers as told, one status after the other, then 200."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.bodies: list[Any] = []
        self.headers: list[Any] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.statuses.pop(0) if receiver.statuses else 200
                if status == 200:
                    receiver.bodies.append(json.loads(body))
                    receiver.headers.append(dict(self.headers))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(b"because" if status != 200 else b"")

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def test_records_are_posted_in_groups(receiver: Receiver) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    sink = WebhookSink(receiver.url, {"Authorization": "Bearer secret"}, max_records=2)
    env.from_collection([Row(n=1), (2, "x"), {"n": 3}]).sink_to(sink)
    assert "at-least-once" in env.explain()
    run_local(env)
    assert receiver.bodies == [[{"n": 1}, [2, "x"]], [{"n": 3}]]
    assert receiver.headers[0]["Authorization"] == "Bearer secret"
    keys = [headers["Idempotency-Key"] for headers in receiver.headers]
    assert [key.rpartition("/")[2] for key in keys] == ["0", "1"]
    assert b"secret" not in pickle.dumps(sink)
    assert sink.guarantee == AT_LEAST_ONCE


def test_what_fails_for_a_while_is_posted_again(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.statuses = [503, 429, 500]
    sink = WebhookSink(receiver.url)
    sink.start(CommitterContext("sink", "job"))
    with caplog.at_level(logging.WARNING, "scurry"):
        sink.commit(7, [((0, 1), ["x"])])
    assert receiver.bodies == [["x"]]
    assert receiver.headers[0]["Idempotency-Key"] == "job/sink/7/0"
    assert f"waiting for {receiver.url}" in caplog.text


def test_batches_of_another_history_have_other_keys(receiver: Receiver) -> None:
    for branch in ("a", "a", "b"):
        sink = WebhookSink(receiver.url)
        sink.start(CommitterContext("sink", "job", History([Branch(branch, 0)], 7)))
        sink.commit(7, [((0, 1), ["x"])])
        assert sink.committed_mark() is None
    first, again, other = (headers["Idempotency-Key"] for headers in receiver.headers)
    assert first == again == "job/sink/a/7/0"
    assert other == "job/sink/b/7/0"


def test_a_refusal_fails_the_job(receiver: Receiver) -> None:
    receiver.statuses = [422]
    sink = WebhookSink(receiver.url)
    with pytest.raises(JobError, match="refuses records with status 422: because"):
        sink.commit(0, [((0, 1), ["x"])])
    with pytest.raises(JobError, match="could not be reached for 0 s"):
        WebhookSink("http://127.0.0.1:1/", patience_seconds=0).commit(0, [((0, 1), ["x"])])
    with pytest.raises(ProgramError, match="needs an http or https address, got 'ftp://x'"):
        WebhookSink("ftp://x")
    with pytest.raises(ProgramError, match="max_records must be positive"):
        WebhookSink("http://x", max_records=0)


# --- PushSource ----------------------------------------------------------------------------


def post(port: int, body: bytes, token: str = "secret") -> tuple[int, str]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/", body, {"Authorization": f"Bearer {token}"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)["message"]
    except urllib.error.HTTPError as failure:
        with failure:
            return failure.code, json.load(failure)["message"]


class Pushed:
    """A push source, driven step by step; a restart loses all but the position."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self.source = PushSource(directory, free_port(), "secret", **options)
        self.enumerator: Any = self.source.enumerator(1)
        self.position = self.enumerator.initial_position()

    @property
    def port(self) -> int:
        port: int = self.enumerator.server.port
        return port

    def restart(self) -> None:
        self.enumerator.close()
        self.enumerator = self.source.enumerator(1)

    def step(self, max_records: int = 1000) -> list[Any]:
        plan = self.enumerator.plan(self.position, max_records)
        self.position = plan.position
        whats = [item.what for item in plan.ranges]
        return [row for what in whats for b in self.source.read(what) for row in b.rows or []]


@pytest.fixture
def pushed(tmp_path: Path) -> Iterator[Pushed]:
    pushed = Pushed(tmp_path)
    yield pushed
    pushed.enumerator.close()


def test_what_was_accepted_survives_a_restart(pushed: Pushed) -> None:
    assert pushed.step() == []
    assert post(pushed.port, b'{"n": 1}') == (200, "1 records accepted")
    assert post(pushed.port, b'[2, {"n":\n 3}, "x"]') == (200, "3 records accepted")
    pushed.restart()
    assert pushed.step(2) == [{"n": 1}, 2]
    pushed.restart()
    assert pushed.step() == [{"n": 3}, "x"]
    assert pushed.step() == []
    assert b"secret" not in pickle.dumps(pushed.source)


def test_what_was_accepted_and_not_planned_is_told(
    pushed: Pushed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Across spool files, plans that end within a file, and a restart."""
    monkeypatch.setattr(push_module, "_SPOOL_BYTES", 8)
    post(pushed.port, b"[1, 2, 3, 4, 5]")
    post(pushed.port, b"[6, 7]")
    assert pushed.step(2) == [1, 2]
    assert pushed.enumerator.gauges() == {"lag": 5}
    post(pushed.port, b"8")
    pushed.restart()
    assert pushed.step(1) == [3]
    assert pushed.enumerator.gauges() == {"lag": 5}
    assert pushed.step(2) == [4, 5]
    assert pushed.enumerator.gauges() == {"lag": 3}
    pushed.enumerator.committed(pushed.position)
    assert pushed.step() == [6, 7, 8]
    assert pushed.step() == []
    assert pushed.enumerator.gauges() == {"lag": 0}


def test_what_is_not_accepted_leaves_no_trace(pushed: Pushed) -> None:
    assert post(pushed.port, b"1", token="guess")[0] == 401
    assert post(pushed.port, b"{")[0] == 400
    assert post(pushed.port, b"")[0] == 413
    assert pushed.step() == []


def test_records_of_another_type_are_refused_at_the_door(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, type_info=Types.ROW_NAMED(["n"], [Types.LONG()]))
    assert post(pushed.port, b'[{"n": 1}, {"n": "x"}]')[0] == 400
    assert post(pushed.port, b'[{"n": 1}]')[0] == 200
    assert pushed.step() == [Row(n=1)]
    pushed.enumerator.close()


def test_spool_files_are_deleted_once_committed(
    pushed: Pushed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_module, "_SPOOL_BYTES", 4)
    for n in range(3):
        post(pushed.port, b'"record"')
        assert pushed.step() == ["record"]
        assert len(list(tmp_path.iterdir())) == (1 if n == 0 else 2)
        pushed.enumerator.committed(pushed.position)
        assert len(list(tmp_path.iterdir())) == 1


def test_half_a_record_of_a_crash_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "000000000000.jsonl").write_bytes(b"1\n2")
    Spool(tmp_path).append(b"3\n")
    assert (tmp_path / "000000000000.jsonl").read_bytes() == b"1\n3\n"


def test_a_full_disk_loses_nothing_that_was_accepted(pushed: Pushed) -> None:
    """A record of which only half could be written is not accepted, nor glued to the next one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert post(pushed.port, b'"first"')[0] == 200
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        status, told = post(pushed.port, json.dumps("x" * 300_000).encode())
        assert status == 503
        assert "could not be kept (File too large): send them again" in told
        assert pushed.step() == ["first"]
        assert post(pushed.port, b'"second"')[0] == 200
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert post(pushed.port, b'"third"')[0] == 200
    assert pushed.step() == ["second", "third"]


def test_what_a_push_source_refuses(tmp_path: Path, pushed: Pushed) -> None:
    with pytest.raises(ProgramError, match="needs a token"):
        PushSource(tmp_path, 0, "")
    with pytest.raises(ProgramError, match=r"cannot listen at .*another job using that port"):
        PushSource(tmp_path, pushed.port, "x").enumerator(1)
