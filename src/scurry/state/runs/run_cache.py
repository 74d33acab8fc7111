"""Runs of an object store, as files of this machine.

Runs are mapped into memory, so they have to be files. Those of a slot whose checkpoint is in an
object store lie in a directory of this machine, the *cache*, and are fetched when they are opened
and not there. New runs are written there first, and put into the store before a head names them;
runs that a merge replaces before that never get to the store. In the store, all files of a run are
one object: requests are what costs.

All slots of all jobs of a user share the cache's bound. When there is more, the files go that were
opened longest ago. Whoever has mapped a file keeps it, also if the file is removed; so what is in
use has to have room on the disk, and the bound is for everything else.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from scurry.common.any_paths import ObjectPath, here, remove_files
from scurry.common.own_directories import own_directory, user_root
from scurry.state.runs.packs import owner_of, packed, unpacked

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
        #: names of files that the store does not have
        self._new: set[str] = set()
        #: runs and indexes that nobody needs any more, and the store still has
        self._gone: set[str] = set()

    def add(self, paths: Iterable[Path]) -> None:
        """Files were written that the store does not have."""
        self._new.update(path.name for path in paths)

    def store(self, names: Iterable[str]) -> None:
        """Put the new runs and indexes among ``names`` into the store, each as one object, and
        delete those that were given up, by one request."""
        for name in sorted(set(names) & {owner_of(file) for file in self._new}):
            files = [file for file in self._new if owner_of(file) == name]
            (self.origin / name).write_bytes(packed(self.path / file for file in files))
            self._new.difference_update(files)
        remove_files(self.origin / name for name in self._gone)
        self._gone.clear()

    def fetch(self, path: Path) -> None:
        """Have the file ``path`` here, and with it all files of the same run or index."""
        try:
            os.utime(path)
        except FileNotFoundError:
            content = (self.origin / owner_of(path.name)).read_bytes()
            self._make_room(len(content))
            for name, part in unpacked(content):
                # other processes may read the same file: it has to appear whole
                draft = self.path / f"{name}.{uuid.uuid4().hex[:8]}.draft"
                draft.write_bytes(part)
                draft.replace(self.path / name)

    def delete(self, name: str, files: Iterable[str]) -> None:
        """Remove a run or index, of which there may be these files: those at once, and its object
        with the next ones that are stored. Objects that a crash keeps from being deleted are
        found by whoever opens the table next."""
        known = set(files)
        for file in known:
            (self.path / file).unlink(missing_ok=True)
        if not known & self._new:
            self._gone.add(name)
        self._new -= known

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
