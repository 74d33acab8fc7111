"""From what Spark throws to one Python exception that tells the user what to do."""

from __future__ import annotations

import re

from scurry.common.errors import FunctionError, JobError, ScurryError

_BEGIN = "Traceback (most recent call last)"
_JVM = re.compile(r"^\s+at [\w.$]+\(|^Driver stacktrace|^=== Streaming Query|^Caused by: ", re.M)


def as_scurry_error(failure: BaseException) -> BaseException:
    """The error to show for ``failure``; what Spark said stays reachable as its cause."""
    if isinstance(failure, (ScurryError, KeyboardInterrupt, SystemExit)):
        return failure
    text = str(failure)
    found = FunctionError.from_wire(text)
    if found is not None:
        return found
    python = _python_part(text)
    if python is not None:
        return JobError(f"The job failed inside a Spark worker:\n{python}")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return JobError(
        f"Spark stopped the job: {first[:500]} (the whole of Spark's message is this error's "
        "__cause__)"
    )


def _python_part(text: str) -> str | None:
    """The Python traceback inside a message of Spark's, without the JVM's frames around it."""
    start = text.find(_BEGIN)
    if start < 0:
        return None
    end = _JVM.search(text, start)
    return text[start : end.start() if end else None].rstrip()
