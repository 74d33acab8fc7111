"""Interval joins: ``left.interval_join(right).between(lower, upper).process(...)``.

A left element at ``t`` meets the right elements of its key from ``t + lower`` to ``t + upper``,
both bounds included unless said otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.common.errors import ProgramError
from scurry.common.time import Duration, Time, TimeSpan, milliseconds_of
from scurry.common.type_inference import yield_type_of
from scurry.functions.joins import ProcessJoinFunction
from scurry.functions.output_tag import OutputTag
from scurry.plan import nodes

if TYPE_CHECKING:
    from scurry.datastream.keyed_stream import KeyedStream
    from scurry.datastream.plain_stream import DataStream


class IntervalJoin:
    """Two keyed streams that are to be joined; it remains to say how far apart pairs may be."""

    def __init__(self, stream1: KeyedStream, stream2: KeyedStream) -> None:
        self._left = stream1
        self._right = stream2

    def between(self, lower_bound: TimeSpan | int, upper_bound: TimeSpan | int) -> IntervalJoined:
        """Pairs whose right element is from ``lower_bound`` to ``upper_bound`` later than the left
        one. Bounds may be negative; a whole number is milliseconds."""
        lower, upper = _bound(lower_bound), _bound(upper_bound)
        if lower > upper:
            raise ProgramError(
                f"between({lower_bound!r}, {upper_bound!r}): the lower bound lies above the upper "
                "one, so nothing could ever join. Swap them."
            )
        return IntervalJoined(self._left, self._right, lower, upper)


class IntervalJoined:
    """An interval join that lacks only its function."""

    def __init__(self, left: KeyedStream, right: KeyedStream, lower: int, upper: int) -> None:
        self._left = left
        self._right = right
        self._lower = lower
        self._upper = upper
        self._exclusive = [False, False]
        self._late: list[OutputTag | None] = [None, None]

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Leave out pairs that are exactly the lower bound apart."""
        self._exclusive[0] = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Leave out pairs that are exactly the upper bound apart."""
        self._exclusive[1] = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send left elements behind the watermark to a side output instead of dropping them."""
        self._late[0] = _tag("side_output_left_late_data", output_tag)
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send right elements behind the watermark to a side output instead of dropping them."""
        self._late[1] = _tag("side_output_right_late_data", output_tag)
        return self

    def process(
        self, process_join_function: ProcessJoinFunction, output_type: Any = None
    ) -> DataStream:
        """Call the function for every pair."""
        if not isinstance(process_join_function, ProcessJoinFunction):
            raise ProgramError(
                f"process on an interval join needs a ProcessJoinFunction, got "
                f"{process_join_function!r} ({type(process_join_function).__name__})."
            )
        lower = self._lower + self._exclusive[0]
        upper = self._upper - self._exclusive[1]
        if lower > upper:
            raise ProgramError(
                f"The interval from {self._lower} to {self._upper} ms is empty once its bounds are "
                "excluded, so nothing could ever join. Widen it."
            )
        return self._left._then(
            nodes.IntervalJoin,
            "Interval Join",
            output_type,
            yield_type_of(process_join_function.process_element),
            [self._right],
            function=process_join_function,
            lower=lower,
            upper=upper,
            late=tuple(self._late),
        )


def _bound(given: Any) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, (Time, Duration)):
        return given.to_milliseconds()
    return milliseconds_of(given)


def _tag(method: str, given: Any) -> OutputTag:
    if isinstance(given, OutputTag):
        return given
    raise ProgramError(f"{method} needs an OutputTag, got {given!r}.")
