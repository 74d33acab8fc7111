"""The command that Spark takes for Python on this machine.

Spark puts a zip of PySpark's sources first on the path of the Python processes that it starts, and
each of them compiles those sources again, for most of a second; the largest of Spark's jars is on
that path, too, and Python reads the list of its classes in every new process. The command takes
both off the path, so that the installed package is used. And it has processes forked that would
only be asked one question (:mod:`scurry.engine.spark.hand_over`).
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from scurry.engine.spark import hand_over

#: In the environment of the daemon: that it is not to import pandas.
WITHOUT_PANDAS = "SCURRY_WITHOUT_PANDAS"
#: In the environment of the daemon: where the command looks for the nursery.
_NURSERY = "SCURRY_NURSERY"
_COMMAND = """#!/bin/sh
kept=
IFS=:
for entry in $PYTHONPATH; do
  case "$entry" in
    */pyspark.zip|*/py4j-*-src.zip|*/spark-core_*.jar) ;;
    *) kept="${{kept:+$kept:}}$entry" ;;
  esac
done
unset IFS
export PYTHONPATH="$kept" {variable}={nursery} {preload}
if [ "$2" = {module} ] && [ -S {nursery} ]; then
  exec {python} -I -S {script} {nursery} {python} "$@"
fi
exec {python} "$@"
"""


def write_launcher(directory: str, pandas: bool = True) -> str:
    """Write the command into ``directory``, and give its path. Without ``pandas`` the daemon does
    not import it for all workers: those of the live engine seldom need it."""
    launcher = Path(directory) / "python"
    launcher.write_text(
        _COMMAND.format(
            python=shlex.quote(sys.executable),
            script=shlex.quote(hand_over.__file__),
            module=shlex.quote(hand_over.STATE_VARIABLES),
            nursery=shlex.quote(str(Path(directory) / "nursery")),
            variable=_NURSERY,
            preload="" if pandas else f"{WITHOUT_PANDAS}=1",
        )
    )
    launcher.chmod(0o700)
    return str(launcher)


def show_nursery(socket: str) -> None:
    """Have the command that started this process find the nursery with that socket."""
    shown = os.environ.get(_NURSERY)
    if shown is None:
        return
    # the directory of the command goes with the driver
    with suppress(OSError):
        link = f"{shown}.{os.getpid()}"
        os.symlink(socket, link)
        os.replace(link, shown)
