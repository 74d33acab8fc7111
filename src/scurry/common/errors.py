"""The errors Scurry raises, all below one root.

Each message answers three questions: what is wrong (with the offending value), where (the
operator's name and uid, the user's file and line), and what to do about it. A job that fails
inside a Spark worker surfaces as one of these too: :class:`FunctionError` carries the user's own
traceback out of the worker, so nobody has to read a JVM stack trace.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

_WIRE = re.compile(r"scurry-error:([A-Za-z0-9+/=]+):")


class ScurryError(Exception):
    """Root of all errors that Scurry raises on purpose."""


class ConfigurationError(ScurryError, ValueError):
    """A configuration value is missing, malformed or contradicts another."""


class ProgramError(ScurryError, TypeError, ValueError):
    """The user's program is wrong, found while the job is built, before any record flows.

    PyFlink raises a `TypeError` for some of these mistakes and a `ValueError` for others; what a
    program does about either works here too.
    """


class TypeMismatchError(ScurryError, TypeError):
    """A value does not conform to the type that was declared for it."""


class KeyTypeError(ScurryError):
    """A key selector returned something that cannot serve as a key."""


class NotSupportedError(ScurryError):
    """Something of PyFlink's surface that Scurry does not offer (yet, or by design)."""


class StateError(ScurryError):
    """Durable state cannot be read or does not fit the program."""


class OtherHistoryError(StateError):
    """A sink has committed batches that the job's checkpoint does not know: an older copy of the
    checkpoint was put back, or somebody else has gone on from a copy."""


class JobError(ScurryError):
    """A running job failed; the message is the whole story, the cause is for the curious."""


class FunctionError(JobError):
    """A user function failed on an element.

    Attributes mirror what the message shows, so that programs can react to them:
    ``operator``, ``uid``, ``element`` (shortened repr), ``exception`` (type and text) and
    ``traceback`` (only the frames of the user's code).
    """

    def __init__(
        self,
        operator: str,
        uid: str,
        element: str,
        exception: str,
        traceback: str,
        hint: str = "",
    ) -> None:
        self.operator = operator
        self.uid = uid
        self.element = element
        self.exception = exception
        self.traceback = traceback
        self.hint = hint
        lines = [f"{exception}", f"  in operator {operator!r} (uid {uid!r})"]
        if element:
            lines.append(f"  on element {element}")
        if traceback:
            lines.append(traceback.rstrip("\n"))
        if hint:
            lines.append(f"  hint: {hint}")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            FunctionError,
            (
                self.operator,
                self.uid,
                self.element,
                self.exception,
                self.traceback,
                self.hint,
            ),
        )

    def to_wire(self) -> str:
        """A single token that survives being embedded in a JVM exception's text."""
        fields = {
            "operator": self.operator,
            "uid": self.uid,
            "element": self.element,
            "exception": self.exception,
            "traceback": self.traceback,
            "hint": self.hint,
        }
        token = base64.b64encode(json.dumps(fields).encode()).decode()
        return f"scurry-error:{token}:"

    @classmethod
    def from_wire(cls, text: str) -> FunctionError | None:
        """The error embedded in ``text`` by :meth:`to_wire`, if there is one."""
        found = _WIRE.search(text)
        if found is None:
            return None
        return cls(**json.loads(base64.b64decode(found.group(1))))


def shorten(value: object, limit: int = 200) -> str:
    """A repr of ``value`` fit for an error message; never raises, never longer than ``limit``."""
    try:
        text = repr(value)
    except Exception as failure:  # a user's __repr__ may itself be broken
        text = f"<{type(value).__name__} whose repr failed: {failure}>"
    if len(text) <= limit:
        return text
    return f"{text[: limit - 20]}... ({len(text)} chars)"
