"""What runs inside Spark's Python workers: ingress tasks and slot hosts, kept between batches.

A worker process is reused from micro-batch to micro-batch. It keeps the tasks and hosts it has
made, with their user functions opened, as long as they are of the same run of the job, nothing went
wrong in them, and no other worker has moved on with their state meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from scurry.checkpoint.initial_state import InitialState
from scurry.common.errors import FunctionError, StateError
from scurry.engine.spark.local_stores import LocalStores
from scurry.engine.spark.payload import JobPayload
from scurry.engine.waits import NoteBoard
from scurry.runtime.envelope import Envelope
from scurry.runtime.host import SlotHost
from scurry.runtime.ingress import IngressTask, TaskPlan, decode_plan
from scurry.state.journal import Journal

P = TypeVar("P", bound=Hashable)
T = TypeVar("T")


class WorkerFailure(RuntimeError):
    """A user function's failure, in a form that survives the way through the JVM."""


class Kept(Generic[P, T]):
    """What lives on in this worker, by its place in a job."""

    def __init__(self) -> None:
        self._held: dict[P, tuple[str, T]] = {}

    def find(self, place: P, run_id: str) -> T | None:
        """What that run of the job has left at ``place``, if anything."""
        found_id, found = self._held.get(place, ("", None))
        return found if found_id == run_id else None

    def keep(self, place: P, run_id: str, made: T) -> T:
        """Keep ``made`` from now on."""
        self._held[place] = (run_id, made)
        return made

    def drop(self, place: P) -> None:
        """Keep it no longer."""
        self._held.pop(place, None)

    def drop_unless(self, wanted: Callable[[T], bool]) -> None:
        """Keep only what is still wanted."""
        self._held = {at: (run, made) for at, (run, made) in self._held.items() if wanted(made)}

    @contextmanager
    def dropped_on_failure(self, place: P) -> Iterator[None]:
        """What fails in here may be half done: then it is not kept."""
        try:
            yield
        except FunctionError as failure:
            self.drop(place)
            raise WorkerFailure(f"{failure.to_wire()} {failure}") from failure
        except BaseException:
            self.drop(place)
            raise


#: by checkpoint and task
_ingress = Kept[tuple[str, int], IngressTask]()
#: by checkpoint, stage and slot
_hosts = Kept[tuple[str, int, int], SlotHost]()
_stores = LocalStores()


def run_ingress(payload: JobPayload, batch: int, number: int) -> Iterator[Envelope]:
    """Task ``number`` of the ingress in micro-batch ``batch``; there may be nothing for it."""
    plan = _read_plan(payload, batch, number)
    if plan is None:
        return
    payload.dependencies.prepare()
    place = (payload.checkpoint_id, number)
    with _ingress.dropped_on_failure(place):
        task = _ingress.find(place, payload.run_id)
        if task is None or task.stale(plan):
            task = _ingress.keep(place, payload.run_id, IngressTask(payload.load(), number))
        with NoteBoard(payload.home.waiting):
            yield from task.run(plan)
    if plan.final:
        _ingress.drop(place)


def _read_plan(payload: JobPayload, batch: int, number: int) -> TaskPlan | None:
    """What task ``number`` reads in micro-batch ``batch``, None if it has no share."""
    planned = payload.home.plan(batch)
    try:
        return decode_plan(payload.home.share(planned, number).read_bytes())
    except FileNotFoundError:
        if payload.home.share(planned, 0).exists():
            return None
        raise StateError(
            f"The plan of micro-batch {batch} is missing from {planned}. It must be on a file "
            "system that the driver and all executors share, under the same path; "
            "if it is, somebody has deleted it."
        ) from None


def run_host(
    payload: JobPayload, stage: int, slot: int, envelopes: Iterable[Envelope], journal: Journal
) -> Iterator[Envelope]:
    """Slot ``slot`` of stage ``stage`` in one micro-batch."""
    payload.dependencies.prepare()
    place = (payload.checkpoint_id, stage, slot)
    with _hosts.dropped_on_failure(place):
        host = _hosts.find(place, payload.run_id)
        if host is None or host.stale(journal):
            host = _hosts.keep(place, payload.run_id, _make_host(payload, stage, slot))
        with NoteBoard(payload.home.waiting):
            yield from host.run(envelopes, journal)


def _make_host(payload: JobPayload, stage: int, slot: int) -> SlotHost:
    job = payload.load()
    local = _stores.get(job, payload.checkpoint_id, stage, slot)
    # when a store is opened, those of jobs that have ended are closed
    _hosts.drop_unless(lambda host: _stores.holds(host.store.local))
    store = job.state.slot_store(local, job.max_parallelism)
    if payload.begins_with_state:
        store.initial = InitialState(payload.home.initial_state_of(stage, slot)).fill
    return SlotHost(job, stage, slot, store)
