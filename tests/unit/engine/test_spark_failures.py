"""What becomes of the exceptions that Spark, its workers and the driver raise."""

from __future__ import annotations

import sys

import pytest

from scurry.common.errors import FunctionError, JobError
from scurry.engine.spark.failures import as_scurry_error


class FromSpark(Exception):
    pass


FromSpark.__module__ = "pyspark.errors.exceptions.captured"

JAVA = """An error occurred while calling o81.awaitTermination.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)
Caused by: java.io.IOException: No space left on device
"""


@pytest.mark.parametrize("hint", ["", "look at the data"])
@pytest.mark.parametrize("trace", ["", '  File "job.py", line 3, in f\n    1 / 0\n'])
@pytest.mark.parametrize("element", ["", "(1, 'a\\nb')", "odd \x1e\x1f signs"])
def test_an_error_of_a_function_comes_through_the_jvm(element: str, trace: str, hint: str) -> None:
    sent = FunctionError("my map", "uid-1", element, "ZeroDivisionError: by zero", trace, hint)
    wire = sent.to_wire()
    seen = as_scurry_error(FromSpark(f"Traceback ...\nWorkerFailure: {wire}\n\tat java.lang.X"))
    assert isinstance(seen, FunctionError)
    clean = element.replace("\x1e", "").replace("\x1f", "")
    assert (seen.operator, seen.uid, seen.element) == ("my map", "uid-1", clean)
    assert (seen.exception, seen.traceback, seen.hint) == (sent.exception, trace, hint)


def test_the_log_of_a_worker_can_be_read() -> None:
    sent = FunctionError("my map", "uid-1", "7", "ZeroDivisionError: by zero", "  File x\n", "h")
    shown = sent.to_wire().replace("\x1e", "").replace("\x1f", "")
    assert [line for line in shown.splitlines() if line][:-1] == str(sent).splitlines()
    assert not sent.to_wire()[-1].isspace()


def test_what_spark_says_is_shortened_and_kept() -> None:
    shown = as_scurry_error(FromSpark(JAVA))
    assert isinstance(shown, JobError)
    assert str(shown).startswith(
        "Spark stopped the job: org.apache.spark.SparkException: Job aborted due to stage failure ("
    )
    assert "SCURRY_FULL_TRACEBACK=1" in str(shown)
    assert "`details`" in str(shown)
    assert shown.details == JAVA
    assert "__cause__" not in str(shown)


def test_a_class_without_a_message_gives_way_to_its_cause() -> None:
    text = "An error occurred while calling None.X.\n: java.lang.Error\n\tat a.b(c)\n"
    shown = as_scurry_error(FromSpark(f"{text}Caused by: java.io.IOException: no host\n"))
    assert "Spark stopped the job: java.io.IOException: no host (" in str(shown)


def test_the_text_names_the_cause_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCURRY_FULL_TRACEBACK", "1")
    assert "(Spark's own error is the __cause__)" in str(as_scurry_error(FromSpark(JAVA)))


@pytest.mark.parametrize(("module", "advised"), [("scurry", True), ("no_such_module", False)])
def test_workers_that_run_another_python(module: str, advised: bool) -> None:
    trace = f"Traceback (most recent call last):\nModuleNotFoundError: No module named '{module}'\n"
    text = str(as_scurry_error(FromSpark(f"failed: {trace}\n\tat java.lang.X(Y)")))
    assert f"No module named '{module}'" in text
    assert text.startswith("Spark's Python workers have no module 'scurry'") == advised
    assert (f"Set the environment variable PYSPARK_PYTHON to {sys.executable!r}" in text) == advised


ENGINE = '  File "/x/lib/python3.11/site-packages/scurry/engine/live/task.py", line 159, in run\n'
FRAMES = f"{ENGINE}    self._loop()\n           ^^^^\n"
PROGRAM = '  File "/home/me/scurry/job.py", line 4, in bad\n    sys.exit(3)\n'


@pytest.mark.parametrize(
    ("frames", "message", "shown"),
    [
        (
            FRAMES,
            "scurry.common.errors.StateError: state 'n' of\nkey 1",
            " StateError: state 'n' of\nkey 1",
        ),
        (FRAMES + PROGRAM, "SystemExit: 3", f" SystemExit: 3\n{PROGRAM.rstrip()}"),
        (FRAMES, "KeyError: 7", f"\nTraceback (most recent call last):\n{FRAMES}KeyError: 7"),
    ],
    ids=["on purpose", "of the program", "of the engine"],
)
def test_of_a_worker_s_traceback_there_is_what_matters(
    frames: str, message: str, shown: str
) -> None:
    text = f"x\nTraceback (most recent call last):\n{frames}{message}\n\tat java.lang.X(Y)"
    found = as_scurry_error(FromSpark(text))
    assert str(found) == f"The job failed inside a Spark worker:{shown}"
    assert isinstance(found, JobError)
    assert found.details == text


def test_of_errors_in_turn_the_last_counts() -> None:
    first = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\nTypeError: no pickle\n'
    )
    text = f"{first}\nDuring handling\n\n{first.replace('TypeError', 'scurry.x.StateError')}"
    assert str(as_scurry_error(FromSpark(text))).endswith("worker: StateError: no pickle")


def test_a_failure_of_the_driver_is_not_blamed_on_spark() -> None:
    full = as_scurry_error(OSError(28, "No space left on device", "/checkpoint/plans/1"))
    assert "No space left on device: '/checkpoint/plans/1'" in str(full)
    assert "start the job again: it goes on where it was" in str(full)
    other = as_scurry_error(KeyError("x"))
    assert str(other) == "The job failed on the driver: KeyError: 'x'"
