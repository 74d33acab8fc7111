"""A slot's functions are in one process at a time, which other processes and the driver see."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from scurry.engine.spark.presence import RunEnded, Seat, dismiss


def nothing() -> None:
    pass


def other_process(directory: Path, place: str, pid: int) -> Path:
    """The note of another process on this machine."""
    note = directory / f"{place}@{socket.gethostname()}@{pid}"
    note.touch()
    return note


def leaves_when_asked(note: Path) -> threading.Thread:
    """A process that removes its note when it is asked to, or when its run has ended."""

    def wait() -> None:
        asked = (note.with_name(f"{note.name}.leave"), note.with_name("ended"))
        while not any(request.exists() for request in asked):
            time.sleep(0.005)
        note.unlink()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_the_process_before_closes_its_functions_first(tmp_path: Path) -> None:
    before = other_process(tmp_path, "1-0", os.getppid())
    thread = leaves_when_asked(before)
    Seat(tmp_path, "1-0").take(nothing)
    assert not before.exists()
    thread.join()


def test_slots_do_not_disturb_each_other(tmp_path: Path) -> None:
    other = other_process(tmp_path, "1-1", os.getppid())
    seat = Seat(tmp_path, "1-0")
    seat.take(nothing)
    assert other.exists()
    assert not seat.must_leave


def test_nobody_waits_for_a_process_that_is_gone(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    other_process(tmp_path, "1-0", gone.pid)
    began = time.monotonic()
    Seat(tmp_path, "1-0").take(nothing)
    dismiss_others = time.monotonic() - began
    assert dismiss_others < 5


def test_two_processes_that_want_what_the_other_has_do_not_wait_for_ever(tmp_path: Path) -> None:
    """While it waits, a process does what others wait for."""
    before = other_process(tmp_path, "1-0", os.getppid())
    mine = Seat(tmp_path, "1-1")
    mine.take(nothing)
    (tmp_path / f"1-1@{socket.gethostname()}@{os.getpid()}.leave").touch()

    def give_up_what_is_asked_for() -> None:
        if mine.must_leave:
            mine.give_up()
            before.unlink()  # only then the other one gives up its own

    Seat(tmp_path, "1-0").take(give_up_what_is_asked_for, patience=20)
    assert not before.exists()


def test_a_process_that_does_not_answer_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = other_process(tmp_path, "1-0", os.getppid())
    Seat(tmp_path, "1-0").take(nothing, patience=0.05)
    assert f"{other.name} has not closed its functions of slot 1-0" in caplog.text


def test_the_driver_waits_until_all_functions_are_closed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    threads = [leaves_when_asked(other_process(run, f"1-{n}", os.getppid())) for n in range(3)]
    dismiss(run)
    assert not run.exists()
    for thread in threads:
        thread.join()
    dismiss(run)  # a run that had none


def test_the_driver_does_not_wait_for_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    other = other_process(run, "1-0", os.getppid())
    with caplog.at_level(logging.WARNING):
        dismiss(run, patience=0.05)
    assert other.name in caplog.text


def test_functions_are_closed_when_the_run_ends_or_its_directory_is_gone(tmp_path: Path) -> None:
    seats = [Seat(tmp_path / run, "0-0") for run in ("ended", "gone", "on")]
    for seat in seats:
        seat.directory.mkdir()
        seat.take(nothing)
    (tmp_path / "ended" / "ended").touch()
    dismissed = tmp_path / "gone"
    for note in dismissed.iterdir():
        note.unlink()
    dismissed.rmdir()
    assert [seat.must_leave for seat in seats] == [True, True, False]


def test_a_task_that_begins_after_the_end_of_its_run_opens_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "ended").touch()
    with pytest.raises(RunEnded):
        Seat(run, "1-0").take(nothing)
    assert [path.name for path in run.iterdir()] == ["ended"]
    dismiss(run)
    with pytest.raises(RunEnded):
        Seat(run, "1-0").take(nothing)
    assert list(tmp_path.iterdir()) == []


def test_whoever_opens_functions_while_a_run_ends_is_waited_for(tmp_path: Path) -> None:
    """A task starts and a run ends at once, many times: afterwards nothing is open."""
    for number in range(300):
        run = tmp_path / str(number)
        run.mkdir()
        still_open: list[Seat] = []

        def start(run: Path, still_open: list[Seat]) -> None:
            seat = Seat(run, "1-0")
            try:
                seat.take(nothing)
            except RunEnded:
                return
            still_open.append(seat)
            while not seat.must_leave:
                time.sleep(0.0005)
            still_open.remove(seat)
            seat.give_up()

        task = threading.Thread(target=start, args=(run, still_open))
        task.start()
        time.sleep(number % 30 / 100_000)
        dismiss(run)
        assert still_open == []
        task.join()
