"""From what Spark throws to one Python exception that tells the user what to do."""

from __future__ import annotations

import importlib.util
import re
import sys

from scurry.common.errors import FunctionError, JobError, ScurryError, verbose

_BEGIN = "Traceback (most recent call last)"
_NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '(\w+)", re.M)
#: what stands before the message of an error of Scurry's: its module
_ON_PURPOSE = re.compile(r"scurry(\.\w+)+\.(?=\w*Error: )")
#: a frame of a traceback, and the path in it
_FRAME = re.compile(r'(^  File "(.+?)", line .*\n(?:    .*\n)*)', re.M)
_NOT_THE_PROGRAM = re.compile(
    r"<|[/\\](pyspark|cloudpickle|lib[/\\]python[\d.]+)[/\\]|pyspark\.zip"
    r"|[/\\]scurry[/\\](common|connectors|engine|functions|runtime|state|windowing)[/\\]"
)
_JVM = re.compile(
    r"^\s+at [\w.$]+\(|^Driver stacktrace|^=== Streaming Query|^Caused by: |^ SQLSTATE: ", re.M
)


def as_scurry_error(failure: BaseException) -> BaseException:
    """The error to show for ``failure``; all that Spark said is in its ``details``."""
    if isinstance(failure, (ScurryError, KeyboardInterrupt, SystemExit)):
        return failure
    text = str(failure)
    shown = FunctionError.from_wire(text) or _job_error(failure, text)
    shown.details = text
    return shown


def _job_error(failure: BaseException, text: str) -> JobError:
    python = _python_part(text)
    if python is not None:
        advice = _other_python(python)
        return JobError(f"{advice}The job failed inside a Spark worker:{_essence(python)}")
    if isinstance(failure, OSError):
        return JobError(
            f"The driver cannot read or write a file of the job: {failure}. See to the disk and to "
            "the rights of the checkpoint's directory, and start the job again: it goes on where "
            "it was."
        )
    first = first_line(text)
    if not _of_spark(failure):
        return JobError(f"The job failed on the driver: {type(failure).__name__}: {first}")
    if verbose():
        return JobError(f"Spark stopped the job: {first} (Spark's own error is the __cause__)")
    return JobError(
        f"Spark stopped the job: {first} (all that Spark said is in this error's `details`; with "
        "SCURRY_FULL_TRACEBACK=1 in the environment it is printed)"
    )


def _essence(python: str) -> str:
    """What matters in a traceback of a worker's: of an error that Scurry raises on purpose its
    message, of others the frames of the program, or all frames if none is the program's."""
    *_, last = python.rpartition(_BEGIN)
    lines = last.partition("\n")[2].split("\n")
    begin = next((at for at, line in enumerate(lines) if line and line[0] != " "), 0)
    message = "\n".join(lines[begin:])
    if _ON_PURPOSE.match(message):
        return f" {_ON_PURPOSE.sub('', message, count=1)}"
    frames = _FRAME.findall("\n".join([*lines[:begin], ""]))
    own = [text for text, path in frames if not _NOT_THE_PROGRAM.search(path)]
    return f" {message}\n{''.join(own).rstrip()}" if own else f"\n{python}"


def _other_python(python: str) -> str:
    """What to do if a worker lacks a module that this process has; empty if that is not it."""
    missing = _NO_MODULE.search(python)
    if missing is None or importlib.util.find_spec(missing.group(1)) is None:
        return ""
    return (
        f"Spark's Python workers have no module {missing.group(1)!r}, and this program has: they "
        "run another Python. Set the environment variable PYSPARK_PYTHON to "
        f"{sys.executable!r}, or to a Python on every machine that has the same packages, before "
        "the SparkSession is made. A session that Scurry makes does so by itself.\n"
    )


def _of_spark(failure: BaseException) -> bool:
    return type(failure).__module__.partition(".")[0] in ("pyspark", "py4j")


def first_line(text: str) -> str:
    """What a message of Spark's says, without the stack below it and without the Java class
    through which Python has asked."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = [lines[1].removeprefix(": "), *lines[2:]]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    if causes and ": " not in lines[0]:
        # a Java class without a message says less than what was below it
        lines = [causes[-1]]
    return lines[0][:500] if lines else "no message"


def _python_part(text: str) -> str | None:
    """The Python traceback inside a message of Spark's, without the JVM's frames around it."""
    start = text.find(_BEGIN)
    if start < 0:
        return None
    end = _JVM.search(text, start)
    return text[start : end.start() if end else None].rstrip()
