"""PySpark's worker daemon, with everything imported that its workers need.

Workers are forked from the daemon. What the daemon has imported they need not import again, which
takes about a second off the first micro-batch of every worker.
"""

from __future__ import annotations

import gc
import importlib
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
    "scurry.compile.spark.slot_task",
)


#: Objects made between two searches for garbage. Records are short-lived tuples and lists by the
#: hundred thousand, among which Python would search after every 700, for nothing.
_GARBAGE_AFTER = 50_000


def _preload() -> None:
    for name in _NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue


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
    daemon.manager()
