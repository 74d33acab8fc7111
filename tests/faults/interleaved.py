"""The live engine without Spark and without sockets: its driver and its tasks take turns at random.

All that is between tasks and driver is as on Spark: the conductor, the parts of the tasks, the
checkpoint, journals, local stores and copies of processes. What Spark and the network would
decide, a random number does: which message arrives next, who goes on, when a checkpoint is marked
and when its commit happens, and at which of these steps an attempt ends. Messages of one connection
stay in their order.

An attempt ends because a task is lost, or because the driver dies, at any step or in the middle of
a commit. What is left of it are its tasks, in a process of their own. They may end at once, and let
go of their local stores; or before each step of all later attempts they may take some steps of
theirs, as tasks do that were paused, have not noticed that they are over, or are on a machine that
nobody reaches for a while. So each attempt is a fork of the process of the one before, which goes
on with the tasks that it has. Now and then the local stores are deleted before an attempt begins.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import msgspec

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.file_journal import FileJournal, place_name
from scurry.common import Configuration
from scurry.common.errors import JobError
from scurry.common.fault_points import ROUND_POINTS
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine import protocol, rounds
from scurry.engine.job import Job
from scurry.engine.live.conductor import Conductor, Settings
from scurry.engine.live.messages import DONE, ROUND, TOLD, Done, Told, as_round
from scurry.engine.live.parts import Parts
from scurry.engine.pace import Pace
from scurry.engine.progress import Progress
from scurry.engine.rounds import RoundProtocol
from scurry.engine.spark.local_stores import LocalStores
from scurry.engine.unpicklable import pickled
from scurry.functions.fencing import Fence
from scurry.runtime.envelope import Envelope
from scurry.runtime.host import SlotHost
from scurry.state.local.store import Store

#: Builds the program, whose files lie in a directory.
Build = Callable[[StreamExecutionEnvironment, Path], None]
SLOTS = 2
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class Later:
    """Instead of a thread that commits: does what it is given when its turn comes."""

    def __init__(self) -> None:
        self.work: tuple[Future[None], Callable[[], None]] | None = None

    def submit(self, call: Callable[[Any], None], ending: Any) -> Future[None]:
        found: Future[None] = Future()
        self.work = found, lambda: call(ending)
        return found

    def run(self) -> None:
        """Do it."""
        assert self.work is not None
        (found, call), self.work = self.work, None
        try:
            call()
        except BaseException as failure:
            found.set_exception(failure)
            raise
        found.set_result(None)

    def shutdown(self) -> None:
        """As a thread that is waited for."""
        if self.work is not None:
            self.run()


class Wire:
    """A connection of which one end is here: what is sent waits until it is taken."""

    backlog = 0

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()

    def send(self, message: Any) -> None:
        self.waiting.append(_encode(message))

    def flush(self) -> None:
        """What is sent is under way at once."""

    def close(self) -> None:
        """Nobody takes anything any more."""

    def take(self) -> Any:
        return _decode(self.waiting.popleft())


class SimulatedTask:
    """One task: its parts, and what is under way to it from the others and from the driver."""

    def __init__(self, attempt: Attempt, index: int) -> None:
        self._attempt = attempt
        self.index = index
        self.orders = Wire()
        self.reports = Wire()
        self.peers = {other: Wire() for other in range(SLOTS) if other != index}
        self._stores = LocalStores()
        program = attempt.program
        self.parts = Parts(
            program.load()[0],
            *(index, SLOTS, self._send, self._tell),
            load=lambda: program.load()[0],
            make_host=self._make_host,
            copy_above=attempt.world.copy_above,
        )

    def _make_host(self, stage: int) -> tuple[SlotHost, FileJournal]:
        home = self._attempt.directory.home
        job = self._attempt.program.load()[0]
        local = self._stores.get(job, "stores", stage, self.index, home.path)
        self._stores.keep_others_out(local, 0)
        store = job.state.slot_store(local, job.max_parallelism)
        stored = self._attempt.journals.get(place_name(stage, self.index))
        places = home.log(stage, self.index), home.runs(stage, self.index)
        journal = FileJournal(*places, self._attempt.token, stored)
        return SlotHost(job, stage, self.index, store, home.feeds), journal

    def _send(self, part: int, number: int, task: int, some: list[Envelope], ends: bool) -> None:
        if task == self.index:
            self.parts.take(part, number, some, ends)
        else:
            self._attempt.tasks[task].peers[self.index].send([part, number, some, ends])

    def _tell(self, news: Done | Told) -> None:
        self.reports.send([DONE if isinstance(news, Done) else TOLD, news])

    def steps(self) -> Iterator[Callable[[], Any]]:
        """What the task can do now."""
        if self.orders.waiting:
            yield self._obey
        for wire in self.peers.values():
            if wire.waiting:
                yield lambda wire=wire: self.parts.take(*wire.take())
        yield self.parts.advance
        if self.parts.copies:
            yield self.parts.hear_copies

    def _obey(self) -> None:
        kind, content = self.orders.take()
        assert kind == ROUND
        self.parts.plan(as_round(content))

    def let_go(self) -> None:
        """The process has been copied: what is open here is the other's."""
        self._stores.close()


class Attempt:
    """One attempt at the job."""

    def __init__(self, world: World) -> None:
        self.world = world
        env = StreamExecutionEnvironment.get_execution_environment(world.configuration)
        world.build(env.set_parallelism(SLOTS), world.root)
        compiled = env._compile(None).runnable
        self.token = f"attempt{world.attempts:05d}"
        spec = replace(compiled.spec, run_id=self.token, local_root=str(world.root / "local"))
        self.directory = JobDirectory(str(world.root / "checkpoint"))
        self.directory.check()
        self.directory.prepare(spec)
        job = Job(spec, compiled.sinks)
        job.take_rooms(self.directory.layout.room)
        self.program = pickled(spec)
        epoch = self.directory.last_epoch()
        self.journals = {} if epoch is None else epoch.journals
        self.progress = Progress()
        given = job, self.directory, self.progress, Pace(1 << 40, None), Fence()
        self.protocol = RoundProtocol(*given)
        self.protocol.start("simulated", "the checkpoint")
        self.tasks: list[SimulatedTask] = []
        self.tasks.extend(SimulatedTask(self, index) for index in range(SLOTS))
        self.later = Later()
        self.conductor = self._conduct(spec)

    def _conduct(self, spec: Any) -> Conductor:
        savepoints: Any = SimpleNamespace(
            wanted=False, draining=False, stopping=False, serve=lambda: None
        )
        door: Any = SimpleNamespace(sockets=[])
        made = Conductor(
            *(spec, SLOTS, door, self.protocol, savepoints, Settings(0.0, 0.0, 10, 3)),
            *(threading.Event(), lambda progress: None, self.progress),
        )
        made._committer = self.later
        made._links = {task.index: task.orders for task in self.tasks}
        return made

    @property
    def stores(self) -> list[Store]:
        """The local stores that tasks have open."""
        return [host.store.local for task in self.tasks for host, _ in task.parts._hosts.values()]

    def steps(self) -> Iterator[Callable[[], Any]]:
        """What driver and tasks can do now."""
        yield self._plan
        if self.later.work is not None:
            yield self.later.run
        for task in self.tasks:
            if task.reports.waiting:
                yield lambda task=task: self.conductor._on(task.reports.take())
            yield from task.steps()

    def _plan(self) -> None:
        chance, conductor = self.world.random, self.conductor
        conductor._look_at_commit()
        seldom = chance.random() < 0.7
        conductor._settings = replace(conductor._settings, interval=1e9 if seldom else 0.0)
        conductor._flow.limit = chance.randint(1, 12)
        conductor._next_look = 0.0
        conductor._plan_what_is_due()

    @property
    def over(self) -> bool:
        """Whether all is planned, run and committed."""
        return self.conductor._is_over() and self.later.work is None

    def give_up(self) -> None:
        """What the driver does with an attempt that has failed."""
        self.conductor.settle()
        self.protocol.abort()
        self.protocol.close()


class World:
    """A job, through all attempts at it, in the directory ``root``."""

    def __init__(
        self,
        root: Path,
        seed: int,
        build: Build,
        crashes: int,
        rounds: int,
        copy_above: int,
        settings: dict[str, str],
    ) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.build = build
        self.copy_above = copy_above
        self.attempts = 0
        self._rounds = rounds
        checkpoint = str(root / "checkpoint")
        given = {"execution.engine": "live", "execution.checkpointing.dir": checkpoint}
        self.configuration = Configuration.of({**given, **settings})
        #: after how many steps each of the first attempts ends
        self._ends = [self.random.randint(1, 400) for _ in range(crashes)]

        #: how many points of commits are passed before the attempt ends at one, if it does
        self._points = 0

    def run(self) -> Epoch:
        """From the first attempt to the last, each in a process of its own."""
        pid = os.fork()
        if pid == 0:
            for module in (rounds, protocol):
                module.fault_point = self._pass  # type: ignore[attr-defined]
            self._in_process(lambda: self._attempt([]))
        assert os.waitpid(pid, 0)[1] == 0, (self.root / "failure").read_text()
        epoch = JobDirectory(str(self.root / "checkpoint"))
        epoch.check()
        found = epoch.last_epoch()
        assert found is not None
        return found

    def _in_process(self, work: Callable[[], None]) -> NoReturn:
        # it ends with the process that it is a copy of
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            (self.root / "failure").write_text(traceback.format_exc())
        finally:
            os._exit(code)

    def _pass(self, point: str) -> None:
        """A commit is at one of its points."""
        if self._points and point in ROUND_POINTS:
            self._points -= 1
            if not self._points:
                raise _Struck

    def _attempt(self, leftovers: list[Leftover]) -> None:
        """Run an attempt, and all that follow it."""
        self.attempts += 1
        if self.random.random() < 0.1:
            shutil.rmtree(self.root / "local", ignore_errors=True)
        attempt = Attempt(self)
        end = self._ends.pop() if self._ends else None
        if end is not None and self.random.random() < 0.5:
            self._points = self.random.randint(1, 12)
        steps = 0
        try:
            while not attempt.over:
                steps += 1
                if end is not None and steps > end:
                    raise _Struck
                if leftovers and self.random.random() < 0.2:
                    self.random.choice(leftovers).go_on()
                self._step(attempt)
        except (_Struck, JobError) as failure:
            self._points = 0
            if not isinstance(failure, _Struck):
                note = self.root / "noticed"
                with note.open("a") as notes:
                    notes.write(f"{failure}\n")
            if self.random.random() < 0.5:
                attempt.give_up()
            # else the driver has died, and does nothing any more
            self._begin_anew(attempt, leftovers)
            return
        for leftover in leftovers:
            leftover.close()

    def _step(self, attempt: Attempt) -> None:
        if attempt.conductor._round >= self._rounds:
            (self.root / "stop").touch()
        self.random.choice(list(attempt.steps()))()
        if any(task.parts.copies for task in attempt.tasks):
            time.sleep(0.0002)

    def _begin_anew(self, attempt: Attempt, leftovers: list[Leftover]) -> None:
        """The next attempt, in a copy of this process; this one goes on with its tasks now and
        then, or ends them before the next attempt begins."""
        go, told = os.pipe()
        done, tell = os.pipe()
        for store in attempt.stores:
            store.prepare_copy()
        pid = os.fork()
        if pid == 0:
            for end in (go, tell):
                os.close(end)
            for task in attempt.tasks:
                task.let_go()
            os.read(done, 1)
            self._in_process(lambda: self._attempt([*leftovers, Leftover(told, done)]))
        for end in (told, done):
            os.close(end)
        for leftover in leftovers:
            # theirs are the next attempts now
            leftover.close()
        # how often the next attempt makes its choices does not depend on what happens here
        _go_on(attempt, random.Random(self.attempts), go, tell)
        if os.waitpid(pid, 0)[1]:
            os._exit(1)


class _Struck(Exception):
    """An attempt ends here."""


def _go_on(attempt: Attempt, chance: random.Random, go: int, tell: int) -> None:
    """The tasks of an attempt that is over take a few steps whenever they are told to, until one
    fails, as a task that notices that it is over, or stand still for ever; or they end at once."""
    steps_left = chance.choice([-1, -1, 0, 50, 400])
    alive = steps_left >= 0
    if alive:
        for store in attempt.stores:
            store.begin()
    else:
        _end(attempt)
    os.write(tell, b"!")
    while os.read(go, 1):
        if alive and steps_left:
            steps_left -= 1
            try:
                possible = [each for task in attempt.tasks for each in task.steps()]
                chance.choice(possible)()
            except Exception:
                alive = False
                _end(attempt)
        os.write(tell, b"!")
    if alive:
        _end(attempt)


def _end(attempt: Attempt) -> None:
    """The processes of its tasks are gone."""
    for task in attempt.tasks:
        for copy in task.parts.copies:
            copy.give_up()
        task.let_go()


class Leftover:
    """The tasks of an earlier attempt."""

    def __init__(self, told: int, done: int) -> None:
        self._told, self._done = told, done

    def go_on(self) -> None:
        """They take a step."""
        os.write(self._told, b"!")
        os.read(self._done, 1)

    def close(self) -> None:
        """This process tells them nothing any more; when no other one does, they end."""
        os.close(self._told)
        os.close(self._done)
