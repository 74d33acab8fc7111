"""What the nursery imports so that the processes that it forks need not.

What every process needs, the daemon has imported before it forked the nursery
(:mod:`scurry.engine.spark.daemon`). What else a process needs depends on the program: a program
that is imported by its name imports Scurry's whole API again. That takes a fifth of a second of a
core for each slot, and much longer on a machine with other work, just when a job that has lost a
process is to go on. So a process tells the nursery, some time after it has begun, which modules it
has had to import, and the nursery imports them while nobody asks for a process.

Modules of users' programs are not among them: they may have changed when the next process begins,
and they may start threads, which a process that forks must not have.
"""

from __future__ import annotations

import gc
import importlib
import socket
import sys
import threading
import time
from collections import deque
from contextlib import suppress

from scurry.engine.spark.hand_over import STATE_VARIABLES

#: With these bytes begins what a process tells the nursery.
IMPORTED = b"imported "
#: What tasks of micro-batches need. The daemon imports it before it forks, except in a session that
#: begins with a job in the live engine: there the nursery does so last.
OF_MICRO_BATCHES = (
    "google.protobuf.message",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.sql.pandas.serializers",
    STATE_VARIABLES,
    "scurry.engine.spark.attempt",
    "scurry.engine.spark.slot_task",
    "scurry.engine.spark.stage_host",
)
#: What the nursery imports first: the connectors and operators of SQL, in the order in which a job
#: comes to need them.
SOON_NEEDED = (
    "pyarrow.compute",
    "pyarrow.csv",
    "scurry.connectors.tables.file_rows",
    "scurry.connectors.tables.driver_rows",
    "scurry.connectors.row_formats.csv",
    "scurry.connectors.row_formats.json",
    "scurry.connectors.relation",
    "scurry.functions.aggregate_calls",
    "scurry.functions.not_null",
    *(
        f"scurry.runtime.relational.{name}"
        for name in (
            "calc",
            "watermarks",
            "group_aggregate",
            "join",
            "best_rows",
            "appended_top",
            "window_table",
            "window_aggregate",
            "window_join",
            "local_aggregate",
            "time_interval_join",
            "correlate",
            "rank",
            "over_aggregate",
        )
    ),
)
#: Packages whose modules can be imported ahead: they start no threads that a fork would harm, and
#: keep nothing of a program.
_PACKAGES = frozenset({"scurry", "numpy", "pyarrow", "pandas", "msgspec", "lmdb"})
#: When a process tells: when its functions are open, as a rule, and the start of the job is over.
_LATER_SECONDS = 2.0


class Imports:
    """The modules that the nursery still has to import."""

    def __init__(self) -> None:
        self._names = deque((*SOON_NEEDED, *OF_MICRO_BATCHES))
        self._is_frozen = False

    @property
    def due(self) -> bool:
        """Whether there is anything to do."""
        return bool(self._names) or not self._is_frozen

    def add(self, told: bytes) -> None:
        """Note the modules that a process has told of."""
        names = told.removeprefix(IMPORTED).decode().split()
        self._names.extend(name for name in names if name not in sys.modules)

    def go_on(self) -> None:
        """Import one module; behind the last one, have searches for garbage, here and in processes
        to come, leave out what there is."""
        if self._names:
            self._is_frozen = False
            with suppress(ImportError):
                importlib.import_module(self._names.popleft())
        elif not self._is_frozen:
            self._is_frozen = True
            gc.freeze()


def tell_imports_later(nursery: str) -> None:
    """Tell the nursery at the socket ``nursery``, once, what this process has imported by then and
    had not when it was forked, which was just now."""
    before = frozenset(sys.modules)

    def tell() -> None:
        time.sleep(_LATER_SECONDS)
        names = [name for name in list(sys.modules) if _is_new(name, before)]
        if names:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made, suppress(OSError):
                made.connect(nursery)
                made.sendall(IMPORTED + " ".join(names).encode())

    threading.Thread(target=tell, name="scurry-imports", daemon=True).start()


def _is_new(name: str, before: frozenset[str]) -> bool:
    return name not in before and name.partition(".")[0] in _PACKAGES
