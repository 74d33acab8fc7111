"""Directories that belong to one user, and what processes that have died leave in them.

Checkpoints and local state hold pickles, which run code when they are read, and whoever can connect
to a worker's socket can have it do anything. So such things lie where nobody but the owner can put
anything. Short-lived ones have a directory for each process, below one for the user::

    /tmp/scurry-1000/sockets/9f31c2-4711-k2j9x1/    of process 4711 on the host of that hash

It is removed when the process ends. If the process was killed, whoever makes the next one on the
same host does it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path

from scurry.common.errors import StateError

#: Bytes of the longest path a Unix socket can have on all systems, less room for what follows.
_LONGEST = 36


def user_root(configured: str = "") -> Path:
    """The directory of this user on this machine, below ``configured`` or that for temporary
    files."""
    return Path(configured or tempfile.gettempdir(), f"scurry-{os.getuid()}")


def own_directory(path: Path, otherwise: str) -> None:
    """Make ``path`` a directory that only this user can enter. One that exists is refused if it
    belongs to somebody else or others may write to it; ``otherwise`` says what to do then."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_own(path, otherwise)


def check_own(path: Path, otherwise: str) -> None:
    """Raise :class:`StateError` if anybody else can put things into the directory ``path``."""
    check_owner(path, otherwise)
    mode = stat.S_IMODE(path.lstat().st_mode)
    if mode & 0o022:
        raise _not_own(path, f"can be written to by others (mode {mode:o})", otherwise)


def check_owner(path: Path, otherwise: str) -> None:
    """Raise :class:`StateError` if ``path`` is not a directory of this user."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise _not_own(path, "is not a directory", otherwise)
    if found.st_uid != os.getuid():
        why = f"belongs to user {found.st_uid}, and you are user {os.getuid()}"
        raise _not_own(path, why, otherwise)


def _not_own(path: Path, why: str, otherwise: str) -> StateError:
    return StateError(
        f"{path} {why}. What lies there is unpickled, so whoever can write to it can run code as "
        f"you. {otherwise}"
    )


def process_directory(kind: str) -> Path:
    """A new directory of this process for things of that kind, with a path that is fit for
    sockets. Those that processes have left which are gone are removed."""
    root = user_root()
    if len(os.fsencode(root / kind)) > _LONGEST or not fit_for_sockets(str(root)):
        root = user_root("/tmp")
    otherwise = "Remove it, or set TMPDIR to a directory of your own."
    own_directory(root, otherwise)
    own_directory(root / kind, otherwise)
    # a container may share the directory, and has other numbers of processes
    host = hashlib.blake2b(socket.gethostname().encode(), digest_size=3).hexdigest()
    for left in (root / kind).glob(f"{host}-*"):
        pid = left.name.split("-")[1]
        if pid.isdigit() and not is_alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{host}-{os.getpid()}-", dir=root / kind))


def fit_for_sockets(directory: str) -> bool:
    """Whether Spark's workers find sockets in ``directory``: PySpark puts the path of the
    socket on which it offers state into small letters before it connects to it."""
    return directory == directory.lower()


def is_alive(pid: int) -> bool:
    """Whether there is a process of that number on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
