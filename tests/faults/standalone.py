"""A standalone cluster of Spark on this machine: a master and two workers, which have no directory
in common, and of which each may be on a machine of its own (:mod:`tests.faults.machines`)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from tests.faults.machines import Machines
from tests.faults.process import REPOSITORY

from scurry.testing.servers import free_port

_DEPLOY = "org.apache.spark.deploy"
_START_SECONDS = 120.0


def environment(place: Path) -> dict[str, str]:
    """That of a process which has ``place`` for its files."""
    for name in ("tmp", "home"):
        (place / name).mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "TMPDIR": str(place / "tmp"),
        "HOME": str(place / "home"),
        "SPARK_LOCAL_DIRS": str(place / "tmp"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)]),
    }


@contextmanager
def standalone_cluster(root: Path, machines: Machines | None = None) -> Iterator[str]:
    """The address of the master; the workers have their files in ``root/0`` and ``root/1``."""
    port = free_port()
    host = "127.0.0.1" if machines is None else machines.host
    master = f"spark://{host}:{port}"
    address = ["--host", host, "--port", str(port), "--webui-port", "0"]
    with ExitStack() as stack:
        stack.enter_context(_daemon(root / "master", [], host, "master.Master", *address))
        for number in range(2):
            place = root / str(number)
            own = ["--cores", "1", "--memory", "600m", "--work-dir", str(place / "work")]
            at = host if machines is None else machines.hosts[number]
            on = [] if machines is None else machines.on(number)
            own += ["--host", at, "--webui-port", "0"]
            stack.enter_context(_daemon(place, on, at, "worker.Worker", *own, master))
        deadline = time.monotonic() + _START_SECONDS
        log = root / "master" / "log"
        while log.read_text().count("Registering worker") < 2:
            if time.monotonic() > deadline:
                raise AssertionError(f"the workers do not come: {log.read_text()[-2000:]}")
            time.sleep(0.05)
        yield master


@contextmanager
def _daemon(place: Path, on: list[str], host: str, name: str, *arguments: str) -> Iterator[None]:
    settings = {**environment(place), "SPARK_LOCAL_IP": host}
    spark = Path(pyspark.__file__).parent
    command = [*on, str(spark / "bin" / "spark-class"), f"{_DEPLOY}.{name}", *arguments]
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=place, env=settings, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()
