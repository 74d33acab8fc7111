"""A task of the live engine: one process, one loop, from the start of the job to its end.

The loop takes what other tasks and the driver have sent, runs a round of a part if one can be run,
and sends what came of it. It never waits for one connection: whoever is slow holds up nobody but
those who wait for what it sends. The task ends when the driver says so; when the driver or another
task has gone, it fails, and the job begins anew at the last checkpoint.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from pyspark import TaskContext

from scurry.checkpoint.file_journal import FileJournal, StoredHead, place_name
from scurry.checkpoint.initial_state import InitialState
from scurry.common.errors import FunctionError
from scurry.engine.live.doors import Address, Door, connect, own_host
from scurry.engine.live.encryption import Identity
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
    Told,
    as_round,
)
from scurry.engine.live.parts import Parts
from scurry.engine.spark.local_stores import LocalStores
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.worker import nothing_more_comes
from scurry.engine.waits import NoteBoard
from scurry.runtime.envelope import Envelope
from scurry.runtime.host import SlotHost

_log = logging.getLogger("scurry.engine")
#: Bytes that wait for another task above which nothing new is run until some are sent.
_MOST_WAITING = 64 << 20
#: How long the loop waits at most before it looks whether anything else is to be done.
_WAIT_SECONDS = 1.0
#: How often it is looked whether a task that has ended still watches the driver.
_LOOK_SECONDS = 1.0
#: How long a task may go on after the driver has gone.
_LAST_SECONDS = 3.0
#: How long a task waits for another process to let go of its slot's local store.
_EVICTION_SECONDS = 5.0


class TaskFailure(RuntimeError):
    """What made a task fail, in a form that survives the way through the JVM."""


class Gone(ConnectionError):
    """The driver, or another task, is not there any more."""


class LiveWork:
    """What Spark runs in each of the ``tasks`` tasks of a job; ``driver`` is where the driver can
    be reached. Where tasks may be on different machines, each listens for the others at
    the address by which it reaches the driver."""

    def __init__(
        self,
        payload: JobPayload,
        tasks: int,
        driver: Address,
        secret: bytes,
        token: str,
        identity: Identity | None = None,
        copy_above: int = -1,
    ) -> None:
        self._payload = payload
        self._tasks = tasks
        self._driver = driver
        self._secret = secret
        self._token = token
        self._identity = identity
        self._copy_above = copy_above

    def __call__(self, _: Iterable[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        assert context is not None
        self._payload.prepare()
        task = LiveTask(
            self._payload,
            *(context.partitionId(), self._tasks, self._driver, self._secret, self._token),
            *(self._identity, self._copy_above),
        )
        try:
            with NoteBoard(self._payload.home.waiting):
                task.run()
        finally:
            nothing_more_comes()
        return iter(())


class LiveTask:
    """One task, from its start to its end."""

    def __init__(
        self,
        payload: JobPayload,
        index: int,
        tasks: int,
        driver: Address,
        secret: bytes,
        token: str,
        identity: Identity | None,
        copy_above: int,
    ) -> None:
        self._payload = payload
        self._index = index
        self._tasks = tasks
        self._secret = secret
        self._token = token
        self._identity = identity
        self._copy_above = copy_above
        self._control = link_over(connect(driver, secret, index, identity))
        #: where others can reach this task, None if all are on this machine
        self._host = None if driver.tcp is None else own_host(driver.tcp)
        self._peers: dict[int, Link] = {}
        self._stores = LocalStores()
        self._journals: dict[str, StoredHead] = {}
        self._ended = False
        self._closed = threading.Event()
        self._parts: Parts | None = None
        self._poll = select.poll()
        #: the sockets of which the poll tells when they take more
        self._full: set[int] = set()
        #: by the number of the socket: the task at its other end, None for the driver
        self._who: dict[int, int | None] = {}
        #: the pipes of copies of this process
        self._copies: set[int] = set()

    def run(self) -> None:
        """Run until the end; raises what makes the task fail."""
        try:
            self._meet()
            self._watch_driver()
            # what is there by now stays: collections of garbage need not look at it every time,
            # which takes longer than many rounds
            gc.freeze()
            self._loop()
        except Gone:
            raise
        except FunctionError as failure:
            self._fail(failure.to_wire())
            raise TaskFailure(failure.to_wire()) from None
        except BaseException:
            self._fail(traceback.format_exc())
            raise
        finally:
            self._close()

    def _watch_driver(self) -> None:
        """See to it that the process ends soon after the driver, even if a function that takes long
        keeps the loop from noticing."""
        threading.Thread(target=self._outlive, name="scurry-driver-watch", daemon=True).start()

    def _outlive(self) -> None:
        watched = select.poll()
        # of the events that are asked for, none may be one that the loop makes go away
        watched.register(self._control.fileno(), getattr(select, "POLLRDHUP", 0))
        while not self._closed.is_set():
            if watched.poll(_LOOK_SECONDS * 1000) and not self._closed.wait(_LAST_SECONDS):
                _log.warning("the driver is gone, and task %s does not end", self._index)
                os._exit(1)

    def _close(self) -> None:
        self._closed.set()
        gc.unfreeze()
        ended = [] if self._parts is None else self._parts.close()
        for host in ended:
            self._stores.erase(host.store.local)
        # another attempt of this process could not open them again
        self._stores.close()
        for link in (*self._peers.values(), self._control):
            link.close()

    def _fail(self, text: str) -> None:
        """Tell the driver what has happened, before the others only see that this task is gone."""
        self._control.send([FAILED, self._index, text])
        self._flush_all()

    # --- meeting the others

    def _meet(self) -> None:
        door = Door(self._secret, self._host, self._identity)
        try:
            self._control.send([CAME, self._index, door.address, os.getpid()])
            addresses = self._await_addresses()
            for number in range(self._index):
                self._peers[number] = link_over(
                    connect(addresses[number], self._secret, self._index, self._identity)
                )
            while len(self._peers) < self._tasks - 1:
                self._let_in(door)
        finally:
            door.close()
        self._watch(self._control, None)
        for number, link in self._peers.items():
            self._watch(link, number)
        self._parts = Parts(
            self._payload.load(),
            *(self._index, self._tasks, self._send, self._tell),
            load=self._payload.load,
            make_host=self._make_host,
            copy_above=self._copy_above,
        )
        self._control.send([READY, self._index])

    def _await_addresses(self) -> list[Address]:
        self._control.flush()
        while True:
            _await([self._control])
            for message in self._control.receive():
                if message[0] == MEET:
                    self._journals = msgspec.convert(message[2], dict[str, StoredHead])
                    return msgspec.convert(message[1], list[Address])
                if message[0] == END:
                    raise Gone("the driver has ended the job before it began")
            if self._control.closed:
                raise Gone("the driver is gone")

    def _let_in(self, door: Door) -> None:
        numbers = [*(each.fileno() for each in door.sockets), self._control.fileno()]
        ready = _await(numbers)
        if self._control.fileno() in ready:
            self._control.receive()
            if self._control.closed:
                raise Gone("the driver is gone")
        for each in door.sockets:
            found = door.accept(each) if each.fileno() in ready else None
            if found is not None:
                number, connection = found
                self._peers[number] = link_over(connection)

    def _make_host(self, stage: int) -> tuple[SlotHost, FileJournal]:
        payload, slot = self._payload, self._index
        job, home = payload.load(), payload.home
        local = self._stores.get(job, payload.stores, stage, slot, home.path)
        # a task of the attempt before this one may not have noticed yet that it is over
        self._stores.keep_others_out(local, _EVICTION_SECONDS)
        store = job.state.slot_store(local, job.max_parallelism)
        if payload.begins_with_state:
            store.initial = InitialState(home.initial_state_of(stage, slot)).fill
        stored = self._journals.get(place_name(stage, slot))
        journal = FileJournal(home.log(stage, slot), home.runs(stage, slot), self._token, stored)
        return SlotHost(job, stage, slot, store, home.feeds), journal

    # --- the loop

    @property
    def _running(self) -> Parts:
        assert self._parts is not None
        return self._parts

    def _loop(self) -> None:
        parts = self._running
        while not self._ended:
            moved = not self._is_held_up() and parts.advance()
            self._flush_all()
            self._watch_copies()
            self._take_in(0 if moved else _WAIT_SECONDS)
        self._send_rest()

    def _is_held_up(self) -> bool:
        return any(link.backlog > _MOST_WAITING for link in self._peers.values())

    def _take_in(self, seconds: float) -> None:
        """Take what has arrived, waiting for it up to ``seconds``."""
        for number, _ in self._poll.poll(seconds * 1000):
            if number in self._copies:
                continue
            who = self._who[number]
            link = self._control if who is None else self._peers[who]
            for message in link.receive():
                if who is None:
                    self._obey(message)
                else:
                    self._running.take(*message)
            if link.closed and not self._ended:
                self._missing(number, who)

        self._running.hear_copies()

    def _watch_copies(self) -> None:
        """Be woken by what copies of this process tell."""
        now = {copy.fileno() for copy in self._running.copies}
        for number in self._copies - now:
            self._poll.unregister(number)
        for number in now - self._copies:
            self._poll.register(number, select.POLLIN)
        self._copies = now

    def _missing(self, number: int, who: int | None) -> None:
        """Whoever was at the other end is gone."""
        self._poll.unregister(number)
        if who is None:
            raise Gone("the driver is gone")
        # when the job ends, others may hear of it before this task does: so the driver decides
        self._control.send([LOST, self._index, who])

    def _obey(self, message: Any) -> None:
        if message[0] == ROUND:
            self._running.plan(as_round(message[1]))
        elif message[0] == END:
            self._ended = True

    def _watch(self, link: Link, who: int | None) -> None:
        self._who[link.fileno()] = who
        self._poll.register(link.fileno(), select.POLLIN)

    def _send(self, part: int, number: int, task: int, some: list[Envelope], ends: bool) -> None:
        if task == self._index:
            self._running.take(part, number, some, ends)
            return
        link = self._peers[task]
        link.send([part, number, some, ends])
        link.flush()

    def _tell(self, news: Done | Told) -> None:
        self._control.send([DONE if isinstance(news, Done) else TOLD, news])

    def _flush_all(self) -> None:
        """Send what the others take, and be woken when they take more."""
        for link in (*self._peers.values(), self._control):
            if link.closed:
                continue
            if link.backlog:
                link.flush()
            number, full = link.fileno(), bool(link.backlog)
            if full != (number in self._full) and number in self._who:
                self._poll.modify(number, select.POLLIN | (select.POLLOUT if full else 0))
                (self._full.add if full else self._full.discard)(number)

    def _send_rest(self) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        links = (*self._peers.values(), self._control)
        while any(link.backlog for link in links) and time.monotonic() < deadline:
            self._flush_all()
            time.sleep(0.001)


def _await(readers: Iterable[int | Link]) -> set[int]:
    """Wait until some of ``readers`` can be read; their numbers. Not by select, which knows only
    the first thousand descriptors of a process."""
    poll = select.poll()
    for reader in readers:
        poll.register(reader, select.POLLIN)
    return {number for number, _ in poll.poll()}
