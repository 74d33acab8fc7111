"""Which process this is, and whether another one of this machine still lives.

The number of a process is used again after its end. Together with the moment at which the process
began it is used once, as long as the machine runs. Numbers also mean something only within one
*namespace*: a container has numbers of its own. So a process is known by a text for machine, boot
and namespace, by its number, and by its beginning.
"""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
from pathlib import Path

_PROC = Path("/proc")


def this_machine() -> str:
    """A text that is the same in all processes whose numbers can be compared."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {os.readlink(_PROC / 'self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def beginning_of(pid: int) -> str:
    """When process ``pid`` of this machine began, in the machine's own measure; empty if there is
    no such process, or if it has ended and nobody has asked for its exit code yet."""
    if not _PROC.is_dir():
        return _asked(pid)
    try:
        status = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    # the name of the program stands in parentheses, and may hold spaces
    fields = status.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def _asked(pid: int) -> str:
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return "" if not found or found[0].startswith("Z") else " ".join(found[1:])


def user_name() -> str:
    """Who runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
