"""What runs inside Python workers: ingress tasks and slot hosts, kept between batches.

A process keeps the tasks and hosts it has made, with their user functions opened, as long as they
are of the same run of the job and nothing went wrong in them. With Scurry's daemon each slot has a
process of its own, to which Spark's workers hand its tasks, see
:mod:`scurry.engine.spark.slot_process`. Where another daemon serves, Spark may give a slot now to
this worker and now to that: then functions are closed in the one before they are opened in the
other, see :mod:`scurry.engine.spark.presence`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from scurry.checkpoint.initial_state import InitialState
from scurry.common.errors import FunctionError, StateError
from scurry.engine.spark.local_stores import LocalStores
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.presence import Seat
from scurry.engine.spark.slot_work import SlotWork
from scurry.engine.waits import NoteBoard
from scurry.runtime.envelope import Envelope
from scurry.runtime.host import SlotHost
from scurry.runtime.ingress import IngressTask, TaskPlan, decode_plan
from scurry.state.journal import Journal

#: How often functions are looked after.
_LOOK_SECONDS = 0.2
_log = logging.getLogger("scurry.engine")
P = TypeVar("P", bound=Hashable)
T = TypeVar("T")


class WorkerFailure(RuntimeError):
    """A user function's failure, in a form that survives the way through the JVM."""


class Kept(Generic[P, T]):
    """What lives on in this process, by its place in a job, with functions opened; ``close`` closes
    them."""

    def __init__(self, close: Callable[[T], None]) -> None:
        self._close = close
        #: whether anything was ever kept
        self.used = False
        self._held: dict[P, tuple[str, T, Seat]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def find(self, place: P, run_id: str) -> T | None:
        """What that run of the job has left at ``place``, if anything."""
        found_id, found, _ = self._held.get(place, ("", None, None))
        return found if found_id == run_id else None

    def keep(self, place: P, run_id: str, made: T, seat: Seat) -> T:
        """Keep ``made`` from now on, nothing of which is opened yet; what was kept before is
        closed, here and in other processes."""
        self.drop(place)
        # two processes may each want what the other has
        seat.take(meanwhile=_drop_unwanted)
        self._held[place] = (run_id, made, seat)
        self.used = True
        _caretaker.begin()
        return made

    def drop(self, place: P) -> None:
        """Close it, and keep it no longer."""
        if place in self._held:
            _, made, seat = self._held.pop(place)
            try:
                self._close(made)
            except Exception:
                # whatever ended the work before this is what the job is told
                _log.warning("functions of %s failed to close", seat.place, exc_info=True)
            seat.give_up()

    def drop_unless(self, wanted: Callable[[T, Seat], bool]) -> None:
        """Keep only what is still wanted."""
        for place, (_, made, seat) in list(self._held.items()):
            if not wanted(made, seat):
                self.drop(place)

    @contextmanager
    def dropped_on_failure(self, place: P) -> Iterator[None]:
        """What fails in here may be half done: then it is not kept."""
        try:
            yield
        except FunctionError as failure:
            self.drop(place)
            raise WorkerFailure(failure.to_wire()) from None
        except BaseException:
            self.drop(place)
            raise


#: by checkpoint and task
_ingress = Kept[tuple[str, int], IngressTask](IngressTask.close)
#: by checkpoint, stage and slot
_hosts = Kept[tuple[str, int, int], SlotHost](SlotHost.close)
_stores = LocalStores()
#: held while functions run
_running = threading.Lock()
#: whether this process has done what it was made for
_is_done = False


def close_unwanted() -> int | None:
    """Close the functions that another process waits for, or whose run has ended; how many tasks
    and hosts are left, None if there never were any. Called every now and then by whoever runs this
    process."""
    with _running:
        _drop_unwanted()
        if _ingress.used or _hosts.used or _is_done:
            return len(_ingress) + len(_hosts)
    return None


def _drop_unwanted() -> None:
    for kept in (_ingress, _hosts):
        kept.drop_unless(lambda _, seat: not seat.must_leave)


def nothing_more_comes() -> None:
    """A task has ended that was all of its slot's work. If this is the process of the slot, it need
    not wait for more."""
    global _is_done
    _is_done = True


def close_all() -> None:
    """Close all functions: this process is about to end."""
    for kept in (_ingress, _hosts):
        kept.drop_unless(lambda *_: False)


class Caretaker:
    """Looks from time to time whether functions are to be closed, by a thread: a worker of Spark's
    that has no task waits for the next one, and for nothing else."""

    def __init__(self) -> None:
        self._needed = True

    def begin(self) -> None:
        """Start the thread, if it is needed and does not run."""
        if self._needed:
            self._needed = False
            threading.Thread(target=self._look, name="scurry-caretaker", daemon=True).start()

    def spare(self) -> None:
        """Whoever runs this process and those forked from it looks by itself."""
        self._needed = False

    def _look(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            close_unwanted()


_caretaker = Caretaker()


def run_slots_here() -> SlotWork:
    """Prepare for processes of slots to be forked from this one; what they do beside tasks."""
    _caretaker.spare()
    return SlotWork(close_unwanted, close_all)


def run_ingress(payload: JobPayload, batch: int, number: int) -> Iterator[Envelope]:
    """Task ``number`` of the ingress in micro-batch ``batch``; there may be nothing for it."""
    plan = _read_plan(payload, batch, number)
    if plan is not None:
        yield from run_planned(payload, plan)


def run_planned(payload: JobPayload, plan: TaskPlan) -> Iterator[Envelope]:
    """The task of the ingress that ``plan`` is for, in one micro-batch."""
    payload.prepare()
    number = plan.task
    place = (payload.stores, number)
    with _running, _ingress.dropped_on_failure(place):
        task = _ingress.find(place, payload.run_id)
        if task is None or task.stale(plan):
            made, seat = IngressTask(payload.load(), number), payload.seat(0, number)
            task = _ingress.keep(place, payload.run_id, made, seat)
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
    payload.prepare()
    place = (payload.stores, stage, slot)
    with _running, _hosts.dropped_on_failure(place):
        host = _hosts.find(place, payload.run_id)
        if host is None or host.stale(journal):
            made, seat = _make_host(payload, stage, slot), payload.seat(stage, slot)
            host = _hosts.keep(place, payload.run_id, made, seat)
        with NoteBoard(payload.home.waiting):
            yield from host.run(envelopes, journal)
        if host.closed:
            _hosts.drop(place)
            _stores.erase(host.store.local)


def _make_host(payload: JobPayload, stage: int, slot: int) -> SlotHost:
    job = payload.load()
    local = _stores.get(job, payload.stores, stage, slot, payload.home.path)
    # when a store is opened, those of jobs that have ended are closed
    _hosts.drop_unless(lambda host, _: _stores.holds(host.store.local))
    store = job.state.slot_store(local, job.max_parallelism)
    if payload.begins_with_state:
        store.initial = InitialState(payload.home.initial_state_of(stage, slot)).fill
    return SlotHost(job, stage, slot, store, payload.home.feeds)
