"""Places where a process can be made to die, for testing that nothing is lost when it does.

The engine names the moments at which dying is interesting: between two commits, in the middle of a
compaction. Each is a call of :func:`fault_point`, which does nothing unless the environment
variable ``SCURRY_FAULTS`` names a directory. In that directory a file called after the point *arms*
it: the first process that gets there takes the file away and sends itself the signal written in
it (``SIGKILL``, or ``SIGSTOP`` for an attempt that shall come back late). A file
``<point>.struck`` with the process id is left behind.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

VARIABLE = "SCURRY_FAULTS"
_directory = os.environ.get(VARIABLE, "")

#: in a worker: reading; halfway through the operators; just before, within and just after the
#: commit of state; while the log is compacted; while the local store is rebuilt
WORKER_POINTS = (
    "read",
    "process",
    "before-journal",
    "before-local-store",
    "after-journal",
    "compaction",
    "rebuild",
)
#: on the driver: plan written; state committed; first of several sinks committed; all sinks
#: committed; epoch written and only Spark's own commit missing
DRIVER_POINTS = ("planned", "before-sinks", "between-sinks", "after-sinks", "after-epoch")

#: on the driver of the live engine, whose sinks commit after the epoch: what sinks have prepared is
#: durable, and the epoch is not; the rest as above
ROUND_POINTS = ("before-epoch", "after-epoch", "between-sinks", "after-sinks")

#: on the driver: it has made sure that the lease is still its own, and now does what that allows
LEASE_POINTS = ("lease-checked",)

#: on the driver: what sinks are going to commit is durable; within a sink's commit, the first of
#: several transactions of Kafka is committed; the same in a database, records and mark sent, the
#: transaction still open; what a file sink will publish is written down and nothing of it published
SINK_POINTS = (
    "promised",
    "kafka-between-transactions",
    "postgres-transaction",
    "file-manifest",
)

#: in a worker that writes to Kafka: all records of its transaction are acknowledged; the driver is
#: about to be told
TICKET_POINTS = ("kafka-written", "kafka-prepared")

#: on the driver, where it writes Kafka's transactions itself: records and mark sent, the
#: transaction still open
ONE_WRITER_POINTS = ("kafka-transaction",)

#: on the driver, when a job starts with another parallelism: state dealt out; switched over
RESCALE_POINTS = ("rescaling", "rescaled")

#: on the driver, when a savepoint is taken: its files are there under names of their own, and it is
#: not whole; when a job starts from one: its files are in the checkpoint, whose manifest is missing
SAVEPOINT_POINTS = ("savepoint-frozen", "savepoint-restoring")


def fault_point(name: str) -> None:
    """The place ``name`` is reached."""
    if _directory:
        _strike(name)


def _strike(name: str) -> None:
    armed = os.path.join(_directory, name)
    taken = f"{armed}.{os.getpid()}"
    try:
        os.rename(armed, taken)
    except FileNotFoundError:
        return
    with open(taken) as file:
        chosen = signal.Signals[file.read().strip() or "SIGKILL"]
    with open(taken, "w") as file:
        file.write(str(os.getpid()))
    if chosen is signal.SIGSTOP:
        # in a session of its own it is not woken when the process that started it dies; a driver
        # may have one already
        with suppress(PermissionError):
            os.setsid()
    os.rename(taken, f"{armed}.struck")
    os.kill(os.getpid(), chosen)
