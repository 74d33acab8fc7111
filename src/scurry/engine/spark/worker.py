"""What runs inside Spark's Python workers: ingress tasks and slot hosts, kept between batches.

A worker process is reused from batch to batch. It keeps the tasks and hosts it has made, with their
user functions opened; Spark hands it the job's bytes with every task, and only when they are new
are they unpickled.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import pickle
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa

from scurry.checkpoint.initial_state import InitialState
from scurry.checkpoint.layout import Home
from scurry.common.errors import FunctionError, StateError
from scurry.engine.spark.dependencies import NOTHING, Dependencies
from scurry.engine.waits import NoteBoard
from scurry.runtime.envelope import Envelope
from scurry.runtime.host import SlotHost
from scurry.runtime.ingress import IngressTask, decode_plan
from scurry.runtime.specs import JobSpec
from scurry.state.journal import Journal
from scurry.state.local.store import Store

ENVELOPE_SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("stage", pa.int32()),
        ("dest", pa.string()),
        ("port", pa.int32()),
        ("channel", pa.string()),
        ("seq", pa.int64()),
        ("kind", pa.int32()),
        ("watermark", pa.int64()),
        ("payload", pa.binary()),
    ]
)
#: Envelopes are handed to Spark once this many bytes have gathered.
_FLUSH_BYTES = 16 << 20


class WorkerFailure(RuntimeError):
    """A user function's failure, in a form that survives the way through the JVM."""


class JobPayload:
    """A job on its way to the workers."""

    def __init__(
        self,
        job: JobSpec,
        checkpoint_id: str,
        routes: list[int],
        home: Home,
        dependencies: Dependencies = NOTHING,
        first: int = 0,
        begins_with_state: bool = False,
    ) -> None:
        self.dependencies = dependencies
        self.content = cloudpickle.dumps(job, protocol=5)
        self.checkpoint_id = checkpoint_id
        self.run_id = job.run_id
        self.sys_path = job.sys_path
        #: the grouping values that stand for slots
        self.routes = routes
        #: the directory of the checkpoint's generation
        self.home = home
        #: the number of the job's micro-batch that is Spark's number 0
        self.first = first
        #: whether there is state that slots begin with
        self.begins_with_state = begins_with_state
        #: bytes of an entry of the log above which it becomes a file
        self.files_above = job.state.files_above

    def load(self) -> JobSpec:
        """A copy of the job with function instances of its own."""
        for entry in self.sys_path:
            if entry not in sys.path:
                sys.path.append(entry)
        # batches are full of small tuples: at the usual pace a third of the time goes into
        # looking for cycles among them
        gc.set_threshold(100_000, 50, 100)
        before = set(_script_classes())
        job: JobSpec = pickle.loads(self.content)
        _mend_dataclasses()
        if self.run_id not in _adopted:
            _adopted[self.run_id] = [kind for kind in _script_classes() if kind not in before]
        _adopt(_adopted[self.run_id])
        return job


#: The classes of users' scripts, by run.
_adopted: dict[str, list[type]] = {}


def _script_classes() -> list[type]:
    """Classes that came to this worker by value, out of a script or notebook."""
    tracked = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS
    return [kind for kind in list(tracked) if kind.__module__ == "__main__"]


def _mend_dataclasses() -> None:
    """A dataclass that travelled by value brings its own copy of the marker for "no default",
    which everybody tells by identity: put the real one in its place."""
    for kind in list(cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS):
        for field in getattr(kind, "__dataclass_fields__", {}).values():
            for name in ("default", "default_factory", "kw_only"):
                if type(getattr(field, name, None)) is type(dataclasses.MISSING):
                    setattr(field, name, dataclasses.MISSING)


def _adopt(kinds: list[type]) -> None:
    """Let classes be found under the names they had in the script, so that their instances can be
    pickled by reference, which is several times faster than by value."""
    main = sys.modules["__main__"]
    for kind in kinds:
        if "." not in kind.__qualname__:
            setattr(main, kind.__qualname__, kind)


_ingress: dict[tuple[str, int], tuple[str, IngressTask]] = {}
_hosts: dict[tuple[str, int, int], tuple[str, SlotHost]] = {}
_stores: dict[str, Store] = {}


def run_ingress(payload: JobPayload, batch: int, number: int) -> Iterator[Envelope]:
    """Task ``number`` of the ingress in micro-batch ``batch``; there may be nothing for it."""
    planned = payload.home.plan(batch)
    try:
        plan = decode_plan(payload.home.share(planned, number).read_bytes())
    except FileNotFoundError:
        if payload.home.share(planned, 0).exists():
            return
        raise StateError(
            f"The plan of micro-batch {batch} is missing from {planned}. It must be on a file "
            "system that the driver and all executors share, under the same path; "
            "if it is, somebody has deleted it."
        ) from None
    payload.dependencies.prepare()
    home = (payload.checkpoint_id, number)
    run_id, task = _ingress.get(home, ("", None))
    try:
        if task is None or run_id != payload.run_id or task.stale(plan):
            task = IngressTask(payload.load(), number)
            _ingress[home] = (payload.run_id, task)
        with NoteBoard(payload.home.waiting):
            yield from task.run(plan)
    except FunctionError as failure:
        _ingress.pop(home, None)
        raise WorkerFailure(f"{failure.to_wire()} {failure}") from failure
    except BaseException:
        _ingress.pop(home, None)
        raise
    if plan.final:
        _ingress.pop(home, None)


def run_host(
    payload: JobPayload, stage: int, slot: int, envelopes: Iterable[Envelope], journal: Journal
) -> Iterator[Envelope]:
    """Slot ``slot`` of stage ``stage`` in one micro-batch."""
    payload.dependencies.prepare()
    place = (payload.checkpoint_id, stage, slot)
    run_id, host = _hosts.get(place, ("", None))
    try:
        if host is None or run_id != payload.run_id or host.stale(journal):
            job = payload.load()
            store = job.state.slot_store(_local_store(job, *place), job.max_parallelism)
            if payload.begins_with_state:
                begins_with = payload.home.initial_state_of(stage, slot)
                store.initial = InitialState(begins_with).fill
            host = SlotHost(job, stage, slot, store)
            _hosts[place] = (payload.run_id, host)
        with NoteBoard(payload.home.waiting):
            yield from host.run(envelopes, journal)
    except FunctionError as failure:
        _hosts.pop(place, None)
        raise WorkerFailure(f"{failure.to_wire()} {failure}") from failure
    except BaseException:
        _hosts.pop(place, None)
        raise


def local_root(configured: str) -> str:
    """Where the local stores of this user's jobs live on a host."""
    return os.path.join(configured or tempfile.gettempdir(), f"scurry-{os.getuid()}")


def _local_store(job: JobSpec, checkpoint_id: str, stage: int, slot: int) -> Store:
    name = f"{stage}-{slot}-{job.state.backend}"
    path = Path(local_root(job.local_root)) / checkpoint_id / name
    store = _stores.get(str(path))
    if store is None:
        _forget_ended_jobs()
        own_directory(path.parent.parent)
        _drop_slots_beyond(path.parent, job.parallelism)
        # also for a store in memory: when the driver has deleted it, the job has ended
        path.mkdir(parents=True, exist_ok=True)
        store = _stores[str(path)] = job.state.local_store(path)
    return store


def _drop_slots_beyond(path: Path, parallelism: int) -> None:
    """Delete the local stores of slots that the job had before it was rescaled."""
    for place in path.glob("*-*-*"):
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


def _forget_ended_jobs() -> None:
    """Let go of the stores whose files the driver has deleted, and of the hosts above them."""
    for name in [name for name in _stores if not os.path.exists(name)]:
        _stores.pop(name).close()
    for place, (_, host) in list(_hosts.items()):
        if str(host.store.local.path) not in _stores:
            del _hosts[place]


def to_arrow(envelopes: Iterable[Envelope], routes: list[int]) -> Iterator[pa.RecordBatch]:
    """Envelopes as the Arrow batches Spark takes, slots replaced by their routes."""
    rows: list[Envelope] = []
    size = 0
    for envelope in envelopes:
        rows.append(envelope._replace(slot=routes[envelope.slot % len(routes)]))
        size += len(envelope.payload)
        if size >= _FLUSH_BYTES:
            yield _record_batch(rows)
            rows, size = [], 0
    if rows:
        yield _record_batch(rows)


def _record_batch(rows: list[Envelope]) -> pa.RecordBatch:
    columns: list[Any] = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), ENVELOPE_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ENVELOPE_SCHEMA)
