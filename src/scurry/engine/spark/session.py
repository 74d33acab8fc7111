"""Getting a SparkSession: the one that is there, or a local one made for the purpose."""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import shutil
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from scurry.common.errors import ConfigurationError, JobError, cause_to_show
from scurry.common.own_directories import fit_for_sockets, process_directory
from scurry.engine.spark.class_archive import java_options
from scurry.engine.spark.early_workers import start_live_workers, start_workers
from scurry.engine.spark.failures import first_line
from scurry.engine.spark.launcher import write_launcher
from scurry.engine.spark.local_files import quicken_local_files

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
#: Where the sockets are on which the JVM and Python workers talk to each other.
_SOCKETS = "spark.python.unix.domain.socket.dir"
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


def _quiet_py4j() -> None:
    """A program that logs at INFO means its own steps, not every connection to the JVM."""
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


#: The way to the JVM that was started here, for telling it from one that the user has started.
_own: Any = None
#: the gateway of the session whose JVM writes local files itself
_quickened: Any = None
#: The settings with which that session was made; one that takes its place has them, too.
_own_settings: dict[str, str] = {}


def jvm_has_died(session: SparkSession) -> bool:
    """Whether nobody answers for ``session`` any more."""
    jvm: Any = session.sparkContext._jvm
    try:
        jvm.java.lang.System.nanoTime()
    except (Py4JError, OSError, AttributeError):
        return True
    return False


def renewed_session(settings: Mapping[str, str], live: bool = False) -> SparkSession:
    """A session in place of one whose JVM has died; raises :class:`JobError` if the program had
    made that session by itself."""
    if SparkContext._gateway is None or SparkContext._gateway is not _own:
        raise JobError(
            "The JVM of the Spark session has died. The program had made the session by itself, "
            "and only the program knows how to make it again: end the program and start it again, "
            "and the job goes on from its checkpoint. A session that Scurry makes, it also makes "
            "again."
        )
    # PySpark takes the session for alive until it is told otherwise, and to stop it needs its JVM
    SparkSession._instantiatedSession = None
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    return obtain_session({**_own_settings, **settings}, live)


def obtain_session(settings: Mapping[str, str], live: bool = False) -> SparkSession:
    """The active session, or a new one for ``settings`` (keys beginning with ``spark.``). If it is
    for a job of the ``live`` engine, what other jobs need of Spark is not loaded yet."""
    global _own, _own_settings
    active = SparkSession.getActiveSession()
    if active is not None:
        if not live and SparkContext._gateway is _own:
            _quicken(active)
        return active
    wanted = {**_OWN_DEFAULTS, **settings}
    _check_sockets(settings.get(_SOCKETS, ""))
    # Operators run in Python workers: a JVM that compiles quickly beats one that compiles well.
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseParallelGC", *java_options()]
    wanted.setdefault("spark.driver.extraJavaOptions", " ".join(options))
    wanted.setdefault("spark.master", f"local[{os.cpu_count() or 1}]")
    wanted.setdefault("spark.app.name", "scurry")
    local = wanted["spark.master"].startswith("local[")
    if local:
        wanted.setdefault(_SOCKETS, _made_for_now("sockets"))
    else:
        for name in ("spark.driver.host", "spark.driver.bindAddress"):
            if name not in settings:
                del wanted[name]
    _choose_python(local=wanted["spark.master"].startswith("local"), live=live)
    _quiet_py4j()
    builder = SparkSession.builder
    for key, value in wanted.items():
        builder = builder.config(key, value)
    try:
        fresh = SparkContext._gateway is None
        if fresh:
            _import_pandas_beside()
        with _FilteredErrors():
            if live and local:
                # workers appear while the session is made
                start_live_workers(SparkContext.getOrCreate(SparkConf().setAll([*wanted.items()])))
            session = builder.getOrCreate()
        if fresh:
            _own, _own_settings = SparkContext._gateway, dict(settings)
            if not live:
                _quicken(session)
    except Exception as failure:
        raise ConfigurationError(
            f"Spark did not start with master {wanted['spark.master']!r}: "
            f"{first_line(str(failure))} "
            "Check that the master runs and can be reached from here, and run `scurry doctor` to "
            "see what this machine lacks; SCURRY_FULL_TRACEBACK=1 in the environment shows Spark's "
            "own error."
        ) from cause_to_show(failure)
    if local and not live:
        start_workers(query_session(session, 1))
    return session


def _import_pandas_beside() -> None:
    """Import pandas beside what this thread goes on to do. PySpark does so for the first object
    that it hands to the JVM, and until then waits for the JVM to start. Nothing of PySpark is
    imported here: modules that import each other must not be imported by two threads."""

    def run() -> None:
        with suppress(ImportError):
            importlib.import_module("pandas")

    threading.Thread(target=run, name="scurry-imports", daemon=True).start()


def _quicken(session: SparkSession) -> None:
    """Have the JVM of a session of our own write local files itself, if it does not yet."""
    global _quickened
    if _quickened is not SparkContext._gateway and os.name == "posix":
        _quickened = SparkContext._gateway
        quicken_local_files(session)


def _check_sockets(directory: str) -> None:
    if not fit_for_sockets(directory):
        raise ConfigurationError(
            f"{_SOCKETS} is {directory!r}, which has capital letters. PySpark looks for the "
            "sockets of state under the same path in small letters, and would not find them: name "
            "a directory whose whole path is in small letters."
        )


def _choose_python(local: bool, live: bool) -> None:
    """Have workers run this very interpreter."""
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if "PYSPARK_PYTHON" in os.environ:
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if local and os.name == "posix":
        os.environ["PYSPARK_PYTHON"] = write_launcher(_made_for_now("python"), not live)


def _made_for_now(kind: str) -> str:
    """A directory of this user, for as long as this process lives."""
    made = process_directory(kind)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return str(made)


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
