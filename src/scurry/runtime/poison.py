"""Guards around user code, for operators that send elements they fail on to the dead letters.

When an operator is opened, and only if its policy says so, a guard is put around its calls of user
code; operators without a guard pay nothing for this. If a call fails, what it has emitted is
discarded. What it did to state before it failed stays, as it would if the function had caught the
exception itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scurry.common.errors import JobError, StateError, TypeMismatchError
from scurry.functions.dead_letters import DEAD_LETTERS, DeadLetter
from scurry.runtime.batch import NO_TIMESTAMP, Batch, Longs, origins
from scurry.runtime.failures import ElementFailed, function_error
from scurry.runtime.operator import Operator, longs
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Failures of the engine, which another element would meet as well.
NOT_POISON = (JobError, StateError)
TAG = DEAD_LETTERS.tag_id


class PoisonGuard:
    """Makes dead letters for one operator."""

    def __init__(self, spec: OperatorSpec, context: TaskContext) -> None:
        self._spec = spec
        self._context = context

    def as_it_came(self, element: Any) -> Any:
        """A copy of ``element`` if user code could change it, for the dead letter in case user code
        fails on it."""
        try:
            return self._context.handover.own(element)
        except TypeMismatchError:
            return element

    def letter(
        self,
        element: Any,
        failure: Exception,
        timestamp: int | None,
        key: Any = None,
        window: Any = None,
    ) -> DeadLetter:
        """The dead letter for ``element``, or for the one that ``failure`` names.

        Raises ``failure`` if that is not the element's fault."""
        if isinstance(failure, ElementFailed) and isinstance(failure.__cause__, Exception):
            element, failure = failure.element, failure.__cause__
        if isinstance(failure, NOT_POISON):
            raise failure
        spec = self._spec
        told = function_error(spec.name, spec.uid, spec.location, element, failure)
        self._context.report.count(f"dead-letters:{spec.uid}", 1)
        stamp = None if timestamp == NO_TIMESTAMP else timestamp
        return DeadLetter(
            element,
            spec.name,
            spec.uid,
            told.exception,
            told.traceback,
            stamp,
            self._context.now,
            key,
            window,
        )

    def around(
        self,
        call: Callable[[Any, Any], Any],
        emitted: Callable[[], list[Any]],
        letter: Callable[[Any, Exception], DeadLetter],
    ) -> Callable[[Any, Any], Any]:
        """``call``, returning a letter for the side output instead of raising. ``emitted`` is where
        the context collects what the call sends to side outputs."""

        def guarded(value: Any, context: Any) -> Any:
            values, came = emitted(), self.as_it_came(value)
            before = len(values)
            try:
                result = call(value, context)
                if result is None:
                    return None
                taken: list[Any] = []
                self._context.handover.take(taken, result)
                return taken
            except Exception as failure:
                del values[before:]
                return [(DEAD_LETTERS, letter(came, failure))]

        return guarded


def flat_map_guarded(
    operator: Operator, batch: Batch, call: Callable[[Any], Iterable[Any]]
) -> None:
    """Run ``call`` on each record; emit what it returns, and letters for those it fails on."""
    guard = PoisonGuard(operator.spec, operator.context)
    rows: list[Any] = []
    ends: list[int] = []
    letters: list[DeadLetter] = []
    failed: list[int] = []
    for at, row in enumerate(batch.rows):
        came = guard.as_it_came(row)
        try:
            rows.extend(list(call(row)))
        except Exception as failure:
            failed.append(at)
            letters.append(guard.letter(came, failure, stamp_at(batch.ts, at)))
        ends.append(len(rows))
    operator.emit(batch.spread(rows, origins(ends)))
    emit_letters(operator, batch, letters, failed)


def emit_letters(
    operator: Operator, batch: Batch, letters: list[DeadLetter], failed: list[int]
) -> None:
    """Send letters, each in the place of the record it is about."""
    if letters:
        operator.emit_side(TAG, batch.spread(list(letters), longs(failed)))


def stamp_at(stamps: Longs | None, at: int) -> int | None:
    """The timestamp of a record, if records have any."""
    return None if stamps is None else int(stamps[at])
