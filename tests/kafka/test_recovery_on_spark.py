"""Kafka -> keyed job -> Kafka on Spark, through kills of driver and workers and through outages:
consumers of committed records see every result exactly once.

``SCURRY_SOAK_KILLS`` sets the number of kills, ``SCURRY_SOAK_OUTAGE`` the seconds the broker is
away; both are small unless set.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.kafka.conftest import Topics

from scurry.testing.kafka import private_broker

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("SCURRY_SOAK_KILLS", "2"))
OUTAGE = float(os.environ.get("SCURRY_SOAK_OUTAGE", "6"))


def events(first: int, count: int) -> list[bytes]:
    return [
        json.dumps({"key": number % 10, "number": number}).encode()
        for number in range(first, first + count)
    ]


def check_results(topics: Topics, topic: str, total: int) -> None:
    """Every event came out once, and each key's counts are 1, 2, 3 and so on, in order."""
    rows = [json.loads(value) for value in topics.values(topic)]
    assert Counter(row["number"] for row in rows) == Counter(range(total))
    counts: dict[int, list[int]] = {}
    for row in rows:
        counts.setdefault(row["key"], []).append(row["count"])
    for found in counts.values():
        assert found == list(range(1, len(found) + 1))


class Run:
    """One run of the job, in a process group of its own."""

    def __init__(self, *arguments: Any) -> None:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("job.py")), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "PYTHONPATH": path,
                "SCURRY_MASTER": "local[2]",
                "PYTHONFAULTHANDLER": "1",
            },
        )
        self.lines: list[str] = []
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._collect, args=(pipe, into))
            for pipe, into in (
                (self.process.stdout, self.lines),
                (self.process.stderr, self.errors),
            )
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _collect(pipe: Any, into: list[str]) -> None:
        with pipe:
            for line in pipe:
                into.append(line)

    @property
    def batches(self) -> int:
        return sum(line.startswith("batch") for line in self.lines)

    @property
    def finished(self) -> bool:
        return "finished\n" in self.lines

    def wait_for(self, condition: Any, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while not condition() and self.process.poll() is None:
            if time.monotonic() > deadline:
                self.process.send_signal(signal.SIGABRT)  # prints what every thread is doing
                self.process.wait(10)
                time.sleep(0.5)
                shown = self.lines[-5:] + self.errors[-80:]
                pytest.fail(f"nothing came of it in {seconds:.0f} s:\n{''.join(shown)}")
            time.sleep(0.01)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)

    def kill_a_worker(self) -> None:
        """Kill one of Spark's Python workers: forks of the daemon."""
        for process in psutil.Process(self.process.pid).children(recursive=True):
            # processes come and go meanwhile
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.name().startswith("python") and not process.children():
                    process.kill()
                    return

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()


@pytest.mark.timeout(240 + 30 * KILLS)
def test_killed_drivers_and_workers_lose_and_double_nothing(topics: Topics, tmp_path: Path) -> None:
    chance = random.Random(5)
    total = 600 * max(KILLS, 4)
    source, sink = topics.create(partitions=2), topics.create(partitions=1)
    for partition in range(2):
        topics.fill(source, events(partition * total // 2, total // 2), partition)
    kills = 0
    for _ in range(3 * KILLS + 5):
        job = Run(topics.servers, source, sink, tmp_path / "ck", 100, total // 2, total // 2)
        if kills < KILLS:
            wanted = chance.randint(1, 6)
            job.wait_for(lambda job=job, wanted=wanted: job.batches >= wanted)
            time.sleep(chance.random() * 0.5)
            if job.process.poll() is None:
                kills += 1
                if kills % 2 == 0:
                    job.kill_a_worker()
                    job.wait_for(lambda job=job: job.finished, 60)
                else:
                    job.kill()
        else:
            job.wait_for(lambda job=job: job.finished)
        job.end()
        if job.finished and job.process.returncode == 0:
            break
    assert kills == KILLS
    assert job.finished, "".join(job.errors[-40:])
    check_results(topics, sink, total)


def test_a_job_outlives_an_outage_of_the_broker(kafka_installed: None, tmp_path: Path) -> None:
    with private_broker() as broker:
        topics = Topics(broker.bootstrap_servers)
        source, sink = topics.create(), topics.create()
        topics.fill(source, events(0, 500))
        job = Run(topics.servers, source, sink, tmp_path / "ck", 100, 1000)
        try:
            job.wait_for(lambda: job.batches >= 2)
            broker.stop()
            time.sleep(OUTAGE)
            broker.start()
            topics.fill(source, events(500, 500))
            job.wait_for(lambda: job.finished)
        finally:
            job.end()
        said = "".join(job.errors)
        assert job.finished, f"exit code {job.process.returncode}; {said[-3000:]}"
        check_results(topics, sink, 1000)
        assert f"waiting for Kafka at {topics.servers}" in said
        assert f"Kafka at {topics.servers} is back after" in said
