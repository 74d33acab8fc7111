"""Checkpoints in an object store, reached through connections that fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults import s3
from tests.faults.job import FileSink, expected
from tests.faults.process import Driver
from tests.faults.s3 import BUCKET, Proxy, s3_server, store

from scurry.checkpoint.contents import read_contents
from scurry.checkpoint.directory import JobDirectory
from scurry.common.errors import LeaseHeldError, LeaseLostError
from scurry.common.object_store import StoreSettings


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with s3_server() as port:
        yield port


@pytest.fixture
def proxy(server: int) -> Iterator[Proxy]:
    made = Proxy(server, seed=7, one_in=4)
    yield made
    made.close()


def test_requests_get_through_a_network_that_fails(proxy: Proxy, server: int) -> None:
    through, direct = store(proxy.port), store(server)
    content = {f"{BUCKET}/a/{i}": bytes([i]) * 2000 * i for i in range(20)}
    for key, value in content.items():
        through.write(key, value)
    assert proxy.disturbed
    assert {key: direct.read(key) for key in content} == content
    assert {key: through.read(key) for key in content} == content
    assert through.names(f"{BUCKET}/a") == sorted(map(str, range(20)))
    assert through.create(f"{BUCKET}/b", b"mine")
    assert not through.create(f"{BUCKET}/b", b"somebody else's")
    through.delete(content)
    assert direct.find(f"{BUCKET}/a") == {}
    with pytest.raises(FileNotFoundError):
        through.read(f"{BUCKET}/a/1")


def test_one_driver_at_a_time_has_the_lease(server: int) -> None:
    where, settings = f"s3://{BUCKET}/jobs/leased", StoreSettings(s3.options(server))
    assert "hush" not in repr(settings) + repr(JobDirectory(where, settings).root)
    first = JobDirectory(where, settings).claim("first")
    with pytest.raises(LeaseHeldError, match="in use by this very process"):
        JobDirectory(where, settings).claim("second")
    assert first._answering is not None
    first._answering.close()
    second = JobDirectory(where, settings).claim("second")
    assert second.epoch == first.epoch + 1
    with pytest.raises(LeaseLostError):
        first.check()
    second.release()


@pytest.mark.spark
def test_killed_drivers_lose_and_repeat_nothing(
    tmp_path: Path, proxy: Proxy, server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second", "faults"):
        (tmp_path / name).mkdir()
    arguments = tmp_path, "tests.faults.object_driver", str(tmp_path), str(proxy.port)
    killed = Driver(*arguments)
    try:
        assert killed.wait_until(lambda: killed.batch >= 3), _log(tmp_path)
        os.killpg(killed.process.pid, signal.SIGKILL)
    finally:
        killed.end()
    last = Driver(*arguments)
    try:
        assert last.wait_until(lambda: last.batch >= killed.batch + 3), _log(tmp_path)
        (tmp_path / "stop").touch()
        assert last.wait_until(lambda: last.finished), _log(tmp_path)
    finally:
        last.end()
    assert proxy.disturbed
    for name, value in s3.environment(server).items():
        monkeypatch.setenv(name, value)
    contents = read_contents(f"s3://{BUCKET}/jobs/one")
    [source] = contents.sources
    first, second, _ = expected(source.position)
    assert sorted(map(repr, FileSink(tmp_path / "first").results())) == sorted(map(repr, first))
    assert sorted(map(repr, FileSink(tmp_path / "second").results())) == sorted(map(repr, second))
    stored = store(server)
    texts = (stored.read(key) for key in stored.find(BUCKET))
    assert not any(b"hush-hush" in text for text in texts)


def _log(root: Path) -> str:
    return (root / "driver.log").read_text()[-3000:]
