"""What the result of a statement is."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ResultKind"]


class ResultKind(IntEnum):
    """Whether a statement has a content to show."""

    #: the statement has done what it says, and the result is the word OK
    SUCCESS = 0
    #: the result has rows
    SUCCESS_WITH_CONTENT = 1
