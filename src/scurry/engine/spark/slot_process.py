"""The process of a slot, to which Spark's workers hand the tasks of that slot.

Spark gives a task to whichever Python worker is free, so the functions of a slot would be opened
in one worker after the other, each with attributes of its own. With Scurry's daemon a slot has one
process for a whole run of the job instead: slot 0 of every stage, and task 0 of the ingress, are
there. A Spark worker that is given a task reads the message with which every task begins. If the
task is of a job of Scurry's, the worker passes that message and its connection to Spark on to the
process of the slot, and waits until the task is over; data do not pass through it.

The processes are forked by a *nursery*, a child of the daemon that has everything imported and does
nothing else: a worker may have threads by then, which do not survive a fork. A process ends when
its functions have been closed, because the run is over, or when it has never had any for a while.
A nursery that is killed takes its processes with it; the next worker that needs a process forks
another nursery, before the worker has done anything else. The nursery also forks the processes that
Spark asks for state variables (:mod:`scurry.engine.spark.state_variables`), and imports what its
processes have had to import (:mod:`scurry.engine.spark.imports`).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import select
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from scurry.common.own_directories import is_alive
from scurry.engine.spark.hand_over import REQUEST
from scurry.engine.spark.imports import IMPORTED, Imports, tell_imports_later
from scurry.engine.spark.launcher import show_nursery
from scurry.engine.spark.slot_work import SlotWork
from scurry.engine.spark.spark_tasks import Task, exactly, execute_task
from scurry.engine.spark.state_variables import tell_state_variables

#: The local property of Spark's jobs that names the run of a job of Scurry's.
RUN_PROPERTY = "scurryRun"
#: How often a process that has nothing to do looks whether it should close its functions.
_LOOK_SECONDS = 0.2
#: How often the nursery looks whether the daemon is still there.
_WATCH_SECONDS = 1.0
#: How long a process lives that has never had functions.
_IDLE_SECONDS = 30.0
#: How long the nursery waits for what somebody who has come to it has to say.
_PATIENCE = 5.0
#: How often a process is asked for before that is given up.
_ATTEMPTS = 10
#: What the process of a slot does, and how garbage is collected there after each task.
Duties = tuple[SlotWork, Callable[[], object]]
#: With this signal a thread interrupts the task of the main thread.
_INTERRUPT = signal.SIGUSR2


class TaskAbandoned(BaseException):
    """Spark has killed the worker that had handed a task over."""


class Processes:
    """Finds the processes of slots, and has the nursery make those that are missing.

    ``directory`` holds their sockets; nobody but the owner can enter it.
    """

    def __init__(self, directory: str, duties: Duties) -> None:
        self._directory = directory
        self._duties = duties
        self._daemon = os.getpid()

    def run(self, task: Task, run_id: str) -> int:
        """Have the process of the slot execute ``task``; the exit code of a worker for it."""
        key = hashlib.blake2b(f"{run_id} {task.partition}".encode(), digest_size=8).hexdigest()
        with self._connect(os.path.join(self._directory, key)) as process:
            size = len(task.message).to_bytes(8, "big")
            socket.send_fds(process, [size], [task.connection.fileno()])
            process.sendall(task.message)
            code = process.recv(1)
        if not code:
            # the process has died: tell Spark, as a worker that dies does
            task.connection.shutdown(socket.SHUT_RDWR)
            return 1
        if code[0]:
            # Spark may wait for more, where a task was given up in the middle
            with suppress(OSError):
                task.connection.shutdown(socket.SHUT_WR)
        return code[0]

    def _connect(self, path: str) -> socket.socket:
        # a process may end, its functions closed, while somebody comes to it
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError, ConnectionRefusedError):
                return _connected(path)
            with self._nursery() as nursery:
                nursery.sendall(os.path.basename(path).encode())
                nursery.shutdown(socket.SHUT_WR)
                nursery.recv(1)
        return _connected(path)

    def _nursery(self) -> socket.socket:
        path = _nursery_in(self._directory)
        with suppress(FileNotFoundError, ConnectionRefusedError):
            return _connected(path)
        with open(f"{path}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # another worker may have been quicker
            with suppress(FileNotFoundError, ConnectionRefusedError):
                return _connected(path)
            self._fork_another(path)
        return _connected(path)

    def _fork_another(self, path: str) -> None:
        """Fork a nursery that outlives this worker: a child of a child that ends at once."""
        with suppress(FileNotFoundError):
            os.unlink(path)
        with _listening(path) as listener:
            child = os.fork()
            if child == 0:
                if os.fork():
                    os._exit(0)
                # above all the connection to Spark, and the lock
                _close_all_but(listener.fileno())
                daemon = self._daemon
                _Nursery(self._directory, listener, lambda: is_alive(daemon), self._duties).serve()
            os.waitpid(child, 0)


def start_nursery(
    directory: str, work: SlotWork, collect_garbage: Callable[[], object]
) -> Processes:
    """Fork the nursery, whose processes do ``work``, and ``collect_garbage`` after each task.
    Called by the daemon, before it has any thread or worker."""
    listener = _listening(_nursery_in(directory))
    show_nursery(_nursery_in(directory))
    daemon, duties = os.getpid(), (work, collect_garbage)
    if os.fork() == 0:
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        _Nursery(directory, listener, lambda: os.getppid() == daemon, duties).serve()
    listener.close()
    return Processes(directory, duties)


def _close_all_but(kept: int) -> None:
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


class _Nursery:
    def __init__(
        self,
        directory: str,
        listener: socket.socket,
        wanted: Callable[[], bool],
        duties: Duties,
    ) -> None:
        """``wanted`` says whether the daemon is still there."""
        self._directory = directory
        self._listener = listener
        self._wanted = wanted
        self._duties = duties
        self._made: dict[str, int] = {}
        self._imports = Imports()

    def serve(self) -> NoReturn:
        """Make processes until the daemon is gone."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, _end)
        try:
            while self._wanted():
                waiting = 0.0 if self._imports.due else _WATCH_SECONDS
                if select.select([self._listener], [], [], waiting)[0]:
                    with suppress(OSError):
                        self._answer(self._listener.accept()[0])
                else:
                    self._imports.go_on()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)
            os._exit(0)

    def _answer(self, asking: socket.socket) -> None:
        with asking:
            asking.settimeout(_PATIENCE)
            said = b"".join(iter(lambda: asking.recv(65536), b""))
            if said.startswith(REQUEST):
                self._lend(said)
            elif said.startswith(IMPORTED):
                self._imports.add(said)
            elif said:
                self._find(said.decode())
            asking.sendall(b"1")

    def _lend(self, request: bytes) -> None:
        """Fork a process that Spark asks for state variables."""
        if os.fork() == 0:
            self._listener.close()
            tell_state_variables(request)

    def _find(self, name: str) -> None:
        """Fork the process of a slot, unless it is there."""
        # a process that is about to end has removed its socket
        there = os.path.exists(os.path.join(self._directory, name))
        if not there or name not in self._made or not is_alive(self._made[name]):
            self._make(name)

    def _make(self, name: str) -> None:
        path = os.path.join(self._directory, name)
        with suppress(FileNotFoundError):
            os.unlink(path)
        with _listening(path) as listener:
            self._made[name] = os.fork()
            if self._made[name] == 0:
                self._listener.close()
                _SlotProcess(listener, path, os.getppid(), *self._duties).serve()


class _SlotProcess:
    def __init__(
        self,
        listener: socket.socket,
        path: str,
        nursery: int,
        work: SlotWork,
        collect_garbage: Callable[[], object],
    ) -> None:
        self._listener = listener
        self._path = path
        #: by which it is told whether the path still leads here, and not to a successor
        self._inode = os.stat(path).st_ino
        self._nursery = nursery
        self._work = work
        self._collect_garbage = collect_garbage
        self._serving: socket.socket | None = None
        #: the last worker that was gone before the end of its task
        self._gone: socket.socket | None = None

    def serve(self) -> NoReturn:
        """Execute the tasks that workers hand over, until this slot's functions are closed."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, _end)
        signal.signal(_INTERRUPT, self._interrupt)
        tell_imports_later(_nursery_in(os.path.dirname(self._path)))
        try:
            self._serve()
            self._leave()
            # whoever came before the socket was gone
            while select.select([self._listener], [], [], 0)[0]:
                self._take(self._listener.accept()[0])
        finally:
            self._leave()
            self._work.end()
            os._exit(0)

    def _leave(self) -> None:
        """Have nobody come here any more."""
        with suppress(OSError):
            if os.stat(self._path).st_ino == self._inode:
                os.unlink(self._path)

    def _serve(self) -> None:
        last = time.monotonic()
        while os.getppid() == self._nursery:
            ready, _, _ = select.select([self._listener], [], [], _LOOK_SECONDS)
            if ready:
                self._take(self._listener.accept()[0])
                last = time.monotonic()
            left = self._work.tend()
            idle = left is None and time.monotonic() - last > _IDLE_SECONDS
            if left == 0 or idle:
                return

    def _take(self, worker: socket.socket) -> None:
        """Execute one task, and tell the worker how it ended."""
        with worker:
            size, fds, _, _ = socket.recv_fds(worker, 8, 1)
            if not fds:
                return  # the worker was killed
            message = exactly(worker, int.from_bytes(size, "big"))
            self._serving = worker
            watched = worker.dup()
            threading.Thread(target=self._watch, args=(worker, watched), daemon=True).start()
            with socket.socket(fileno=fds[0]) as connection:
                try:
                    code = execute_task(connection, message)
                except TaskAbandoned:
                    code = 1
                finally:
                    self._serving = None
            with suppress(OSError):
                worker.sendall(bytes([code]))
        self._collect_garbage()

    def _watch(self, worker: socket.socket, watched: socket.socket) -> None:
        """Interrupt the task if the worker is gone before its end. ``watched`` is the same
        connection under a number of its own: that of ``worker`` may be the next connection's by the
        time that this thread comes to read, and what it read would be missing there."""
        with watched, suppress(OSError):
            watched.recv(1)
        if self._serving is worker:
            self._gone = worker
            signal.pthread_kill(threading.main_thread().ident or 0, _INTERRUPT)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        # the signal may come when the task is over, and another one has begun
        if self._serving is not None and self._serving is self._gone:
            self._serving = None
            raise TaskAbandoned


def _end(number: int, frame: FrameType | None) -> None:
    """Spark has told the daemon to shut down."""
    raise SystemExit


def _nursery_in(directory: str) -> str:
    return os.path.join(directory, "nursery")


def _connected(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.connect(path)
    except BaseException:
        made.close()
        raise
    return made


def _listening(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(path)
    made.listen()
    return made
