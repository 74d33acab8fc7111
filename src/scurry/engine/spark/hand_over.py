"""A script with which a process is forked where Spark would start Python anew.

For each stage of a query that starts, Spark starts a Python process of its own, asks that process
for the state variables of the stage, and ends it. To start Python and import PySpark takes that
process a third of a second of a core; the nursery (:mod:`scurry.engine.spark.slot_process`) has
imported everything already. So the command that Spark takes for Python runs this script instead,
which sends the nursery its directory and its environment. If no nursery answers, the script becomes
the process that Spark has asked for.

It is started without ``site`` and imports as little as possible: all of it takes 20 ms.
"""

from __future__ import annotations

import _socket
import os
import sys

#: The module that Spark runs to ask for state variables.
STATE_VARIABLES = "pyspark.sql.streaming.transform_with_state_driver_worker"
#: With these bytes a request to the nursery begins.
REQUEST = b"state variables"
#: How long the nursery may take to answer, in seconds; Spark waits for 10.
_PATIENCE = 5.0


def hand_over(nursery: str) -> bool:
    """Whether a process that ``nursery`` has forked does the work of this one."""
    variables = [b"%b=%b" % item for item in os.environb.items()]
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_PATIENCE)
        connection.connect(nursery)
        connection.sendall(b"\0".join([REQUEST, os.fsencode(os.getcwd()), *variables]))
        connection.shutdown(_socket.SHUT_WR)
        return connection.recv(1) == b"1"
    except OSError:
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    _, nursery, *command = sys.argv
    if not hand_over(nursery):
        os.execv(command[0], command)
