"""Windows that send what they fail on to the dead letters.

An element that user code fails on while it is put into windows (assigner, gap, ``reduce``,
``aggregate``, a trigger's ``on_element``) becomes a letter, and is in no window that it was not in
before the failure. A window that fails when it fires becomes a letter with its key and the first of
its elements, and holds nothing afterwards: it would only fail again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scurry.common.keys import thaw
from scurry.common.values import Contents
from scurry.common.windows import Window
from scurry.functions.dead_letters import DEAD_LETTERS, DeadLetter
from scurry.functions.output_tag import OutputTag
from scurry.runtime.batch import Batch
from scurry.runtime.failures import explained
from scurry.runtime.poison import PoisonGuard, emit_letters
from scurry.runtime.windowing.calls import Call

if TYPE_CHECKING:
    from scurry.runtime.windowing.common import WindowingOperator

#: So many elements of a window that failed are in its letter.
SHOWN = 100


class WindowGuard:
    """Makes letters for one window operator."""

    def __init__(self, operator: WindowingOperator) -> None:
        self._operator = operator
        self._poison = PoisonGuard(operator.spec, operator.context)
        self._letters: list[DeadLetter] = []
        self._failed: list[int] = []
        #: whether the last firing failed
        self.spoiled = False

    def as_it_came(self, value: object) -> object:
        """The element for a letter, which user code may change before it fails."""
        return self._poison.as_it_came(value)

    def refuse(self, at: int, value: object, stamp: int, failure: Exception) -> None:
        """Make a dead letter of element number ``at`` of the batch, which failed."""
        self._letters.append(self._poison.letter(value, failure, stamp))
        self._failed.append(at)

    def emit(self, batch: Batch) -> None:
        """Send the letters for elements of ``batch``."""
        letters, self._letters = self._letters, []
        failed, self._failed = self._failed, []
        emit_letters(self._operator, batch, letters, failed)

    def of_window(
        self, key: object, window: Window, contents: Contents, failure: Exception
    ) -> tuple[OutputTag, DeadLetter]:
        """The dead letter of a window that failed when it fired, as a record for the side
        output."""
        self.spoiled = True
        shown = list(contents[:SHOWN]) if isinstance(contents, list) else contents
        failure = explained(failure, self._operator._windowing.function)
        stamp = window.max_timestamp()
        return DEAD_LETTERS, self._poison.letter(shown, failure, stamp, thaw(key), window)

    def around_firing(self, call: Call) -> Call:
        """``call``, giving a letter for the side output instead of raising."""

        def guarded(key: object, window: Window, contents: Contents) -> list[object] | None:
            values = self._operator._output.values
            before = len(values)
            self.spoiled = False
            try:
                results = call(key, window, self._operator._shown(contents))
                if results is None:
                    return None
                taken: list[object] = []
                self._operator._take_results(taken, results)
                return taken
            except Exception as failure:
                del values[before:]
                return [self.of_window(key, window, contents, failure)]

        return guarded
