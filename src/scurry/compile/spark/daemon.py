"""PySpark's worker daemon, with everything imported that its workers need.

Workers are forked from the daemon. What the daemon has imported they need not import again, which
takes about a second off the first micro-batch of every worker.
"""

from __future__ import annotations

import gc
import importlib

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
    "scurry.compile.spark.stage_host",
    "scurry.compile.spark.worker",
)


def _preload() -> None:
    for name in _NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue


if __name__ == "__main__":
    _preload()
    gc.freeze()
    from pyspark.daemon import manager

    manager()
