"""From what Spark throws to one Python exception that tells the user what to do."""

from __future__ import annotations

import re

from scurry.common.errors import FunctionError, JobError, ScurryError

_PYTHON = re.compile(r"(Traceback \(most recent call last\):.*?)(?:\n\s*\n|\n\tat |\Z)", re.DOTALL)


def as_scurry_error(failure: BaseException) -> BaseException:
    """The error to show for ``failure``; what Spark said stays reachable as its cause."""
    if isinstance(failure, (ScurryError, KeyboardInterrupt, SystemExit)):
        return failure
    text = str(failure)
    found = FunctionError.from_wire(text)
    if found is not None:
        return found
    python = _PYTHON.search(text)
    if python is not None:
        return JobError(f"The job failed inside a Spark worker:\n{python.group(1).rstrip()}")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return JobError(
        f"Spark stopped the job: {first[:500]} (the whole of Spark's message is this error's "
        "__cause__)"
    )
