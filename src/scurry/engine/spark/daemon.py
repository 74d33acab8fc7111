"""PySpark's worker daemon, with everything imported that its workers need.

Workers are forked from the daemon. What the daemon has imported they need not import again, which
takes about a second off the first micro-batch of every worker.
"""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Callable
from typing import Any

_NEEDED = (
    "numpy",
    "pyarrow",
    "pyarrow.ipc",
    "cloudpickle",
    "msgspec",
    "lmdb",
    "google.protobuf.message",
    "pyspark.worker",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.sql.pandas.serializers",
    "scurry.engine.spark.slot_task",
)


#: Objects made between two searches for garbage. Records are short-lived tuples and lists by the
#: hundred thousand, among which Python would search after every 700, for nothing.
_GARBAGE_AFTER = 50_000
#: How much longer a worker works than it searches all of its objects for garbage.
_PATIENCE = 100


def _preload() -> None:
    for name in _NEEDED:
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


def _ending_quietly(serve: Any) -> Any:
    """PySpark's function of a worker, silent when Spark has hung up on it.

    Spark closes the connection of a worker whose task has ended early (it failed, or the query was
    stopped). What the worker still wanted to say then reaches nobody, and is no news to the user:
    without this a traceback of ``BrokenPipeError`` stands beside the error that matters.
    """

    def serve_worker(*arguments: Any) -> int:
        try:
            return int(serve(*arguments))
        except (BrokenPipeError, ConnectionResetError):
            return 1

    return serve_worker


if __name__ == "__main__":
    _preload()
    gc.freeze()
    gc.set_threshold(_GARBAGE_AFTER)
    from pyspark import daemon

    daemon.worker = _ending_quietly(daemon.worker)
    vars(daemon)["gc"] = PatientGarbage()
    daemon.manager()
