"""Where the local stores of slots lie on a host, and which of them this worker has open.

A local store is a copy of a slot's state beside the worker: fast to read, and of no importance,
since it can be rebuilt from the checkpoint. The stores of all jobs of a user lie in one directory,
by checkpoint, so another worker on the same host finds what the last one has left::

    /tmp/scurry-1000/<checkpoint id>/1-0-lmdb/    slot 0 of stage 1

When a job has ended for good, the driver deletes the directory of its checkpoint, and that is how a
worker hears of it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from scurry.common.errors import StateError
from scurry.runtime.specs import JobSpec
from scurry.state.local.store import Store


def stores_of(configured: str, checkpoint_id: str) -> Path:
    """The directory of all local stores of one checkpoint on a host; ``configured`` is the place
    that the user has chosen for local state, if any."""
    root = Path(configured or tempfile.gettempdir(), f"scurry-{os.getuid()}")
    return root / checkpoint_id


def delete_stores(configured: str, checkpoint_id: str) -> None:
    """Delete the local stores of a checkpoint on this host."""
    shutil.rmtree(stores_of(configured, checkpoint_id), ignore_errors=True)


class LocalStores:
    """The local stores that this worker has open."""

    def __init__(self) -> None:
        self._open: dict[str, Store] = {}

    def get(self, job: JobSpec, checkpoint_id: str, stage: int, slot: int) -> Store:
        """The store of a slot, opened if need be."""
        stores = stores_of(job.local_root, checkpoint_id)
        path = stores / f"{stage}-{slot}-{job.state.backend}"
        store = self._open.get(str(path))
        if store is None:
            self._close_ended()
            own_directory(stores.parent)
            _drop_slots_beyond(stores, job.parallelism)
            # also for a store in memory: when the driver has deleted it, the job has ended
            path.mkdir(parents=True, exist_ok=True)
            store = self._open[str(path)] = job.state.local_store(path)
        return store

    def holds(self, store: Store) -> bool:
        """Whether ``store`` is still open."""
        return str(store.path) in self._open

    def _close_ended(self) -> None:
        """Let go of the stores whose files the driver has deleted."""
        for name in [name for name in self._open if not os.path.exists(name)]:
            self._open.pop(name).close()


def _drop_slots_beyond(stores: Path, parallelism: int) -> None:
    """Delete the stores of slots that the job had before it was rescaled."""
    for place in stores.glob("*-*-*"):
        slot = place.name.split("-")[1]
        if slot.isdigit() and int(slot) >= parallelism:
            shutil.rmtree(place, ignore_errors=True)


def own_directory(path: Path) -> None:
    """Make ``path`` a directory that only this user can write to, or refuse to use it: local state
    is unpickled, so nobody else may have put anything there."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise StateError(
            f"{path} belongs to somebody else, or others may write to it, so local state cannot "
            "be kept there. Remove it, or set scurry.state.local-dir to a directory of your own."
        )
