"""The driver's side of the live engine: it plans rounds, and makes checkpoints of marked ones.

A round is planned when there is something to read or a timer is due, and not before the last one
has lasted for the *linger* time; not more than a few rounds are under way at a time, so whoever is
slow holds up the sources. When a checkpoint is due, a round is marked. There is one checkpoint
under way at most: what the one before it needs is kept until the next is durable, and no longer.
Its last part, writing the epoch and having sinks commit, happens in a thread, so that no round
waits for it.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.file_journal import StoredHead, place_name
from scurry.engine.live.doors import Address, Door
from scurry.engine.live.flow import Flow
from scurry.engine.live.links import Link, link_over
from scurry.engine.live.messages import (
    CAME,
    DONE,
    END,
    FAILED,
    LOST,
    MEET,
    READY,
    ROUND,
    TOLD,
    Done,
    Round,
    Told,
    as_done,
    as_told,
)
from scurry.engine.progress import Progress
from scurry.engine.rounds import Ending, RoundProtocol
from scurry.engine.savepoints import Savepoints
from scurry.runtime.envelope import CELLS, DRIVER, Envelope
from scurry.runtime.ingress import TaskPlan
from scurry.runtime.report import Tick
from scurry.runtime.specs import JobSpec

#: How often sources that have nothing are asked for news; the first is for those that have had some
#: within the third. To ask costs a part of what a round does.
_SOON_SECONDS, _IDLE_SECONDS = 0.002, 0.005
_LATELY_SECONDS = 1.0
#: How long the loop waits at most.
_WAIT_SECONDS = 0.05
#: How long a task that is gone may take to be heard of why.
_REASON_SECONDS = 0.05


class TaskFailed(RuntimeError):
    """What a task has said when it failed."""


class TaskGone(RuntimeError):
    """A task has hung up without saying why; Spark may know."""


def told_reason(links: Iterable[Link], seconds: float) -> str | None:
    """What a task has said before it ended, if another task's news of that end were read first;
    None if nothing is said within so many seconds."""
    deadline = time.monotonic() + seconds
    waited = select.poll()
    by_number = {link.fileno(): link for link in links if not link.closed}
    for number in by_number:
        waited.register(number, select.POLLIN)
    while by_number and (left := deadline - time.monotonic()) > 0:
        for number, _ in waited.poll(left * 1000):
            link = by_number[number]
            for message in link.receive():
                if message[0] == FAILED:
                    return str(message[2])
            if link.closed:
                waited.unregister(number)
                del by_number[number]
    return None


@dataclass(frozen=True)
class Settings:
    """How rounds are made."""

    #: seconds between the starts of two rounds, at the least
    linger: float
    #: seconds between two checkpoints
    interval: float
    #: the most records that a round reads from one source
    most_records: int
    #: how many rounds may be under way
    in_flight: int


@dataclass
class _Checkpoint:
    """A marked round that not all parts of all tasks have told everything of."""

    batch: int
    began: float
    #: how many have still to tell
    missing: int
    envelopes: list[Envelope] = field(default_factory=list)
    journals: dict[str, StoredHead] = field(default_factory=dict)


@dataclass
class _Under:
    """A round that is under way."""

    #: how many tasks are not done with it
    missing: int
    wishes: list[int] = field(default_factory=list)
    cells: list[bytes] = field(default_factory=list)
    sent: int = 0
    read: int = 0


class Conductor:
    """Conducts one attempt at a job with ``tasks`` tasks."""

    def __init__(
        self,
        spec: JobSpec,
        tasks: int,
        door: Door,
        protocol: RoundProtocol,
        savepoints: Savepoints,
        settings: Settings,
        stopping: threading.Event,
        on_progress: Callable[[Progress], None],
        progress: Progress,
    ) -> None:
        self._spec = spec
        self._tasks = tasks
        self._door = door
        self._protocol = protocol
        self._savepoints = savepoints
        self._settings = settings
        self._stopping = stopping
        self._on_progress = on_progress
        self._progress = progress
        self._links: dict[int, Link] = {}
        self._addresses: dict[int, Address] = {}
        #: the processes of the tasks
        self.processes: dict[int, int] = {}
        self._ready: set[int] = set()
        self._poll = select.poll()
        self._who: dict[int, int] = {}
        self._bell, self._rope = os.pipe()
        for number in (*(each.fileno() for each in door.sockets), self._bell):
            self._poll.register(number, select.POLLIN)
        self._round = 0
        self._under: dict[int, _Under] = {}
        #: a round that is planned and has to wait
        self._held: tuple[list[TaskPlan], bool] | None = None
        self._checkpoint: _Checkpoint | None = None
        #: commits checkpoints, one after the other
        self._committer = ThreadPoolExecutor(1, "scurry-commit", progress.board.__enter__)
        self._committing: tuple[Future[None], Ending] | None = None
        #: whether rounds were planned since the last marked one
        self._unmarked = False
        self._last_round = self._last_checkpoint = 0.0
        self._next_look = 0.0
        #: which task reads which source partition
        self._dealt: dict[tuple[str, str], int] = {}
        #: the parts of the ingress that have been given their operator state
        self._given: set[int] = set()
        self._flow = Flow(settings.most_records, len(spec.sources))

    def wake(self) -> None:
        """Have the loop look at once; called from another thread."""
        os.write(self._rope, b"!")

    @property
    def came(self) -> int:
        """How many tasks have started."""
        return len(self._addresses)

    # --- meeting

    def meet(self, look: Callable[[], None], epoch: Epoch | None) -> None:
        """Wait until all tasks are there and connected; ``look`` is called now and then, and raises
        if they will not come."""
        journals = {} if epoch is None else epoch.journals
        while self.came < self._tasks:
            look()
            self._take_in(_WAIT_SECONDS)
        known = [self._addresses[number] for number in range(self._tasks)]
        for number, link in self._links.items():
            own = {name: head for name, head in journals.items() if _slot(name) == number}
            link.send([MEET, known, own])
        while len(self._ready) < self._tasks:
            look()
            self._flush()
            self._take_in(_WAIT_SECONDS)
        self._close_door()

    def _close_door(self) -> None:
        """All are there: a stranger who comes now is not even looked at, which could take long."""
        for each in self._door.sockets:
            self._poll.unregister(each.fileno())
        self._door.close()

    # --- the loop

    def run(self, look: Callable[[], None]) -> None:
        """Plan rounds until the sources end or the job is to stop, and all that was planned is
        committed; ``look`` is called now and then, and raises if the tasks have failed."""
        self._last_checkpoint = time.monotonic()
        while not self._is_over():
            look()
            self._look_at_commit()
            self._plan_what_is_due()
            self._flush()
            self._take_in(self._pause())
        for link in self._links.values():
            link.send([END])
        self._flush()

    def _is_over(self) -> bool:
        if self._under or self._checkpoint or self._held:
            return False
        if self._protocol.planner.done:
            return True
        return self._stopping.is_set() and not self._unmarked

    def _pause(self) -> float:
        """How long to wait for news of tasks."""
        if self._held is not None or len(self._under) >= self._settings.in_flight:
            return _WAIT_SECONDS
        if self._protocol.planner.done:
            return _WAIT_SECONDS
        return max(0.0, min(self._next_look - time.monotonic(), _WAIT_SECONDS))

    def _plan_what_is_due(self) -> None:
        if self._held is not None:
            self._send_held()
            return
        now = time.monotonic()
        planner = self._protocol.planner
        full = len(self._under) >= self._settings.in_flight
        self._flow.look(full and now >= self._next_look, now)
        if planner.done or full or now < self._next_look:
            return
        mark = self._checkpoint is None and self._wants_mark(now)
        if not mark and (self._stopping.is_set() or self._is_ending_with_savepoint()):
            self._next_look = now + _IDLE_SECONDS
            return
        if self._savepoints.draining:
            planner.drain()
        planner.max_records = self._flow.limit
        tasks = self._protocol.plan_round(force=mark)
        if tasks is None:
            self._next_look = now + self._until_next_look(now)
            return
        self._last_round = now
        self._next_look = now + self._settings.linger
        self._held = tasks, mark or self._protocol.ending
        self._send_held()

    def _until_next_look(self, now: float) -> float:
        """When to ask sources again that have nothing now."""
        if self._settings.linger <= _IDLE_SECONDS and now - self._last_round < _LATELY_SECONDS:
            return _SOON_SECONDS
        return max(self._settings.linger, _IDLE_SECONDS)

    def _is_ending_with_savepoint(self) -> bool:
        """Whether the checkpoint under way is to be the last: a job that ends with a savepoint must
        not have done more than is in it."""
        return self._checkpoint is not None and self._savepoints.stopping

    def _wants_mark(self, now: float) -> bool:
        """Whether the next round should end the micro-batch."""
        wanted = self._savepoints.wanted
        if wanted and not self._savepoints.draining and not self._unmarked and not self._under:
            # nothing has happened since the last checkpoint
            self._serve()
            return False
        due = now - self._last_checkpoint >= self._settings.interval
        return self._unmarked and (due or wanted or self._stopping.is_set())

    def _send_held(self) -> None:
        """Send the planned round, unless it has to wait for others."""
        assert self._held is not None
        tasks, mark = self._held
        dealt = {
            (part.source, part.partition): plan.task for plan in tasks for part in plan.partitions
        }
        moved = any(self._dealt.get(place, task) != task for place, task in dealt.items())
        if (mark and self._checkpoint is not None) or (moved and self._under):
            return
        self._held = None
        if moved:
            self._protocol.planner.refresh(tasks)
        self._dealt.update(dealt)
        self._send_round(tasks, mark, moved)

    def _send_round(self, tasks: list[TaskPlan], mark: bool, moved: bool) -> None:
        first = tasks[0]
        tick = Tick(first.now, first.batch, first.final, first.unions, first.turn)
        self._round += 1
        if mark:
            parts = self._tasks * (len(self._spec.stages) + 1)
            self._checkpoint = _Checkpoint(self._protocol.mark(), time.monotonic(), parts)
        self._unmarked = not mark
        self._under[self._round] = _Under(self._tasks)
        self._give_states_once(tasks)
        for number, link in self._links.items():
            own = [plan for plan in tasks if plan.task % self._tasks == number]
            link.send([ROUND, Round(self._round, mark, tick, own, moved)])

    def _give_states_once(self, tasks: list[TaskPlan]) -> None:
        """A task takes the operator states of a part of the ingress with its first round."""
        for plan in tasks:
            if plan.task in self._given:
                plan.states = {}
        self._given.update(plan.task for plan in tasks)

    # --- what tasks say

    def _take_in(self, seconds: float) -> None:
        try:
            self._take_some(seconds)
        except TaskGone as gone:
            reason = told_reason(self._links.values(), _REASON_SECONDS)
            raise gone if reason is None else TaskFailed(reason) from None

    def _take_some(self, seconds: float) -> None:
        for number, _ in self._poll.poll(seconds * 1000):
            if number == self._bell:
                os.read(self._bell, 4096)
            elif number in self._who:
                self._hear(number, self._links[self._who[number]])
            else:
                self._let_in(number)

    def _let_in(self, number: int) -> None:
        at = next(each for each in self._door.sockets if each.fileno() == number)
        found = self._door.accept(at)
        if found is not None:
            task, connection = found
            if task in self._links:
                raise TaskGone(f"task {task} of {self._tasks} has begun anew")
            link = self._links[task] = link_over(connection)
            self._who[link.fileno()] = task
            self._poll.register(link.fileno(), select.POLLIN)

    def _hear(self, number: int, link: Link) -> None:
        for message in link.receive():
            self._on(message)
        if link.closed:
            task = self._who.pop(number)
            self._poll.unregister(number)
            raise TaskGone(f"task {task} of {self._tasks} is gone")

    def _on(self, message: Any) -> None:
        kind = message[0]
        if kind == DONE:
            self._on_done(as_done(message[1]))
        elif kind == TOLD:
            self._on_told(as_told(message[1]))
        elif kind == CAME:
            self._addresses[message[1]] = msgspec.convert(message[2], Address)
            self.processes[message[1]] = message[3]
        elif kind == READY:
            self._ready.add(message[1])
        elif kind == FAILED:
            raise TaskFailed(message[2])
        elif kind == LOST:
            raise TaskGone(f"task {message[1]} has lost its connection to task {message[2]}")

    def _on_done(self, done: Done) -> None:
        under = self._under[done.round]
        under.missing -= 1
        under.sent += done.sent
        under.read += done.read
        under.cells.extend(done.cells)
        if done.wake is not None:
            under.wishes.append(done.wake)
        # rounds end in their order: each task runs them in their order
        if under.missing == 0:
            del self._under[done.round]
            cells = [Envelope(0, DRIVER, "", 0, "", 0, CELLS, 0, each) for each in under.cells]
            self._protocol.take_round(cells, under.wishes)
            self._flow.after(under.read, under.sent)

    def _on_told(self, told: Told) -> None:
        checkpoint = self._checkpoint
        assert checkpoint is not None
        assert told.batch == checkpoint.batch, (told.batch, checkpoint.batch)
        checkpoint.envelopes.extend(Envelope._make(each) for each in told.envelopes)
        if told.journal is not None:
            checkpoint.journals[place_name(told.stage, told.task)] = told.journal
        checkpoint.missing -= 1
        if checkpoint.missing == 0:
            self._complete(checkpoint)

    def _complete(self, checkpoint: _Checkpoint) -> None:
        """All tasks have told: commit, while rounds go on."""
        ending = self._protocol.gather(checkpoint.batch, checkpoint.envelopes, checkpoint.journals)
        committing = self._committer.submit(self._protocol.commit, ending)
        self._committing = committing, ending
        committing.add_done_callback(lambda _: self.wake())

    def _look_at_commit(self) -> None:
        """If the checkpoint under way is committed, go on from there; raises what prevented it."""
        if self._committing is None or not self._committing[0].done():
            return
        assert self._checkpoint is not None
        began = self._checkpoint.began
        self._conclude()
        self._checkpoint = None
        self._last_checkpoint = began
        self._progress.rounds.take(
            self._flow.rounds, self._flow.limit, self._flow.held_up(time.monotonic())
        )
        self._on_progress(self._progress)
        if not self._stopping.is_set():
            self._serve()

    def _conclude(self) -> None:
        assert self._committing is not None
        (committing, ending), self._committing = self._committing, None
        committing.result()
        self._protocol.conclude(ending)

    def settle(self) -> None:
        """Wait for a commit that is under way, before the attempt is given up. If the commit fails,
        the next attempt finds out how far it came."""
        self._committer.shutdown()
        if self._committing is not None:
            with suppress(Exception):
                self._conclude()

    def _serve(self) -> None:
        """The last checkpoint is durable, and no other one is under way."""
        if not (self._savepoints.stopping and (self._unmarked or self._under)):
            self._savepoints.serve()

    def _flush(self) -> None:
        for link in self._links.values():
            if link.backlog:
                link.flush()
                full = link.backlog > 0
                self._poll.modify(link.fileno(), select.POLLIN | (select.POLLOUT if full else 0))

    def hang_up(self) -> None:
        """End all connections: tasks that are still at work give up."""
        for link in self._links.values():
            link.close()

    def close(self) -> None:
        """Nobody calls :meth:`wake` any more."""
        for number in (self._bell, self._rope):
            os.close(number)


def _slot(name: str) -> int:
    """The slot that an epoch means by ``name``."""
    return int(name.partition("-")[2])
