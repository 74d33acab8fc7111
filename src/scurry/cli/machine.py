"""What ``scurry doctor`` asks of the machine it runs on.

:class:`Machine` is the list of questions; :class:`ThisMachine` answers them for the machine at
hand. Answers are plain values and never exceptions, so that every check is a pure function of
them and can be tried against a machine that exists only in a test.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class JavaAnswer:
    """What came of running ``java -version``: the program that was run and what it printed.

    ``program`` is ``None`` when there was none to run; ``worked`` is whether it exited with 0.
    """

    program: str | None
    worked: bool = False
    printed: str = ""


@dataclass(frozen=True)
class Memory:
    """Main memory in bytes; ``available`` is ``None`` where the system does not tell."""

    total: int
    available: int | None = None


class Machine(Protocol):
    """The questions the checks ask."""

    def python_version(self) -> tuple[int, int, int]: ...

    def environment(self) -> Mapping[str, str]: ...

    def java(self) -> JavaAnswer:
        """Run the Java that Spark would start: JAVA_HOME's if that is set, else the PATH's."""
        ...

    def package_version(self, name: str) -> str | None:
        """The installed version of a package, or ``None``."""
        ...

    def bind_failure(self, address: str) -> str | None:
        """Why no port can be bound on an address, or ``None`` if one can."""
        ...

    def hostname(self) -> str: ...

    def address_of(self, hostname: str) -> str | None:
        """The address a host name resolves to, or ``None``."""
        ...

    def memory(self) -> Memory | None: ...

    def temp_directory(self) -> str: ...

    def free_disk(self, directory: str) -> int | None:
        """Free bytes of the disk that holds a directory, or ``None`` if it cannot be told."""
        ...

    def write_failure(self, directory: str) -> str | None:
        """Why no file can be written to a directory, or ``None`` if one can."""
        ...


class ThisMachine:
    """Answers for the machine, and the interpreter, that this code runs on."""

    def python_version(self) -> tuple[int, int, int]:
        return sys.version_info[:3]

    def environment(self) -> Mapping[str, str]:
        return os.environ

    def java(self) -> JavaAnswer:
        home = os.environ.get("JAVA_HOME")
        program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
        if program is None:
            return JavaAnswer(None)
        try:
            done = subprocess.run(
                [program, "-version"], capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return JavaAnswer(program, printed=str(error))
        return JavaAnswer(program, done.returncode == 0, (done.stderr + done.stdout).strip())

    def package_version(self, name: str) -> str | None:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    def bind_failure(self, address: str) -> str | None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as listener:
                listener.bind((address, 0))
        except OSError as error:
            return error.strerror or str(error)
        return None

    def hostname(self) -> str:
        return socket.gethostname()

    def address_of(self, hostname: str) -> str | None:
        try:
            return str(socket.getaddrinfo(hostname, None)[0][4][0])
        except OSError:
            return None

    def memory(self) -> Memory | None:
        if platform.system() == "Linux":
            return _linux_memory(Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max"))
        try:
            return Memory(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        except (ValueError, OSError, AttributeError):
            return None

    def temp_directory(self) -> str:
        return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()

    def free_disk(self, directory: str) -> int | None:
        try:
            return shutil.disk_usage(directory).free
        except OSError:
            return None

    def write_failure(self, directory: str) -> str | None:
        try:
            with tempfile.TemporaryFile(dir=directory) as file:
                file.write(b"scurry")
        except OSError as error:
            return error.strerror or str(error)
        return None


def _linux_memory(meminfo: Path, limit: Path) -> Memory | None:
    """Memory by the kernel's table, cut to the limit of the container if there is one."""
    try:
        rows = (line.split() for line in meminfo.read_text().splitlines())
        sizes = {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) >= 2}
        total = sizes["MemTotal"]
    except (OSError, KeyError, ValueError):
        return None
    available = sizes.get("MemAvailable")
    try:
        total = min(total, int(limit.read_text()))
    except (OSError, ValueError):
        return Memory(total, available)
    return Memory(total, None if available is None else min(available, total))
