"""Processes of slots: one for each place, made when it is needed, gone when it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

#: A daemon whose slot processes answer each task with their own number, for as long as the file
#: "wanted" is there; a task "hang" takes for ever, and so does closing if a file "slow" is there. A
#: task "imports" tells which of two modules its process had before it imported them.
DAEMON = """
import importlib, os, sys, time
from scurry.engine.spark import imports, slot_process
from scurry.engine.spark.slot_work import SlotWork
from scurry.engine.spark.spark_tasks import Task

place = sys.argv[1]

def told(*what):
    with open(place + "/told", "a") as file:
        print(*what, os.getpid(), file=file)

def execute(connection, message):
    connection.sendall(str(os.getpid()).encode())
    if message == b"hang":
        told("hangs")
        try:
            time.sleep(60)
        except BaseException as failure:
            told(type(failure).__name__)
            raise
    if message == b"imports":
        names = "scurry.datastream", "program"
        told(*(name for name in names if name in sys.modules), "|")
        for name in names:
            importlib.import_module(name)
    if message == b"die":
        os.kill(os.getpid(), 9)
    return 7 if message == b"fail" else 0

def close():
    told("closed")
    while os.path.exists(place + "/slow"):
        time.sleep(0.01)

slot_process.execute_task = execute
imports._LATER_SECONDS = 0.01
imports.SOON_NEEDED = imports.OF_MICRO_BATCHES = ()
os.setpgid(0, 0)
work = SlotWork(lambda: int(os.path.exists(place + "/wanted")), close)
processes = slot_process.start_nursery(place + "/s", work, lambda: None)
import socket
for line in sys.stdin:
    run, partition, message = line.split()
    spark, worker = socket.socketpair()
    code = processes.run(Task(worker, message.encode(), int(partition), {}), run)
    spark.settimeout(20)
    told = spark.recv(100).decode()
    # after a failure Spark must not wait for more
    assert not code or not told or not spark.recv(100)
    print(code, told or "hung up", flush=True)
"""


class Daemon:
    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "wanted").touch()
        self.sockets = place / "s"
        self.sockets.mkdir()
        (place / "daemon.py").write_text(DAEMON)
        self.process = subprocess.Popen(
            [sys.executable, str(place / "daemon.py"), str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, run: str, partition: int, message: str = "go") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{run} {partition} {message}\n")

    def answer(self) -> tuple[int, int]:
        """The code of the last task, and the process that had it."""
        assert self.process.stdout is not None
        code, pid = self.process.stdout.readline().split()
        return int(code), int(pid)

    def task(self, run: str, partition: int, message: str = "go") -> tuple[int, int]:
        self.ask(run, partition, message)
        return self.answer()

    def told(self) -> list[str]:
        file = self.place / "told"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    made = Daemon(tmp_path_factory.mktemp("d"))
    yield made
    made.process.kill()
    made.process.wait()
    assert made.process.stdin is not None
    assert made.process.stdout is not None
    made.process.stdin.close()
    made.process.stdout.close()


def until(condition: object, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    assert callable(condition)
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def nurseries(daemon: Daemon) -> list[psutil.Process]:
    """All processes that run the daemon's code and have not been handed a task by it."""
    script = str(daemon.place / "daemon.py")
    slots = {int(line.split()[1]) for line in daemon.told()} | {daemon.process.pid}
    found = []
    for process in psutil.process_iter(["cmdline", "pid"]):
        if script in (process.info["cmdline"] or []) and process.pid not in slots:
            found.append(process)
    return found


def test_a_nursery_that_is_killed_is_replaced(daemon: Daemon) -> None:
    """Its processes go with it, and the next task of each slot finds another one."""
    before = {daemon.task("a", 0)[1], daemon.task("a", 1)[1]}
    (nursery,) = [one for one in nurseries(daemon) if one.pid not in before]
    nursery.kill()
    until(lambda: all(gone(pid) for pid in before))
    for _ in range(2):
        after = {daemon.task("a", slot) for slot in (0, 1)}
        assert {code for code, _ in after} == {0}
        assert not {pid for _, pid in after} & before
    pids = {pid for _, pid in after}
    assert {daemon.task("a", 0)[1], daemon.task("a", 1)[1]} == pids
    # it ends with the daemon, as the first one would have
    (another,) = [one for one in nurseries(daemon) if one.pid not in pids]
    daemon.process.kill()
    daemon.process.wait()
    until(lambda: gone(another.pid) and all(gone(pid) for pid in pids))
    assert not daemon.sockets.exists()


def test_a_slot_of_a_run_has_one_process(daemon: Daemon) -> None:
    found = {place: daemon.task(*place) for place in (("a", 0), ("a", 1), ("b", 0))}
    assert {code for code, _ in found.values()} == {0}
    assert len({pid for _, pid in found.values()}) == 3
    assert found == {place: daemon.task(*place) for place in found}
    code, pid = daemon.task("a", 0, "fail")
    assert (code, pid) == (7, found["a", 0][1]), "the worker hears how the task ended"


def test_a_process_ends_when_its_functions_are_closed(daemon: Daemon) -> None:
    _, pid = daemon.task("a", 0)
    (daemon.place / "wanted").unlink()
    until(lambda: gone(pid))
    assert daemon.told() == [f"closed {pid}"]
    (daemon.place / "wanted").touch()
    _, other = daemon.task("a", 0)
    assert other != pid


def test_a_task_that_comes_while_a_process_ends_gets_another_one(daemon: Daemon) -> None:
    (daemon.place / "slow").touch()
    _, pid = daemon.task("a", 0)
    (daemon.place / "wanted").unlink()
    until(lambda: daemon.told() == [f"closed {pid}"])
    (daemon.place / "wanted").touch()
    code, other = daemon.task("a", 0)
    assert not gone(pid)
    assert (code, other != pid) == (0, True)
    (daemon.place / "slow").unlink()


def test_no_task_is_lost_where_processes_end_after_each(daemon: Daemon) -> None:
    (daemon.place / "wanted").unlink()
    assert {daemon.task("a", 0)[0] for _ in range(100)} == {0}


def test_what_a_process_had_to_import_later_ones_need_not(daemon: Daemon) -> None:
    """Scurry's modules, not those of the program, which may have changed by then."""
    (daemon.place / "program.py").touch()

    def held_in_another_process() -> str:
        daemon.task("a", 0, "imports")
        (daemon.place / "wanted").unlink()
        until(lambda: daemon.told()[-1].startswith("closed"))
        (daemon.place / "wanted").touch()
        return daemon.told()[-2].partition("|")[0].strip()

    assert held_in_another_process() == ""
    until(lambda: held_in_another_process() == "scurry.datastream")


def test_spark_hears_of_a_process_that_died(daemon: Daemon) -> None:
    code, pid = daemon.task("a", 0, "die")
    assert code == 1
    until(lambda: gone(pid))
    assert daemon.task("a", 0)[0] == 0, "the next task gets a new one"


def test_a_task_is_interrupted_when_spark_kills_its_worker(daemon: Daemon) -> None:
    daemon.ask("a", 0, "hang")
    until(lambda: len(daemon.told()) == 1)
    daemon.process.kill()
    until(lambda: len(daemon.told()) == 3)
    assert [line.split()[0] for line in daemon.told()] == ["hangs", "TaskAbandoned", "closed"]


def test_functions_are_closed_when_the_daemon_shuts_down(daemon: Daemon) -> None:
    _, pid = daemon.task("a", 0)
    os.killpg(daemon.process.pid, signal.SIGHUP)
    until(lambda: daemon.told() == [f"closed {pid}"])
    until(lambda: not daemon.sockets.exists())
