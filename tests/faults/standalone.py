"""A standalone cluster of Spark on this machine: a master and two workers, which have no directory
in common."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
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
def standalone_cluster(root: Path) -> Iterator[str]:
    """The address of the master; the workers have their files in ``root/0`` and ``root/1``."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    address = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    with ExitStack() as stack:
        stack.enter_context(_daemon(root / "master", "master.Master", *address))
        for number in ("0", "1"):
            place = root / number
            own = ["--cores", "1", "--memory", "600m", "--work-dir", str(place / "work")]
            own += ["--host", "127.0.0.1", "--webui-port", "0"]
            stack.enter_context(_daemon(place, "worker.Worker", *own, master))
        deadline = time.monotonic() + _START_SECONDS
        log = root / "master" / "log"
        while log.read_text().count("Registering worker") < 2:
            if time.monotonic() > deadline:
                raise AssertionError(f"the workers do not come: {log.read_text()[-2000:]}")
            time.sleep(0.05)
        yield master


@contextmanager
def _daemon(place: Path, name: str, *arguments: str) -> Iterator[None]:
    settings = environment(place)
    spark = Path(pyspark.__file__).parent
    command = [str(spark / "bin" / "spark-class"), f"{_DEPLOY}.{name}", *arguments]
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=place, env=settings, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()
