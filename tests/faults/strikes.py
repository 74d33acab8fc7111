"""The ways to hurt a running job, by kind.

A strike is given the :class:`Target`: the driver's process tree and the directories. It returns
once the damage is done, and whether there was any. Kinds that end the driver are ``FATAL``; the
others leave the recovery to Spark's retries and to the job's restart strategy. Those of ``PAUSES``
leave the driver asleep, until it is woken while another one runs.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
from tests.faults.process import Driver
from tests.faults.sleepers import pause, refused

from scurry.common.fault_points import (
    DRIVER_POINTS,
    LEASE_POINTS,
    ROUND_POINTS,
    SINK_POINTS,
    TICKET_POINTS,
    WORKER_POINTS,
)
from scurry.common.options.execution import LIVE, MICRO_BATCH

PATIENCE_SECONDS = 60.0
#: how long a task of the live engine is paused
PAUSE_SECONDS = 30.0
#: how long a disk is slow, and how long a checkpoint then takes
SLOW_SECONDS, EACH_SECONDS = 10.0, 1.0


@dataclass
class Target:
    """A running job under fault."""

    driver: int
    root: Path
    rng: random.Random
    #: the number of the last micro-batch that ended
    batch: Callable[[], int]
    alive: Callable[[], bool]
    #: starts another driver on the same checkpoint
    start: Callable[[], Driver]

    def arm(self, point: str, how: str = "SIGKILL") -> None:
        """Have the next process that reaches ``point`` send itself a signal."""
        armed = self.root / "faults" / point
        draft = armed.with_suffix(".draft")
        draft.write_text(how)
        draft.rename(armed)

    def struck(self, point: str) -> int:
        """Wait until a process reached an armed point; its process id, 0 if none did in time."""
        mark = self.root / "faults" / f"{point}.struck"
        self.wait_until(mark.exists)
        if not mark.exists():
            (self.root / "faults" / point).unlink(missing_ok=True)
            return 0
        found = int(mark.read_text() or 0)
        mark.unlink()
        return found

    def wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)

    def processes(self, what: str) -> list[psutil.Process]:
        """Processes below the driver whose command line contains ``what``."""
        found = []
        for process in psutil.Process(self.driver).children(recursive=True):
            try:
                if what in " ".join(process.cmdline()):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def workers(self) -> list[psutil.Process]:
        """Python workers: children of a daemon that run the daemon's code."""
        daemons = self.processes("spark.daemon")
        pids = {process.pid for process in daemons}
        return [process for process in daemons if process.ppid() in pids]

    def stores(self, name: str) -> list[Path]:
        """Files called ``name`` of local stores."""
        return sorted((self.root / "local").glob(f"*/*/*/*/{name}"))


Strike = Callable[[Target], bool]


def kill_driver(target: Target) -> bool:
    """The driver and its JVM at once, or the driver alone, whose JVM then goes on for a moment."""
    time.sleep(target.rng.uniform(0, 0.5))
    if target.rng.random() < 0.5:
        os.killpg(target.driver, signal.SIGKILL)
    else:
        os.kill(target.driver, signal.SIGKILL)
    return True


def kill_worker(target: Target) -> bool:
    """A Python worker, at any moment."""
    time.sleep(target.rng.uniform(0, 0.5))
    return _kill_one(target, target.workers())


def kill_executor(target: Target) -> bool:
    """The JVM of an executor."""
    time.sleep(target.rng.uniform(0, 0.5))
    return _kill_one(target, target.processes("CoarseGrainedExecutorBackend"))


def kill_jvm(target: Target) -> bool:
    """The driver's JVM; the driver itself lives on."""
    time.sleep(target.rng.uniform(0, 0.5))
    return _kill_one(target, target.processes("SparkSubmit"))


def second_driver(target: Target) -> bool:
    """Another driver on the same checkpoint, which must be refused."""
    if not refused(target.start(), target.root):
        raise SystemExit("A second driver was not refused.")
    return True


def pause_driver(target: Target) -> bool:
    """The driver with its JVM and all workers, at any moment."""
    time.sleep(target.rng.uniform(0, 0.5))
    pause(target.driver)
    return True


def paused_at(point: str) -> Strike:
    """The driver alone when it reaches ``point``; its JVM and workers finish what they do."""

    def strike(target: Target) -> bool:
        target.arm(point, "SIGSTOP")
        return target.struck(point) > 0

    return strike


def _kill_one(target: Target, processes: list[psutil.Process]) -> bool:
    if not processes:
        return False
    try:
        target.rng.choice(processes).kill()
    except psutil.NoSuchProcess:
        return False
    return True


def at_point(point: str) -> Strike:
    """Whoever reaches ``point`` next."""

    def strike(target: Target) -> bool:
        target.arm(point)
        return target.struck(point) > 0

    return strike


def during_rebuild(target: Target) -> bool:
    """A worker that is restoring a local store which was lost."""
    target.arm("rebuild")
    delete_store(target)
    return target.struck("rebuild") > 0


def delete_store(target: Target) -> bool:
    """One local store's files."""
    return _damage(target, lambda file: file.unlink())


def truncate_store(target: Target) -> bool:
    """A local store cut short while it is mapped into memory."""
    return _damage(target, lambda file: os.truncate(file, target.rng.choice([0, 4096, 20_000])))


def corrupt_store(target: Target) -> bool:
    """Random bytes in random places of a local store."""

    def scribble(file: Path) -> None:
        with file.open("r+b") as data:
            for _ in range(20):
                data.seek(target.rng.randrange(0, 400_000))
                data.write(target.rng.randbytes(64))
                data.flush()
                time.sleep(0.001)

    return _damage(target, scribble)


def _damage(target: Target, how: Callable[[Path], None]) -> bool:
    time.sleep(target.rng.uniform(0, 0.5))
    files = target.stores("data.mdb")
    if not files:
        return False
    try:
        how(target.rng.choice(files))
    except FileNotFoundError:
        return False
    return True


def zombie(target: Target) -> bool:
    """An attempt is frozen before it writes the local store, its executor lost; when the work has
    been done again elsewhere the attempt comes back and writes."""
    target.arm("before-local-store", "SIGSTOP")
    pid = target.struck("before-local-store")
    if not pid:
        return False
    before = target.batch()
    try:
        frozen = psutil.Process(pid)
        executor = next(p for p in frozen.parents() if "java" in p.name())
        executor.kill()
        target.wait_until(lambda: target.batch() >= before + 2 or not target.alive())
        frozen.resume()
    except (psutil.NoSuchProcess, StopIteration):
        return False
    return True


def pause_task(target: Target) -> bool:
    """A task of the live engine stands still for a while, with all its connections open."""
    time.sleep(target.rng.uniform(0, 0.5))
    workers = target.workers()
    if not workers:
        return False
    paused = target.rng.choice(workers)
    paused.suspend()
    time.sleep(PAUSE_SECONDS)
    paused.resume()
    return True


def slow_disk(target: Target) -> bool:
    """For a while, every time a slot begins to write its state it takes long."""
    deadline, times = time.monotonic() + SLOW_SECONDS, 0
    while time.monotonic() < deadline and target.alive():
        target.arm("before-journal", "SIGSTOP")
        pid = target.struck("before-journal")
        if pid:
            time.sleep(EACH_SECONDS)
            os.kill(pid, signal.SIGCONT)
            times += 1
    return times > 0


FATAL: dict[str, Strike] = {
    "driver": kill_driver,
    **{f"driver {point}": at_point(point) for point in DRIVER_POINTS},
}
#: only where a job writes to Kafka, Postgres and files; these end the driver as well
SINKS: dict[str, Strike] = {f"driver {point}": at_point(point) for point in SINK_POINTS}
PAUSES: dict[str, Strike] = {
    "pause": pause_driver,
    **{f"pause {point}": paused_at(point) for point in (*DRIVER_POINTS, *LEASE_POINTS)},
}
#: the same where a job writes to Kafka, Postgres and files
SINK_PAUSES: dict[str, Strike] = {f"pause {point}": paused_at(point) for point in SINK_POINTS}
SURVIVED: dict[str, Strike] = {
    "second driver": second_driver,
    "jvm": kill_jvm,
    "worker": kill_worker,
    **{f"worker {point}": at_point(point) for point in WORKER_POINTS if point != "rebuild"},
    "worker rebuild": during_rebuild,
    "store deleted": delete_store,
    "store truncated": truncate_store,
    "store corrupted": corrupt_store,
}
#: only where a job writes to Kafka
SINK_SURVIVED: dict[str, Strike] = {f"worker {point}": at_point(point) for point in TICKET_POINTS}
#: only where there are executors of their own
CLUSTER: dict[str, Strike] = {"executor": kill_executor, "zombie attempt": zombie}


@dataclass(frozen=True)
class Arsenal:
    """The kinds of strikes that are for jobs of an engine."""

    fatal: dict[str, Strike]
    pauses: dict[str, Strike]
    survived: dict[str, Strike]
    cluster: dict[str, Strike]

    @property
    def all(self) -> dict[str, Strike]:
        """Every kind."""
        return {**self.fatal, **self.pauses, **self.survived, **self.cluster}


ARSENALS = {
    MICRO_BATCH: Arsenal(FATAL, PAUSES, SURVIVED, CLUSTER),
    LIVE: Arsenal(
        {"driver": kill_driver, **{f"driver {point}": at_point(point) for point in ROUND_POINTS}},
        {
            "pause": pause_driver,
            **{f"pause {point}": paused_at(point) for point in (*ROUND_POINTS, *LEASE_POINTS)},
        },
        {**SURVIVED, "task paused": pause_task, "slow disk": slow_disk},
        CLUSTER,
    ),
}
