"""Processes that Spark asks for the state variables of a stage, forked by the nursery.

The other end of :mod:`scurry.engine.spark.hand_over`.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import NoReturn


def tell_state_variables(request: bytes) -> NoReturn:
    """Do in this process, just forked, what Spark had wanted another one for."""
    try:
        for number in (signal.SIGHUP, signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _, directory, *variables = request.split(b"\0")
        os.chdir(directory)
        os.environb.clear()
        for variable in variables:
            name, _, value = variable.partition(b"=")
            os.environb[name] = value
        from pyspark.sql.streaming import transform_with_state_driver_worker
        from pyspark.worker_util import get_sock_file_to_executor

        with get_sock_file_to_executor() as connection:
            transform_with_state_driver_worker.main(connection, connection)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
