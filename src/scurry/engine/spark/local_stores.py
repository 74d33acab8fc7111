"""Where the local stores of slots lie on a host, and which of them this worker has open.

A local store is a copy of a slot's state beside the worker: fast to read, and of no importance,
since it can be rebuilt from the checkpoint. The stores of all jobs of a user lie in one directory,
by checkpoint, so another worker on the same host finds what the last one has left::

    /tmp/scurry-1000/<checkpoint id>-7/1-0-lmdb/    slot 0 of stage 1

(A checkpoint that began with a savepoint has the id of the one that the savepoint was taken of, so
its stores are called by an id of their own.)

The number is the epoch of a lease. Drivers that follow each other in good order share the stores. A
driver that takes over from one which may only be paused gets new ones, because a worker that is
paused while it writes to a store would keep others from writing to it.

When a job has come to the end of its input, each worker deletes its stores. Those of a job that was
stopped or killed stay, for its next start, as long as there is a checkpoint to start from: beside
them lies the path of the checkpoint, and whoever opens a store on the same host deletes those whose
checkpoint is gone. If the driver deletes the directory of a checkpoint's stores, that is how a
worker hears of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
import uuid
from pathlib import Path
from typing import IO

from scurry.common.any_paths import AnyPath, is_url
from scurry.common.own_directories import own_directory, user_root
from scurry.runtime.specs import JobSpec
from scurry.state.local.store import Store

#: The file that names the checkpoint of stores.
_CHECKPOINT = "checkpoint"
#: How often it is looked whether another process has let go of a store.
_LOOK_SECONDS = 0.02
_OTHERWISE = "Remove it, or set scurry.state.local-dir to a directory of your own."


def stores_of(configured: str, name: str) -> Path:
    """The directory of all local stores called ``name`` on a host; ``configured`` is the place
    that the user has chosen for local state, if any."""
    return user_root(configured) / name


def stores_name(checkpoint_id: str, epoch: int) -> str:
    """What the directory of the stores of a checkpoint is called that drivers share since the
    lease ``epoch``."""
    return f"{checkpoint_id}-{epoch}"


def delete_stores(configured: str, name: str) -> None:
    """Delete local stores of a checkpoint on this host."""
    shutil.rmtree(stores_of(configured, name), ignore_errors=True)


class LocalStores:
    """The local stores that this worker has open."""

    def __init__(self) -> None:
        self._open: dict[str, Store] = {}
        self._locks: list[IO[bytes]] = []

    def get(self, job: JobSpec, name: str, stage: int, slot: int, checkpoint: AnyPath) -> Store:
        """The store of a slot, opened if need be; ``name`` is that of the directory of stores,
        ``checkpoint`` the directory of the checkpoint."""
        stores = stores_of(job.local_root, name)
        path = stores / f"{stage}-{slot}-{job.state.backend}"
        store = self._open.get(str(path))
        if store is None:
            self._close_ended()
            own_directory(stores.parent, _OTHERWISE)
            _drop_without_checkpoint(stores.parent)
            _drop_slots_beyond(stores, job.parallelism)
            _drop_older(stores)
            # also for a store in memory: when the driver has deleted it, the job has ended
            path.mkdir(parents=True, exist_ok=True)
            _note(stores / _CHECKPOINT, str(checkpoint))
            store = self._open[str(path)] = job.state.local_store(path)
        return store

    def erase(self, store: Store) -> None:
        """Close a store and delete its files: the job has come to its end."""
        self._open.pop(str(store.path), None)
        store.close(erase=True)
        stores = Path(str(store.path)).parent
        shutil.rmtree(str(store.path), ignore_errors=True)
        if not any(path.is_dir() for path in stores.glob("*")):
            shutil.rmtree(stores, ignore_errors=True)

    def holds(self, store: Store) -> bool:
        """Whether ``store`` is still open."""
        return str(store.path) in self._open

    def close(self) -> None:
        """Let go of all stores; their files stay."""
        while self._open:
            self._open.popitem()[1].close()
        while self._locks:
            self._locks.pop().close()

    def keep_others_out(self, store: Store, seconds: float) -> None:
        """Have ``store`` for this process alone until :meth:`close`, or until the process ends:
        wait up to so long for another one that has it, which then is about to end. If it does not,
        this process gets a store of its own, which has to be filled from the checkpoint: two
        processes that work on one slot must not read what the other writes."""
        deadline = time.monotonic() + seconds
        while (lock := _locked(f"{store.path}.lock")) is None:
            if time.monotonic() >= deadline:
                store.seclude()
                return
            time.sleep(_LOOK_SECONDS)
        # the store is kept open together with this file, and goes with it
        self._locks.append(lock)

    def _close_ended(self) -> None:
        """Let go of the stores whose files the driver has deleted."""
        for name in [name for name in self._open if not os.path.exists(name)]:
            self._open.pop(name).close()


def _locked(path: str) -> IO[bytes] | None:
    """The file ``path``, made if need be, open and locked; None if another process has locked it,
    or has deleted it meanwhile, so that whoever comes next would lock another one."""
    lock = open(path, "wb")  # noqa: SIM115
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock.fileno()), os.stat(path)):
            return lock
    lock.close()
    return None


def _note(path: Path, checkpoint: str) -> None:
    """Write which checkpoint stores belong to. Other tasks of this host read that at any moment, so
    it is there as a whole or not at all."""
    with contextlib.suppress(OSError):
        if path.read_text(encoding="utf-8") == checkpoint:
            return
    made = path.with_name(f"{_CHECKPOINT}.{uuid.uuid4().hex}")
    made.write_text(checkpoint, encoding="utf-8")
    made.replace(path)


def _drop_without_checkpoint(root: Path) -> None:
    """Delete the stores of checkpoints that are gone: nobody will go on with them."""
    for note in root.glob(f"*/{_CHECKPOINT}"):
        with contextlib.suppress(OSError):
            checkpoint = note.read_text(encoding="utf-8")
            if not is_url(checkpoint) and not os.path.exists(checkpoint):
                shutil.rmtree(note.parent, ignore_errors=True)


def _drop_slots_beyond(stores: Path, parallelism: int) -> None:
    """Delete the stores of slots that the job had before it was rescaled."""
    for place in stores.glob("*-*-*"):
        slot = place.name.split("-")[1]
        if slot.isdigit() and int(slot) >= parallelism:
            shutil.rmtree(place, ignore_errors=True)


def _drop_older(stores: Path) -> None:
    """Delete the stores of drivers that others have taken over from."""
    checkpoint, _, epoch = stores.name.rpartition("-")
    for place in stores.parent.glob(f"{checkpoint}-*") if epoch.isdigit() else ():
        older = place.name.removeprefix(f"{checkpoint}-")
        if older.isdigit() and int(older) < int(epoch):
            shutil.rmtree(place, ignore_errors=True)
