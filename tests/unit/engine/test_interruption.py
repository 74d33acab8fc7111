"""What signals do to a program that waits for a job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scurry.engine.interruption import interruptible

REPOSITORY = Path(__file__).parents[3]
#: A program that waits for a job which ends when it is told to, or never.
PROGRAM = """
import sys, threading
from scurry.engine.interruption import interruptible

ended = threading.Event()
stop = ended.set if sys.argv[1] == "obedient" else (lambda: None)
with interruptible("counting", stop) as interruption:
    print("waiting", flush=True)
    ended.wait()
interruption.conclude()
"""


def run(kind: str, *signals: signal.Signals) -> tuple[int, str]:
    """The exit code of the program, and what it told."""
    job = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, kind],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    assert job.stdout.readline() == "waiting\n"
    for one in signals:
        job.send_signal(one)
    _, told = job.communicate(timeout=60)
    return job.returncode, told


@pytest.mark.parametrize(
    ("sent", "code", "name"),
    [(signal.SIGINT, -signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, 128 + signal.SIGTERM, "SIGTERM")],
)
def test_the_first_signal_stops_the_job(sent: signal.Signals, code: int, name: str) -> None:
    assert run("obedient", sent) == (
        code,
        f"Job 'counting' stops after the micro-batch under way ({name}); a second signal ends it "
        "at once.\nJob 'counting' was stopped; all it has processed is committed.\n",
    )


def test_a_second_signal_ends_the_program_at_once() -> None:
    code, told = run("stubborn", signal.SIGINT, signal.SIGTERM)
    assert code in (128 + signal.SIGINT, 128 + signal.SIGTERM)
    assert told.endswith("Job 'counting' was ended at once.\n")


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with interruptible("job", lambda: None) as interruption:
        assert signal.getsignal(signal.SIGINT) is interruption
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    interruption.conclude()


def test_another_thread_leaves_signals_alone() -> None:
    seen = []

    def wait() -> None:
        with interruptible("job", lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
