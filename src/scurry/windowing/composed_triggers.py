"""Triggers as values that are put together: ``AfterWatermark(early=AfterCount(10))``.

Each condition fires once; :class:`Repeatedly` starts it anew each time. The parts of
:class:`AfterWatermark` repeat by themselves.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from scurry.common.errors import ProgramError
from scurry.common.time import TimeSpan, milliseconds_of
from scurry.windowing.basic_triggers import whole_number
from scurry.windowing.conditions import AnyCondition, Condition, Moment, OrFinally, S, needed

__all__ = [
    "AfterAll",
    "AfterCount",
    "AfterEach",
    "AfterFirst",
    "AfterProcessingTime",
    "AfterWatermark",
    "OrFinally",
    "Repeatedly",
]

#: Whether the end of the window has passed, and what the condition in force remembers.
_Passed: TypeAlias = tuple[bool, Any]
#: What several conditions remember, or the number of one of them and what it does.
_States: TypeAlias = tuple[Any, ...]


class AfterCount(Condition[int]):
    """After so many elements."""

    def __init__(self, count: int) -> None:
        self.count = whole_number("The count of AfterCount", count)

    def initial(self) -> int:
        return 0

    def seen(self, state: int, at: Moment) -> int:
        return state + 1

    def ready(self, state: int, at: Moment) -> bool:
        return state >= self.count

    def fired(self, state: int, at: Moment) -> tuple[int, bool]:
        return state, True

    def merged(self, one: int, other: int) -> int:
        return one + other


class AfterProcessingTime(Condition[tuple[int | None]]):
    """So long after the first element, by the clock on the wall."""

    def __init__(self, delay: TimeSpan | int) -> None:
        self.delay = delay if isinstance(delay, int) else milliseconds_of(delay)

    def initial(self) -> tuple[int | None]:
        return (None,)

    def seen(self, state: tuple[int | None], at: Moment) -> tuple[int | None]:
        # it lies further ahead only if the clock was, which has been set back since
        due = at.now + self.delay
        return (due,) if state[0] is None else (min(state[0], due),)

    def ready(self, state: tuple[int | None], at: Moment) -> bool:
        return state[0] is not None and state[0] <= at.now

    def fired(self, state: tuple[int | None], at: Moment) -> tuple[tuple[int | None], bool]:
        return state, True

    def merged(self, one: tuple[int | None], other: tuple[int | None]) -> tuple[int | None]:
        times = [time for time in (one[0], other[0]) if time is not None]
        return (min(times, default=None),)

    def due(self, state: tuple[int | None]) -> int | None:
        return state[0]


class AfterWatermark(Condition[_Passed]):
    """Once the watermark passes the end of the window; before that by ``early``, again and again,
    and after it by ``late``, again and again. Without ``late`` the window is closed then."""

    def __init__(self, early: AnyCondition | None = None, late: AnyCondition | None = None) -> None:
        self.early = optional(early)
        self.late = optional(late)

    def initial(self) -> _Passed:
        return False, None if self.early is None else self.early.initial()

    def _part(self, state: _Passed) -> AnyCondition | None:
        return self.late if state[0] else self.early

    def seen(self, state: _Passed, at: Moment) -> _Passed:
        part = self._part(state)
        return state if part is None else (state[0], part.seen(state[1], at))

    def ready(self, state: _Passed, at: Moment) -> bool:
        if not state[0] and at.watermark >= at.end:
            return True
        part = self._part(state)
        return part is not None and part.ready(state[1], at)

    def fired(self, state: _Passed, at: Moment) -> tuple[_Passed, bool]:
        if not state[0] and at.watermark >= at.end:
            return (True, None if self.late is None else self.late.initial()), self.late is None
        part = self._part(state)
        assert part is not None
        after, finished = part.fired(state[1], at)
        return (state[0], part.initial() if finished else after), False

    def merged(self, one: _Passed, other: _Passed) -> _Passed:
        if one[0] != other[0]:
            return other if one[0] else one
        part = self._part(one)
        return one if part is None else (one[0], part.merged(one[1], other[1]))

    def due(self, state: _Passed) -> int | None:
        part = self._part(state)
        return None if part is None else part.due(state[1])


class Repeatedly(Condition[S]):
    """A condition, started anew whenever it has finished."""

    def __init__(self, condition: Condition[S]) -> None:
        self.condition: Condition[S] = needed(condition)

    def initial(self) -> S:
        return self.condition.initial()

    def seen(self, state: S, at: Moment) -> S:
        return self.condition.seen(state, at)

    def ready(self, state: S, at: Moment) -> bool:
        return self.condition.ready(state, at)

    def fired(self, state: S, at: Moment) -> tuple[S, bool]:
        after, finished = self.condition.fired(state, at)
        return self.condition.initial() if finished else after, False

    def merged(self, one: S, other: S) -> S:
        return self.condition.merged(one, other)

    def due(self, state: S) -> int | None:
        return self.condition.due(state)


class _Several(Condition[_States]):
    def __init__(self, *conditions: AnyCondition) -> None:
        if not conditions:
            raise ProgramError(f"{type(self).__name__} needs at least one condition.")
        self.conditions = tuple(needed(condition) for condition in conditions)

    def initial(self) -> _States:
        return tuple(condition.initial() for condition in self.conditions)

    def _pairs(self, state: _States) -> list[tuple[AnyCondition, Any]]:
        return list(zip(self.conditions, state, strict=True))

    def seen(self, state: _States, at: Moment) -> _States:
        return tuple(condition.seen(part, at) for condition, part in self._pairs(state))

    def fired(self, state: _States, at: Moment) -> tuple[_States, bool]:
        return state, True

    def merged(self, one: _States, other: _States) -> _States:
        return tuple(
            condition.merged(a, b)
            for condition, a, b in zip(self.conditions, one, other, strict=True)
        )

    def due(self, state: _States) -> int | None:
        times = [condition.due(part) for condition, part in self._pairs(state)]
        return min((time for time in times if time is not None), default=None)


class AfterFirst(_Several):
    """When the first of several conditions is met."""

    def ready(self, state: _States, at: Moment) -> bool:
        return any(condition.ready(part, at) for condition, part in self._pairs(state))


class AfterAll(_Several):
    """When all of several conditions are met."""

    def ready(self, state: _States, at: Moment) -> bool:
        return all(condition.ready(part, at) for condition, part in self._pairs(state))

    def due(self, state: _States) -> int | None:
        times = [condition.due(part) for condition, part in self._pairs(state)]
        return max((time for time in times if time is not None), default=None)


class AfterEach(_Several):
    """One condition after the other: each begins when the one before it has finished."""

    def initial(self) -> _States:
        return 0, self.conditions[0].initial()

    def seen(self, state: _States, at: Moment) -> _States:
        return state[0], self._now(state).seen(state[1], at)

    def ready(self, state: _States, at: Moment) -> bool:
        return self._now(state).ready(state[1], at)

    def fired(self, state: _States, at: Moment) -> tuple[_States, bool]:
        number, part = state
        after, finished = self.conditions[number].fired(part, at)
        if not finished:
            return (number, after), False
        if number + 1 == len(self.conditions):
            return state, True
        return (number + 1, self.conditions[number + 1].initial()), False

    def merged(self, one: _States, other: _States) -> _States:
        if one[0] != other[0]:
            return min(one, other, key=lambda state: state[0])
        return one[0], self.conditions[one[0]].merged(one[1], other[1])

    def due(self, state: _States) -> int | None:
        return self._now(state).due(state[1])

    def _now(self, state: _States) -> AnyCondition:
        number: int = state[0]
        return self.conditions[number]


def optional(given: object) -> AnyCondition | None:
    return None if given is None else needed(given)
