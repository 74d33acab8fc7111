"""Checkpoints in an object store, reached through connections that fail."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults import s3
from tests.faults.hdfs import hadoop_jars, hdfs_options, hdfs_server
from tests.faults.object_soak import Life
from tests.faults.process import Driver
from tests.faults.s3 import BUCKET, Proxy, s3_server, store
from tests.faults.standalone import environment, standalone_cluster

from scurry.checkpoint.directory import JobDirectory
from scurry.common.errors import LeaseHeldError, LeaseLostError
from scurry.common.object_store import ObjectStore, StoreSettings
from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.testing.kafka import REQUIRE, ServerMissing

#: Two stages of two slots: an entry of a journal each, and what they write of large tables; lists,
#: promises, the epoch and a deletion of the driver.
_MOST_REQUESTS = 30


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


def test_the_server_stores_nothing_of_a_request_that_was_cut(server: int) -> None:
    """As S3: otherwise the tests here would find objects damaged that nobody can have written."""
    request = (
        f"PUT /{BUCKET}/cut HTTP/1.1\r\nHost: 127.0.0.1\r\nIf-None-Match: *\r\n"
        "Connection: close\r\nContent-Length: 12\r\n\r\nTwelve bytes"
    ).encode()
    for cut in range(0, len(request) + 1, 5):
        with socket.create_connection(("127.0.0.1", server)) as connection:
            connection.sendall(request[:cut])
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    assert store(server).find(f"{BUCKET}/cut") == {}
    with socket.create_connection(("127.0.0.1", server)) as connection:
        connection.sendall(request)
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
    assert store(server).read(f"{BUCKET}/cut") == b"Twelve bytes"


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
def test_killed_drivers_lose_and_repeat_nothing(tmp_path: Path, proxy: Proxy, server: int) -> None:
    """The drivers are of both engines, each of which goes on with what the other has left."""
    life = Life(tmp_path, f"s3://{BUCKET}/jobs/one", s3.options(proxy.port))
    for life.engine in (MICRO_BATCH, LIVE, MICRO_BATCH):
        life.kill_after(2)
    assert proxy.disturbed
    proxy.one_in = 0
    for life.engine in (MICRO_BATCH, LIVE):
        driver = life.started()
        requests = _requests_per_checkpoint(life, driver, proxy)
        assert 0 < requests <= _MOST_REQUESTS
        assert _requests_when_idle(life, driver, proxy) == 0
        if life.engine == MICRO_BATCH:
            life.kill(driver)
    life.finish(driver)
    found = life.outcome(StoreSettings(s3.options(server)))
    assert (found.lost, found.duplicated) == (0, 0)
    stored = store(server)
    texts = (stored.read(key) for key in stored.find(BUCKET))
    assert not any(b"hush-hush" in text for text in texts)
    assert "hush-hush" not in (tmp_path / "driver.log").read_text()


def _requests_per_checkpoint(life: Life, driver: Driver, proxy: Proxy) -> float:
    first, before = driver.batch, proxy.requests.total()
    life.reach(driver, lambda: driver.batch >= first + 10)
    return (proxy.requests.total() - before) / (driver.batch - first)


def _requests_when_idle(life: Life, driver: Driver, proxy: Proxy) -> int:
    (life.root / "pause").touch()
    seen = -1
    # until the last checkpoint of what was read is over
    while seen != (seen := proxy.requests.total()):
        time.sleep(1)
    # the job would have made ten checkpoints, and given signs of life
    time.sleep(1)
    (life.root / "pause").unlink()
    return proxy.requests.total() - seen


@pytest.mark.spark
def test_hdfs(tmp_path: Path) -> None:
    try:
        hadoop_jars()
    except ServerMissing as missing:
        if os.environ.get(REQUIRE):
            pytest.fail(f"{REQUIRE} is set, but {missing}")
        pytest.skip(str(missing))
    with hdfs_server(tmp_path) as address:
        store = ObjectStore("webhdfs", StoreSettings(hdfs_options()))
        assert store.create(f"{address}/a/b", b"mine")
        assert not store.create(f"{address}/a/b", b"somebody else's")
        store.write(f"{address}/a/b", b"other")
        assert store.find(f"{address}/a") == {f"{address}/a/b": 5}
        life = Life(tmp_path, f"webhdfs://{address}/jobs/one", hdfs_options(), MICRO_BATCH)
        life.kill_after(3)
        life.engine = LIVE
        life.finish(life.start())
        found = life.outcome(StoreSettings(hdfs_options()))
        assert (found.lost, found.duplicated) == (0, 0)


@pytest.mark.spark
def test_a_cluster_with_nothing_in_common_but_the_store(tmp_path: Path, server: int) -> None:
    before = _cluster_job(tmp_path, "local[2]", server)
    assert before.returncode == 0, before.stderr[-3000:]
    with standalone_cluster(tmp_path) as master:
        done = _cluster_job(tmp_path, master, server)
    told = [each.partition(" ") for each in done.stdout.splitlines() if each.startswith("RESULT")]
    assert len(told) == 3, done.stderr[-3000:]
    *both, (_, _, line) = told
    # some were counted before the savepoint, and none of them is counted again
    rest = Counter(key for key, _, _ in json.loads(line))
    assert 0 < rest.total() < 40
    assert sorted((key, count) for key, count, _ in json.loads(line)) == [
        (key, count) for key in range(10) for count in range(5 - rest[key], 5)
    ]
    for engine, _, line in both:
        rows = json.loads(line)
        assert sorted((key, count) for key, count, _ in rows) == [
            (key, count) for key in range(10) for count in range(1, 5)
        ], engine
        assert {place for _, _, place in rows} == {str(tmp_path / each / "tmp") for each in "01"}
    assert store(server).find(f"{BUCKET}/jobs/cluster")


def _cluster_job(root: Path, master: str, server: int) -> subprocess.CompletedProcess[str]:
    where, options = f"s3://{BUCKET}/jobs/cluster", json.dumps(s3.options(server))
    return subprocess.run(
        [sys.executable, "-m", "tests.faults.cluster_job", master, where, options],
        cwd=root,
        env=environment(root / "driver"),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
