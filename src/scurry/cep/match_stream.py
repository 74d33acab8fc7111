"""What is done with matches, whoever finds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Self

from scurry.cep.functions import (
    Match,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    Selecting,
    SelectingInTime,
)
from scurry.common.errors import ProgramError
from scurry.datastream.data_stream import DataStream
from scurry.datastream.keyed_stream import KeyedStream
from scurry.datastream.output_tag import OutputTag


class MatchStream(ABC):
    """A stream in which patterns are looked for: among the events of each key if it has keys, among
    all events otherwise, with parallelism 1. ``comparator`` orders events of one timestamp."""

    def __init__(self, stream: DataStream, comparator: Callable[..., Any] | None = None) -> None:
        if not isinstance(stream, DataStream):
            raise ProgramError(
                f"Patterns are looked for in a stream, got {stream!r} ({type(stream).__name__})."
            )
        self._keyed = stream if isinstance(stream, KeyedStream) else stream.key_by(_one_key)
        self._single = self._keyed is not stream
        self._type_info = stream._transformation.type_info
        self._comparator = comparator
        self._event_time = True
        self._late: OutputTag | None = None

    def in_processing_time(self) -> Self:
        """Look at events as they arrive, by the clock."""
        self._event_time = False
        return self

    def in_event_time(self) -> Self:
        """Look at events in the order of their timestamps, which is the default."""
        self._event_time = True
        return self

    def side_output_late_data(self, tag: OutputTag) -> Self:
        """Send events that arrive behind the watermark to a side output; they are counted and
        dropped otherwise."""
        self._late = tag
        return self

    @abstractmethod
    def _searched(self, function: PatternProcessFunction, output_type: Any) -> DataStream:
        """The step that calls ``function`` for each match."""

    def process(self, function: PatternProcessFunction, output_type: Any = None) -> DataStream:
        """Have a function process each match."""
        if not isinstance(function, PatternProcessFunction):
            raise ProgramError(
                f"process needs a PatternProcessFunction, got {function!r} "
                f"({type(function).__name__}). For a plain function there are select and "
                "flat_select."
            )
        found = self._searched(function, output_type).name("CepOperator")
        return found.set_parallelism(1) if self._single else found

    def select(
        self,
        function: PatternSelectFunction | Callable[[Match], Any],
        output_type: Any = None,
        *,
        timed_out_tag: OutputTag | None = None,
        timeout_function: PatternTimeoutFunction | Callable[[Match, int], Any] | None = None,
    ) -> DataStream:
        """Make one value of each match, and if ``timed_out_tag`` and ``timeout_function`` are given
        one of each match that was not complete in time, for that side output."""
        select = _method(function, PatternSelectFunction, "select")
        timeout = _method(timeout_function, PatternTimeoutFunction, "timeout")
        return self._selected(
            lambda match: (select(match),),
            lambda match, at: (timeout(match, at),),
            (function, timeout_function),
            timed_out_tag,
            output_type,
        )

    def flat_select(
        self,
        function: PatternFlatSelectFunction | Callable[[Match], Iterable[Any] | None],
        output_type: Any = None,
        *,
        timed_out_tag: OutputTag | None = None,
        timeout_function: PatternFlatTimeoutFunction
        | Callable[[Match, int], Iterable[Any] | None]
        | None = None,
    ) -> DataStream:
        """Make any number of values of each match; the rest is as for :meth:`select`."""
        select = _method(function, PatternFlatSelectFunction, "flat_select")
        timeout = _method(timeout_function, PatternFlatTimeoutFunction, "timeout")
        return self._selected(
            select, timeout, (function, timeout_function), timed_out_tag, output_type
        )

    def _selected(
        self,
        values: Callable[[Match], Iterable[Any] | None],
        timed_out: Callable[[Match, Any], Iterable[Any] | None],
        functions: tuple[Any, Any],
        tag: OutputTag | None,
        output_type: Any,
    ) -> DataStream:
        if (tag is None) != (functions[1] is None):
            raise ProgramError(
                "timed_out_tag and timeout_function belong together: the tag of a side output, and "
                "the function that makes its values."
            )
        if tag is None:
            return self.process(Selecting(values, *functions), output_type)
        return self.process(SelectingInTime(values, tag, timed_out, *functions), output_type)


def _one_key(value: Any) -> int:
    return 0


def _method(given: Any, kind: type, name: str) -> Callable[..., Any]:
    """The method of a function object, or the plain function itself."""
    found = getattr(given, name) if isinstance(given, kind) else given
    if found is not None and not callable(found):
        raise ProgramError(
            f"{name} needs a function of a match, or a {kind.__name__}; got {given!r} "
            f"({type(given).__name__})."
        )
    return found  # type: ignore[no-any-return]
