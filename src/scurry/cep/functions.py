"""What users do with matches: functions of the events of a match, by the names of its steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from scurry.datastream.functions import Function
from scurry.datastream.output_tag import OutputTag

#: The events of a match by the names of the pattern's steps, in the order in which they came.
Match = dict[str, list[Any]]


class MatchContext(ABC):
    """What is known about a match."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The timestamp of the last event of a match, or when a partial match was over; None in
        processing time."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""

    @abstractmethod
    def output(self, tag: OutputTag, value: Any) -> None:
        """Send ``value`` to the side output ``tag``."""


class PatternProcessFunction(Function, ABC):
    """Processes matches; it may be opened and closed, and may write to side outputs."""

    @abstractmethod
    def process_match(self, match: Match, ctx: MatchContext) -> Iterable[Any] | None:
        """Called for each match; yields what goes downstream."""


class TimedOutPartialMatchHandler(ABC):
    """A :class:`PatternProcessFunction` that is one of these, too, is told of matches that were not
    complete when their time was over."""

    @abstractmethod
    def process_timed_out_match(self, match: Match, ctx: MatchContext) -> Iterable[Any] | None:
        """Called for each such match, with the events that it had; yields pairs of a side output's
        tag and a value, or writes to side outputs with ``ctx.output``."""


class PatternSelectFunction(Function, ABC):
    """Makes one value of each match."""

    @abstractmethod
    def select(self, match: Match) -> Any:
        """The value that goes downstream."""


class PatternFlatSelectFunction(Function, ABC):
    """Makes any number of values of each match."""

    @abstractmethod
    def flat_select(self, match: Match) -> Iterable[Any] | None:
        """Yields what goes downstream."""


class PatternTimeoutFunction(Function, ABC):
    """Makes one value of each match that was not complete in time."""

    @abstractmethod
    def timeout(self, match: Match, timeout_timestamp: int) -> Any:
        """The value that goes to the side output."""


class PatternFlatTimeoutFunction(Function, ABC):
    """Makes any number of values of each match that was not complete in time."""

    @abstractmethod
    def timeout(self, match: Match, timeout_timestamp: int) -> Iterable[Any] | None:
        """Yields what goes to the side output."""


class Selecting(PatternProcessFunction):
    """Has each match become ``values(match)``; ``functions`` are opened and closed with it."""

    def __init__(self, values: Callable[[Match], Iterable[Any] | None], *functions: Any) -> None:
        self._values = values
        self._functions = [one for one in functions if isinstance(one, Function)]

    def open(self, runtime_context: Any) -> None:
        for function in self._functions:
            function.open(runtime_context)

    def close(self) -> None:
        for function in self._functions:
            function.close()

    def process_match(self, match: Match, ctx: MatchContext) -> Iterable[Any] | None:
        return self._values(match)


class SelectingInTime(Selecting, TimedOutPartialMatchHandler):
    """The same, with a side output for what was not complete in time."""

    def __init__(
        self,
        values: Callable[[Match], Iterable[Any] | None],
        tag: OutputTag,
        timed_out: Callable[[Match, int | None], Iterable[Any] | None],
        *functions: Any,
    ) -> None:
        super().__init__(values, *functions)
        self._tag = tag
        self._timed_out = timed_out

    def process_timed_out_match(self, match: Match, ctx: MatchContext) -> Iterable[Any]:
        for value in self._timed_out(match, ctx.timestamp()) or ():
            yield self._tag, value
