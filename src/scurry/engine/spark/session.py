"""Getting a SparkSession: the one that is there, or a local one made for the purpose."""

from __future__ import annotations

import atexit
import logging
import os
import shlex
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from scurry.common.errors import ConfigurationError
from scurry.engine.spark.class_archive import java_options
from scurry.engine.spark.early_workers import start_workers

#: Lines that Spark's helper processes print and nobody needs.
_NOISE = (
    "TransformWithStateInPandas Python worker",
    "Using Spark's default log4j profile",
    "To adjust logging level use",
    "Setting default log level",
    "WARNING: Using incubator modules",
    "Setting Spark log level to",
    "WARN Utils: Your hostname",
    "WARN Utils: Set SPARK_LOCAL_IP",
    "WARN NativeCodeLoader",
)
_OWN_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.daemon.module": "scurry.engine.spark.daemon",
    "spark.sql.session.timeZone": "UTC",
    # on one machine a shuffle is a file that is read back at once
    "spark.shuffle.compress": "false",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "false",
    # over TCP a task with few records waits up to 40 ms for a delayed acknowledgement
    "spark.python.unix.domain.socket.enabled": "true" if os.name == "posix" else "false",
}
_QUERY_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.adaptive.enabled": "false",
    # a plan of few, large rows is over before code made for it is compiled
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
    "spark.sql.streaming.pollingDelay": "2ms",
    # with the default, workers of the ingress and of the stages would need a daemon each
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}


_LAUNCHER = """#!/bin/sh
kept=
IFS=:
for entry in $PYTHONPATH; do
  case "$entry" in
    */pyspark.zip|*/py4j-*-src.zip) ;;
    *) kept="${{kept:+$kept:}}$entry" ;;
  esac
done
unset IFS
PYTHONPATH="$kept" exec {python} "$@"
"""


def _quiet_py4j() -> None:
    """A program that logs at INFO means its own steps, not every connection to the JVM."""
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def obtain_session(settings: Mapping[str, str]) -> SparkSession:
    """The active session, or a new one for ``settings`` (keys beginning with ``spark.``)."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    wanted = {**_OWN_DEFAULTS, **settings}
    # Operators run in Python workers: a JVM that compiles quickly beats one that compiles well.
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseParallelGC", *java_options()]
    wanted.setdefault("spark.driver.extraJavaOptions", " ".join(options))
    wanted.setdefault("spark.master", f"local[{os.cpu_count() or 1}]")
    wanted.setdefault("spark.app.name", "scurry")
    if not wanted["spark.master"].startswith("local["):
        for name in ("spark.driver.host", "spark.driver.bindAddress"):
            if name not in settings:
                del wanted[name]
    _choose_python(local=wanted["spark.master"].startswith("local"))
    _quiet_py4j()
    builder = SparkSession.builder
    for key, value in wanted.items():
        builder = builder.config(key, value)
    try:
        with _FilteredErrors():
            session = builder.getOrCreate()
    except Exception as failure:
        raise ConfigurationError(
            f"Spark did not start with master {wanted['spark.master']!r}: {failure}. "
            "Run `scurry doctor` to see what is missing."
        ) from failure
    if wanted["spark.master"].startswith("local["):
        start_workers(query_session(session, 1))
    return session


def _choose_python(local: bool) -> None:
    """Have workers run this very interpreter.

    Spark puts a zip of PySpark's sources first on the workers' path, and every process that imports
    from it compiles them again, for most of a second. On this machine the installed package does.
    """
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if "PYSPARK_PYTHON" in os.environ:
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if local and os.name == "posix":
        launcher = Path(tempfile.mkdtemp(prefix="scurry-python-")) / "python"
        launcher.write_text(_LAUNCHER.format(python=shlex.quote(sys.executable)))
        launcher.chmod(0o700)
        atexit.register(shutil.rmtree, launcher.parent, ignore_errors=True)
        os.environ["PYSPARK_PYTHON"] = str(launcher)


def query_session(session: SparkSession, slots: int) -> SparkSession:
    """A session for one query: the user's context, settings of our own."""
    own = session.newSession()
    for key, value in _QUERY_SETTINGS.items():
        own.conf.set(key, value)
    own.conf.set("spark.sql.shuffle.partitions", str(slots))
    return own


class _FilteredErrors:
    """While active, a JVM that is started inherits a stderr from which noise is removed."""

    def __enter__(self) -> None:
        self._saved = os.dup(2)
        reading, writing = os.pipe()
        os.dup2(writing, 2)
        os.close(writing)
        forward = os.dup(self._saved)
        threading.Thread(target=_forward, args=(reading, forward), daemon=True).start()

    def __exit__(self, *exception: object) -> None:
        os.dup2(self._saved, 2)
        os.close(self._saved)


def _forward(reading: int, writing: int) -> None:
    blank = False
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            text = line.decode(errors="replace")
            if any(noise in text for noise in _NOISE):
                blank = True
                continue
            if blank and not text.strip():
                continue
            blank = False
            os.write(writing, line)
