"""The errors Scurry raises, all below one root.

Each message answers three questions: what is wrong (with the offending value), where (the
operator's name and uid, the user's file and line), and what to do about it. A job that fails
inside a Spark worker surfaces as one of these too: :class:`FunctionError` carries the user's own
traceback out of the worker, so nobody has to read a JVM stack trace.
"""

from __future__ import annotations

import os
import re
from typing import Any

#: What encloses an error on its way through the JVM, and what encloses each of its fields.
_ERROR, _FIELD = "\x1e", "\x1f"
_WIRE = re.compile(f"{_ERROR}([^{_ERROR}]*){_ERROR}")


class ScurryError(Exception):
    """Root of all errors that Scurry raises on purpose."""


class ConfigurationError(ScurryError, ValueError):
    """A configuration value is missing, malformed or contradicts another."""


class ProgramError(ScurryError, TypeError, ValueError):
    """The user's program is wrong, found while the job is built, before any record flows.

    PyFlink raises a `TypeError` for some of these mistakes and a `ValueError` for others; what a
    program does about either works here too.
    """


class MissingMethodError(ProgramError, AttributeError):
    """A stream was asked for a method that streams of its kind do not have."""


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


class LeaseHeldError(StateError):
    """Another driver works with the checkpoint, so this one must not."""


class LeaseLostError(StateError):
    """Another driver has taken the checkpoint over while this one gave no sign of life, so this
    one ends without writing anything more."""


class JobError(ScurryError):
    """A running job failed; the message is the whole story. ``details`` is what Spark said, where
    it said more."""

    details: str = ""


class LostPromiseError(JobError):
    """A target has thrown away what writers had prepared and the checkpoint promises to commit."""


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
        """The message with its fields marked off, so that it can be found again inside the text of
        a JVM exception. The marks are control characters, which a terminal does not show."""
        parts = [
            _marked(self.exception),
            f"\n  in operator '{_marked(self.operator)}' (uid '{_marked(self.uid)}')",
            ("\n  on element " if self.element else "") + _marked(self.element),
            ("\n" if self.traceback else "") + _marked(self.traceback),
            ("\n  hint: " if self.hint else "") + _marked(self.hint),
        ]
        # Java cuts control characters off the end of a text
        return f"{_ERROR}{''.join(parts)}{_ERROR}\n  (end of the error)"

    @classmethod
    def from_wire(cls, text: str) -> FunctionError | None:
        """The error embedded in ``text`` by :meth:`to_wire`, if there is one."""
        found = _WIRE.search(text)
        fields = [] if found is None else found.group(1).split(_FIELD)[1::2]
        if len(fields) != 6:
            return None
        exception, operator, uid, element, trace, hint = fields
        return cls(operator, uid, element, exception, trace, hint)


def _marked(field: str) -> str:
    """A field of a message between marks, without marks of its own."""
    return f"{_FIELD}{field.replace(_ERROR, '').replace(_FIELD, '')}{_FIELD}"


def verbose() -> bool:
    """Whether errors shall show what Spark said, and not only what it comes to."""
    return bool(os.environ.get("SCURRY_FULL_TRACEBACK"))


def cause_to_show(failure: BaseException) -> BaseException | None:
    """``failure`` as the cause of an error whose text tells the whole story: only for those who
    have asked for it, since Python prints a cause, and its traceback, before the error."""
    return failure if verbose() else None


def shorten(value: object, limit: int = 200) -> str:
    """A repr of ``value`` fit for an error message; never raises, never longer than ``limit``."""
    try:
        text = repr(value)
    except Exception as failure:  # a user's __repr__ may itself be broken
        text = f"<{type(value).__name__} whose repr failed: {failure}>"
    if len(text) <= limit:
        return text
    return f"{text[: limit - 20]}... ({len(text)} chars)"
