"""A value that an expression cannot compute."""

from __future__ import annotations

from typing import Any

from scurry.common.errors import JobError

__all__ = ["EvaluationError", "at_span"]


class EvaluationError(JobError):
    """A row for which an expression has no value: a division by zero, a text that is no number.

    `located` says whether the message names the place in the query already.
    """

    located = False


def at_span(failure: Exception, span: Any, call: str) -> EvaluationError:
    """The failure with the place in the query that it comes from."""
    reason = str(failure) or type(failure).__name__
    where = getattr(span, "where", None)
    place = where() if callable(where) else ""
    excerpt = getattr(span, "excerpt", None)
    lines = [f"{reason}, in {call}" + (f" ({place})" if place else "")]
    lines.append(excerpt() if callable(excerpt) else "")
    made = EvaluationError("\n".join(line for line in lines if line))
    made.located = True
    return made
