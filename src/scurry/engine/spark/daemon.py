"""PySpark's worker daemon, with everything imported that its workers need.

Workers are forked from the daemon. What the daemon has imported they need not import again, which
takes about a second off the first micro-batch of every worker.

Its workers do not run Scurry's tasks themselves, but hand them to the processes of their slots
(:mod:`scurry.engine.spark.slot_process`).
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

from scurry.common.own_directories import process_directory
from scurry.engine.spark.imports import OF_MICRO_BATCHES
from scurry.engine.spark.launcher import WITHOUT_PANDAS
from scurry.engine.spark.slot_process import RUN_PROPERTY, Processes, start_nursery
from scurry.engine.spark.spark_tasks import authenticate, execute_task, receive_task
from scurry.engine.spark.worker import run_slots_here

#: What PySpark's daemon has a worker do for each task: the exit code, 0 if it can do another.
Serve = Callable[[socket.socket, bool], int]

_NEEDED = (
    "numpy",
    "pyarrow",
    "pyarrow.ipc",
    "cloudpickle",
    "msgspec",
    "lmdb",
    "pyspark.worker",
    "scurry.engine.live.task",
    "scurry.runtime.keyed",
    "scurry.runtime.make_operator",
    "scurry.runtime.sinks",
)


#: Objects made between two searches for garbage. Records are short-lived tuples and lists by the
#: hundred thousand, among which Python would search after every 700, for nothing.
_GARBAGE_AFTER = 50_000
#: How much longer a worker works than it searches all of its objects for garbage.
_PATIENCE = 100


def _preload() -> None:
    # Arrow imports pandas for its first array, which takes half as long as all the rest
    more = () if WITHOUT_PANDAS in os.environ else (*OF_MICRO_BATCHES, "pandas")
    for name in (*_NEEDED, *more):
        try:
            importlib.import_module(name)
        except ImportError:
            continue


class PatientGarbage:
    """What PySpark's daemon takes for the module ``gc``.

    It has a worker look for garbage after every task, among all objects: with the state of many
    keys in memory that takes longer than a small task itself, and the next task has to wait. Here
    it looks only if the last time is so long ago that looking takes a hundredth of the time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = 0.0

    def collect(self) -> int:
        """Look for garbage, if it is time to; how much was found."""
        began = self._clock()
        if began < self._due:
            return 0
        found = gc.collect()
        ended = self._clock()
        self._due = ended + _PATIENCE * (ended - began)
        return found


def _ending_quietly(serve: Serve) -> Serve:
    """A function of a worker, silent when Spark has hung up on it.

    Spark closes the connection of a worker whose task has ended early (it failed, or the query was
    stopped). What the worker still wanted to say then reaches nobody, and is no news to the user:
    without this a traceback of ``BrokenPipeError`` stands beside the error that matters.
    """

    def serve_worker(connection: socket.socket, authenticated: bool) -> int:
        try:
            return serve(connection, authenticated)
        except (BrokenPipeError, ConnectionResetError):
            return 1

    return serve_worker


def _handing_over(processes: Processes) -> Serve:
    """What a worker does for each task, in place of PySpark's function."""

    def serve_worker(connection: socket.socket, authenticated: bool) -> int:
        for number in (signal.SIGHUP, signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if not authenticated and not authenticate(connection):
            return 1
        task = receive_task(connection)
        if task is None:
            return 1
        run_id = task.properties.get(RUN_PROPERTY)
        if run_id:
            return processes.run(task, run_id)
        return execute_task(connection, task.message)

    return serve_worker


def _main() -> None:
    _preload()
    gc.freeze()
    gc.set_threshold(_GARBAGE_AFTER)
    from pyspark import daemon

    garbage = PatientGarbage()
    vars(daemon)["gc"] = garbage
    serve: Serve = daemon.worker
    if sys.argv[1:] in ([], ["pyspark.worker"]):
        # with the daemon and its workers, so that the signal that ends those ends it, too
        os.setpgid(0, 0)
        directory = process_directory("sockets")
        os.environ["PYTHON_WORKER_FACTORY_SOCK_DIR"] = str(directory)
        processes = start_nursery(str(directory), run_slots_here(), garbage.collect)
        serve = _handing_over(processes)
    vars(daemon)["worker"] = _ending_quietly(serve)
    daemon.manager()


if __name__ == "__main__":
    _main()
