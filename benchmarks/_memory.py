"""Peak memory of a whole process tree, told apart by role.

Resident sizes are added up, so pages that forked workers share are counted once for each of them:
a cautious figure for engines that fork. Samples are taken a few times a second; a shorter peak can
be missed.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from types import TracebackType

import psutil

JVM, WORKERS, MAIN, TOTAL = "jvm", "workers", "main", "total"
#: Workers without what they share with others or map from files, which the system may take back.
OWN = "own"
_INTERVAL_SECONDS = 0.25
_GRACE_SECONDS = 5.0


class MemoryWatch:
    """While entered, samples the tree under process ``pid``."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._seen: dict[int, psutil.Process] = {pid: self._root}
        self._peaks: dict[str, int] = defaultdict(int)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory-watch", daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def peak_mb(self, role: str = TOTAL) -> int:
        """The highest sum seen for ``role``, in MiB."""
        return round(self._peaks[role] / 2**20)

    def end_tree(self) -> None:
        """End every process of the tree that is still there: a JVM may outlive its client."""
        alive = [process for process in list(self._seen.values()) if process.is_running()]
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        for process in psutil.wait_procs(alive, timeout=_GRACE_SECONDS)[1]:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _watch(self) -> None:
        self._sample()
        while not self._stop.wait(_INTERVAL_SECONDS):
            self._sample()

    def _sample(self) -> None:
        sizes: dict[str, int] = defaultdict(int)
        with contextlib.suppress(psutil.Error):
            for process in [self._root, *self._root.children(recursive=True)]:
                self._seen[process.pid] = process
                with contextlib.suppress(psutil.Error):
                    part = role(process.name(), process.pid == self._root.pid)
                    if part is not None:
                        memory = process.memory_info()
                        size = memory.rss
                        sizes[part] += size
                        if part == WORKERS:
                            sizes[OWN] += size - getattr(memory, "shared", 0)
                        sizes[TOTAL] += size
        for name, size in sizes.items():
            self._peaks[name] = max(self._peaks[name], size)


def role(name: str, is_root: bool) -> str | None:
    """What a process of that name is in its tree.

    None for passing helpers. A JVM that starts a command is, for a moment, there a second time with
    all of its memory, under the name of a thread: that must not be counted.
    """
    if name.startswith("java"):
        return JVM
    if name.startswith(("python", "Python")):
        return MAIN if is_root else WORKERS
    return None
