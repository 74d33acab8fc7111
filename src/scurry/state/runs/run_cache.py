"""Runs of an object store, as files of this machine.

Runs are mapped into memory, so they have to be files. Those of a slot whose checkpoint is in an
object store lie in a directory of this machine, the *cache*, and are fetched when they are opened
and not there. New runs are written there first, and put into the store before a head names them;
runs that a merge replaces before that never get to the store.

All slots of all jobs of a user share the cache's bound. When there is more, the files go that were
opened longest ago. Whoever has mapped a file keeps it, also if the file is removed; so what is in
use has to have room on the disk, and the bound is for everything else.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from scurry.common.any_paths import ObjectPath, here, names_in, remove_files
from scurry.common.own_directories import own_directory, user_root

_CACHE = "runs"
_OTHERWISE = "Remove it, or set TMPDIR to a directory of your own."
#: Of the bound, so much is left after files were removed.
_LEFT = 0.8


class RunCache:
    """The files of the runs below ``origin`` on this machine."""

    def __init__(self, origin: ObjectPath) -> None:
        self.origin = origin
        own_directory(user_root(), _OTHERWISE)
        #: where they are
        self.path = here(origin) / _CACHE
        self.path.mkdir(parents=True, exist_ok=True)
        self._new: set[str] = set()

    def add(self, paths: Iterable[Path]) -> None:
        """Files were written that the store does not have."""
        self._new.update(path.name for path in paths)

    def store(self, names: Iterable[str]) -> None:
        """Put the new files of the runs and indexes ``names`` into the store."""
        wanted = set(names)
        for name in sorted(self._new):
            if name.partition(".")[0] in wanted:
                (self.origin / name).write_bytes((self.path / name).read_bytes())
                self._new.discard(name)

    def fetch(self, path: Path) -> None:
        """Have the file ``path`` here."""
        try:
            os.utime(path)
        except FileNotFoundError:
            content = (self.origin / path.name).read_bytes()
            self._make_room(len(content))
            # other processes may read the same file: it has to appear whole
            draft = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.draft")
            draft.write_bytes(content)
            draft.replace(path)

    def names(self) -> list[str]:
        """The names of all files in the store."""
        return names_in(self.origin)

    def delete(self, names: Iterable[str]) -> None:
        """Remove files, here and from the store."""
        gone = set(names)
        for name in gone:
            (self.path / name).unlink(missing_ok=True)
        known = gone - self._new
        self._new -= gone
        remove_files(self.origin / name for name in known)

    def _make_room(self, size: int) -> None:
        bound = self.origin.store.cache_bytes
        found: list[tuple[float, int, Path]] = []
        for path in (user_root() / "stores").glob(f"*/{_CACHE}/*"):
            try:
                known = path.stat()
            except FileNotFoundError:
                continue
            if path.parent != self.path or path.name not in self._new:
                found.append((known.st_mtime, known.st_size, path))
        total = size + sum(each[1] for each in found)
        if total <= bound:
            return
        for _, taken, path in sorted(found):
            if total <= bound * _LEFT:
                return
            path.unlink(missing_ok=True)
            total -= taken
