"""Streams in which patterns are looked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.automaton.pattern import Pattern
from scurry.cep.bound_pattern import BoundPattern
from scurry.cep.dynamic import PATTERNS, DynamicMatchFunction
from scurry.cep.event_fields import EventFields
from scurry.cep.functions import PatternProcessFunction
from scurry.cep.match_stream import MatchStream
from scurry.cep.matching import MatchFunction
from scurry.common.errors import ProgramError
from scurry.datastream.data_stream import DataStream
from scurry.datastream.transformation import Transformation
from scurry.plan import nodes


class CEP:
    """Where patterns and streams meet."""

    @staticmethod
    def pattern(
        stream: DataStream,
        pattern: Pattern,
        comparator: Callable[..., Any] | None = None,
    ) -> PatternStream:
        """Look for ``pattern`` in a stream: among the events of each key if it has keys, among all
        events otherwise, with parallelism 1. ``comparator`` orders events of one timestamp: it is a
        function of one event that gives what to sort by, or of two that gives a negative number, 0
        or a positive one."""
        return PatternStream(stream, pattern, comparator)

    @staticmethod
    def dynamic_patterns(
        stream: DataStream,
        pattern_stream: DataStream,
        comparator: Callable[..., Any] | None = None,
    ) -> DynamicPatternStream:
        """Look for the patterns that the documents of ``pattern_stream`` describe, and change as
        these come: :mod:`scurry.cep.updates` says what is in a document. The rest is as for
        :meth:`pattern`."""
        return DynamicPatternStream(stream, pattern_stream, comparator)


class PatternStream(MatchStream):
    """A stream and a pattern that is looked for in it."""

    def __init__(
        self, stream: DataStream, pattern: Pattern, comparator: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(stream, comparator)
        if not isinstance(pattern, Pattern):
            raise ProgramError(
                f"CEP.pattern needs a Pattern, which begins with Pattern.begin(name); got "
                f"{pattern!r} ({type(pattern).__name__})."
            )
        BoundPattern(pattern, EventFields(self._type_info))
        self._pattern = pattern
        self._drop_changed = False

    def drop_changed_matches(self) -> PatternStream:
        """If the checkpoint has partial matches of another pattern, drop them and do not fail."""
        self._drop_changed = True
        return self

    def _searched(self, function: PatternProcessFunction, output_type: Any) -> DataStream:
        matching = MatchFunction(
            self._pattern,
            self._type_info,
            function,
            self._event_time,
            self._late,
            self._comparator,
            self._drop_changed,
        )
        return self._keyed.process(matching, output_type)


class DynamicPatternStream(MatchStream):
    """A stream, and a stream of documents that say which patterns are looked for in it."""

    def __init__(
        self,
        stream: DataStream,
        pattern_stream: DataStream,
        comparator: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(stream, comparator)
        if not isinstance(pattern_stream, DataStream):
            raise ProgramError(
                "CEP.dynamic_patterns needs a stream of documents that describe patterns, got "
                f"{pattern_stream!r} ({type(pattern_stream).__name__})."
            )
        self._patterns = pattern_stream

    def _searched(self, function: PatternProcessFunction, output_type: Any) -> DataStream:
        if self._event_time and not _has_time(self._patterns._transformation):
            raise ProgramError(
                "The stream of patterns has no watermarks, so those of the events would wait for "
                "it until the input ends. Call assign_timestamps_and_watermarks on it, with "
                "with_idleness(...) on the strategy if documents are rare, or "
                "in_processing_time() on the pattern stream."
            )
        matching = DynamicMatchFunction(
            self._type_info, function, self._event_time, self._late, self._comparator
        )
        connected = self._keyed.connect(self._patterns.broadcast(PATTERNS))
        return connected.process(matching, output_type)


def _has_time(step: Transformation) -> bool:
    """Whether timestamps are assigned before a step."""
    return step.kind is nodes.Timestamps or any(map(_has_time, step.inputs))
