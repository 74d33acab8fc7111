"""Conditions: what composed triggers are made of.

A condition fires once and is then finished. What it remembers of a window is a small tuple, and the
whole of it is one state of the window. When the outermost condition has finished, the window is
closed: it takes no more elements, and those that still come are treated as late.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from scurry.common.errors import ProgramError
from scurry.common.values import StateValue
from scurry.common.windows import Window
from scurry.state.states import ReducingState, ReducingStateDescriptor
from scurry.windowing.basic_triggers import CONTINUE, FIRE
from scurry.windowing.triggers import OnMergeContext, Trigger, TriggerContext, TriggerResult

_FINISHED = "finished"
#: What a condition remembers of a window.
S = TypeVar("S")
#: What another condition remembers of it.
U = TypeVar("U")


class Moment(NamedTuple):
    """The clocks at a decision, and the end of the window it is about."""

    watermark: int
    now: int
    end: int


class Condition(Trigger[object, Window], Generic[S]):
    """A trigger that can be part of others. Subclasses say what they remember and when they are
    ready; this class keeps it in the window's state."""

    @abstractmethod
    def initial(self) -> S:
        """What is remembered of a window that has just begun."""

    @abstractmethod
    def seen(self, state: S, at: Moment) -> S:
        """What is remembered after another element."""

    @abstractmethod
    def ready(self, state: S, at: Moment) -> bool:
        """Whether it is time to fire."""

    @abstractmethod
    def fired(self, state: S, at: Moment) -> tuple[S, bool]:
        """What is remembered after firing, and whether the condition is finished."""

    @abstractmethod
    def merged(self, one: S, other: S) -> S:
        """What is remembered of two windows that have become one."""

    def due(self, state: S) -> int | None:
        """The processing time at which to ask again, None if only events can change anything."""
        return None

    def or_finally(self, until: Condition[U]) -> OrFinally[S, U]:
        """This condition, until another is met: that fires a last time."""
        return OrFinally(self, until)

    def is_closed(self, ctx: TriggerContext) -> bool:
        """Whether the window in ``ctx`` takes no more elements."""
        return bool(ctx.get_partitioned_state(self._state).get() == _FINISHED)

    @property
    def _state(self) -> ReducingStateDescriptor:
        return ReducingStateDescriptor("trigger-condition", _Join(self))

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        held = ctx.get_partitioned_state(self._state)
        state, at = held.get(), _moment(window, ctx)
        if at.end > at.watermark:
            ctx.register_event_time_timer(at.end)
        state = self.seen(self.initial() if state is None else state, at)
        return self._decide(state, at, held, ctx)

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._ask(window, ctx)

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._ask(window, ctx)

    def _ask(self, window: Window, ctx: TriggerContext) -> TriggerResult:
        held = ctx.get_partitioned_state(self._state)
        state = held.get()
        if state is None or state == _FINISHED:
            return CONTINUE
        return self._decide(state, _moment(window, ctx), held, ctx)

    def _decide(
        self, state: S, at: Moment, held: ReducingState[S | str], ctx: TriggerContext
    ) -> TriggerResult:
        fires, finished = self.ready(state, at), False
        if fires:
            state, finished = self.fired(state, at)
        held.clear()
        held.add(_FINISHED if finished else state)
        if not finished:
            self._set_timer(state, at, ctx)
        return FIRE if fires else CONTINUE

    def _set_timer(self, state: S, at: Moment, ctx: TriggerContext) -> None:
        due = self.due(state)
        if due is not None and due > at.now:
            ctx.register_processing_time_timer(due)

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._state)
        state, at = ctx.get_partitioned_state(self._state).get(), _moment(window, ctx)
        if at.end > at.watermark:
            ctx.register_event_time_timer(at.end)
        if state is not None and state != _FINISHED:
            self._set_timer(state, at, ctx)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        held = ctx.get_partitioned_state(self._state)
        state = held.get()
        ctx.delete_event_time_timer(window.max_timestamp())
        if state is not None:
            due = None if state == _FINISHED else self.due(state)
            if due is not None:
                ctx.delete_processing_time_timer(due)
            held.clear()

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({given})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclass(frozen=True)
class _Join(Generic[S]):
    """Merges what is remembered of two windows; one that is not closed keeps both open."""

    condition: Condition[S]

    def __call__(self, one: StateValue, other: StateValue) -> StateValue:
        if _FINISHED in (one, other):
            return other if one == _FINISHED else one
        return self.condition.merged(one, other)


def _moment(window: Window, ctx: TriggerContext) -> Moment:
    return Moment(
        ctx.get_current_watermark(), ctx.get_current_processing_time(), window.max_timestamp()
    )


class OrFinally(Condition[tuple[S, U]]):
    """A condition, until another is met: that fires a last time."""

    def __init__(self, condition: Condition[S], until: Condition[U]) -> None:
        self.condition: Condition[S] = needed(condition)
        self.until: Condition[U] = needed(until)

    def initial(self) -> tuple[S, U]:
        return self.condition.initial(), self.until.initial()

    def seen(self, state: tuple[S, U], at: Moment) -> tuple[S, U]:
        return self.condition.seen(state[0], at), self.until.seen(state[1], at)

    def ready(self, state: tuple[S, U], at: Moment) -> bool:
        return self.condition.ready(state[0], at) or self.until.ready(state[1], at)

    def fired(self, state: tuple[S, U], at: Moment) -> tuple[tuple[S, U], bool]:
        if self.until.ready(state[1], at):
            return state, True
        after, finished = self.condition.fired(state[0], at)
        return (after, state[1]), finished

    def merged(self, one: tuple[S, U], other: tuple[S, U]) -> tuple[S, U]:
        return self.condition.merged(one[0], other[0]), self.until.merged(one[1], other[1])

    def due(self, state: tuple[S, U]) -> int | None:
        times = [self.condition.due(state[0]), self.until.due(state[1])]
        return min((time for time in times if time is not None), default=None)


#: A condition that may remember whatever it wants to.
AnyCondition: TypeAlias = Condition[Any]


def needed(given: object) -> AnyCondition:
    """``given``, if it can be part of a composed trigger."""
    if not isinstance(given, Condition):
        raise ProgramError(
            "Triggers are composed of AfterWatermark, AfterCount, AfterProcessingTime, Repeatedly, "
            f"AfterFirst, AfterAll, AfterEach and OrFinally, got {given!r}."
        )
    return given
