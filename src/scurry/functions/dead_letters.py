"""Dead letters: elements that a job could not process, with the reason.

Without further settings an exception in a user function fails the job. With ``scurry.on-error:
dead-letter``, or ``stream.on_error("dead-letter")`` for one operator, the element that caused it
leaves the operator by the side output :data:`DEAD_LETTERS` and the job goes on. The letters are an
ordinary stream: ``stream.get_side_output(DEAD_LETTERS)`` for one operator, ``env.dead_letters()``
for all. Sources that hand out records they cannot decode send them, in a form of their own, to
the same side output; among all letters they stand as the ``element`` of a letter.
"""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.options.execution import ON_ERROR
from scurry.common.values import Element, Key
from scurry.common.windows import Window
from scurry.functions.output_tag import OutputTag
from scurry.functions.transforms import MapFunction

#: What to do with an element on which a user function fails.
POLICIES = ON_ERROR.choices
FAIL, DEAD_LETTER = POLICIES
#: The side output that such elements leave by.
DEAD_LETTERS = OutputTag("dead-letters")


@dataclass(frozen=True)
class DeadLetter:
    """An element that a user function failed on."""

    #: the element as it came to the operator; None if a timer failed; if a window failed when it
    #: fired, the first of its elements as a list, or what they were combined into
    element: Element
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
    #: for a timer, or a window that fired, its key
    key: Key = None
    #: the window that failed when it fired
    window: Window | None = None


class LetterOfSource(MapFunction):
    """Makes a letter of what a source rejected."""

    def __init__(self, operator: str, uid: str) -> None:
        self._operator = operator
        self._uid = uid

    def map(self, value: Element) -> DeadLetter:
        error, timestamp = getattr(value, "error", ""), getattr(value, "timestamp", None)
        return DeadLetter(value, self._operator, self._uid, error, timestamp=timestamp)
