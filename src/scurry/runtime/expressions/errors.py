"""A value that an expression cannot compute."""

from __future__ import annotations

import traceback
from typing import Any

from scurry.common.errors import JobError
from scurry.runtime.failures import NO_ELEMENT, ElementFailed

__all__ = ["EvaluationError", "at_span"]


class EvaluationError(JobError):
    """A row for which an expression has no value: a division by zero, a text that is no number.

    `located` says whether the message names the place in the query already. `element` are the
    arguments with which a function of the user's was called when it raised.
    """

    located = False
    element: Any = NO_ELEMENT


def at_span(failure: Exception, span: Any, call: str) -> EvaluationError:
    """The failure with the place in the query that it comes from."""
    element, reason = NO_ELEMENT, str(failure) or type(failure).__name__
    if isinstance(failure, ElementFailed):
        element = failure.element
        reason = "".join(traceback.format_exception_only(failure.__cause__)).strip()
    where = getattr(span, "where", None)
    place = where() if callable(where) else ""
    excerpt = getattr(span, "excerpt", None)
    lines = [f"{reason}, in {call}" + (f" ({place})" if place else "")]
    lines.append(excerpt() if callable(excerpt) else "")
    made = EvaluationError("\n".join(line for line in lines if line))
    made.located, made.element = True, element
    return made
