"""Dead letters: elements that a job could not process, with the reason.

Without further settings an exception in a user function fails the job. With ``scurry.on-error:
dead-letter``, or ``stream.on_error("dead-letter")`` for one operator, the element that caused it
leaves the operator by the side output :data:`DEAD_LETTERS` and the job goes on. The letters are an
ordinary stream: ``stream.get_side_output(DEAD_LETTERS)`` for one operator, ``env.dead_letters()``
for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scurry.functions.output_tag import OutputTag

#: What to do with an element on which a user function fails.
FAIL, DEAD_LETTER = "fail", "dead-letter"
POLICIES = (FAIL, DEAD_LETTER)
#: The side output that such elements leave by.
DEAD_LETTERS = OutputTag("dead-letters")


@dataclass(frozen=True)
class DeadLetter:
    """An element that a user function failed on."""

    #: the element as it came to the operator; None if a timer failed
    element: Any
    #: name and uid of the operator
    operator: str
    uid: str
    #: type and text of the exception
    error: str
    #: the frames of the user's code
    traceback: str = ""
    #: event time of the element or timer in milliseconds, None if it has none
    timestamp: int | None = None
    #: processing time of the failure in milliseconds
    failed_at: int = 0
    #: for a timer its key
    key: Any = None
