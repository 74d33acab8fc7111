"""Window joins and co-groups: elements of two streams that share a key and a window.

Both sides go into one windowed stream, each element marked with its side, so all that windows can
do (assigners, triggers, evictors, lateness) holds here too. When a window fires, a co-group is
given all its elements, one list per side; a join every pair of them. Results carry the last
timestamp of their window.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from scurry.common.errors import ProgramError
from scurry.common.type_inference import return_type_of, yield_type_of
from scurry.common.type_information import TypeInformation
from scurry.functions import KeySelector, WindowFunction, adapters
from scurry.functions.joins import CoGroupFunction, FlatJoinFunction, JoinFunction
from scurry.functions.output_tag import OutputTag
from scurry.functions.transforms import MapFunction
from scurry.windowing.assigners import WindowAssigner
from scurry.windowing.evictors import Evictor
from scurry.windowing.triggers import Trigger

if TYPE_CHECKING:
    from scurry.datastream.plain_stream import DataStream
    from scurry.datastream.windowed_stream import WindowedStream

LEFT, RIGHT = 0, 1
W = TypeVar("W", bound="WindowedPair")


class JoinedStreams:
    """Two streams to be joined: say by which keys, and in which windows."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        # keys set before play no part: where(...) and equal_to(...) say what is joined by
        self._streams = tuple(getattr(one, "_origin", one) for one in (stream1, stream2))

    def where(self, key_selector: Any, key_type: TypeInformation | None = None) -> Where:
        """The key of the first stream's elements."""
        return Where(self, adapters.key_selector(key_selector))

    def _pair(self, windowed: WindowedStream) -> WindowedPair:
        return WindowedJoin(windowed)


class CoGroupedStreams(JoinedStreams):
    """Two streams to be grouped together."""

    def _pair(self, windowed: WindowedStream) -> WindowedPair:
        return WindowedCoGroup(windowed)


class Where:
    """The key of the first side is known."""

    def __init__(self, streams: JoinedStreams, first: KeySelector) -> None:
        self._of = streams
        self._first = first

    def equal_to(self, key_selector: Any, key_type: TypeInformation | None = None) -> EqualTo:
        """The key of the second stream's elements."""
        return EqualTo(self._of, _SideKey(self._first, adapters.key_selector(key_selector)))


class EqualTo:
    """The keys of both sides are known."""

    def __init__(self, streams: JoinedStreams, key: KeySelector) -> None:
        self._of = streams
        self._key = key

    def window(self, assigner: WindowAssigner[Any, Any]) -> Any:
        """The windows in which elements meet."""
        left, right = self._of._streams
        first = left.map(_Side(LEFT)).name("Left side")
        second = right.map(_Side(RIGHT)).name("Right side")
        return self._of._pair(first.union(second).key_by(self._key).window(assigner))


class WindowedPair:
    """What joins and co-groups have in common once their windows are known."""

    def __init__(self, windowed: WindowedStream) -> None:
        self._windowed = windowed

    def trigger(self: W, trigger: Trigger[Any, Any]) -> W:
        """Say when windows fire."""
        self._windowed.trigger(trigger)
        return self

    def evictor(self: W, evictor: Evictor[Any]) -> W:
        """Take elements out of windows around a firing; it is given elements as ``(side, value)``,
        side 0 or 1."""
        self._windowed.evictor(evictor)
        return self

    def allowed_lateness(self: W, time_ms: Any) -> W:
        """How long after its end a window is kept for late elements."""
        self._windowed.allowed_lateness(time_ms)
        return self

    def side_output_late_data(self: W, output_tag: OutputTag) -> W:
        """Send elements that come too late to a side output, as ``(side, value)``, side 0 or 1."""
        self._windowed.side_output_late_data(output_tag)
        return self

    def _then(
        self, function: _PairWindow, name: str, declared: Any, inferred: TypeInformation | None
    ) -> DataStream:
        stream = self._windowed.apply(function, declared).name(name)
        if declared is None:
            stream._transformation.type_info = inferred
        return stream


class WindowedJoin(WindowedPair):
    """A join, lacking only its function."""

    def apply(self, function: Any, output_type: Any = None) -> DataStream:
        """Call ``function(left, right)`` for every pair: a :class:`JoinFunction` or any function
        of two elements returns one result, a :class:`FlatJoinFunction` any number."""
        if isinstance(function, FlatJoinFunction):
            inferred = yield_type_of(function.join)
        elif isinstance(function, JoinFunction):
            inferred = return_type_of(function.join)
        elif callable(function):
            inferred = return_type_of(function)
            function = _CallableJoin(function)
        else:
            raise ProgramError(
                "apply needs a JoinFunction, a FlatJoinFunction or a function of two elements, "
                f"got {function!r}."
            )
        return self._then(_JoinWindow(function), "Window Join", output_type, inferred)


class WindowedCoGroup(WindowedPair):
    """A co-group, lacking only its function."""

    def apply(self, function: CoGroupFunction, output_type: Any = None) -> DataStream:
        """Call ``function.co_group(lefts, rights)`` once per key and window, also when one of the
        sides is empty."""
        if not isinstance(function, CoGroupFunction):
            raise ProgramError(f"apply needs a CoGroupFunction, got {function!r}.")
        inferred = yield_type_of(function.co_group)
        return self._then(_CoGroupWindow(function), "Co-Group", output_type, inferred)


class _Side(MapFunction):
    """Marks elements with the side they are of."""

    def __init__(self, side: int) -> None:
        self._mark = side

    def map(self, value: Any) -> Any:
        return self._mark, value


class _SideKey(KeySelector):
    """The key of a marked element."""

    def __init__(self, *selectors: KeySelector) -> None:
        self._selectors = selectors

    def get_key(self, value: Any) -> Any:
        return self._selectors[value[0]].get_key(value[1])


class _PairWindow(WindowFunction[Any, Any, Any, Any]):
    """Opens and closes the user's function, and tells the sides apart."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def open(self, runtime_context: Any) -> None:
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def _sides(self, inputs: Iterable[Any]) -> tuple[list[Any], list[Any]]:
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side, value in inputs:
            sides[side].append(value)
        return sides


class _JoinWindow(_PairWindow):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        lefts, rights = self._sides(inputs)
        join = self._function.join
        if isinstance(self._function, FlatJoinFunction):
            for left in lefts:
                for right in rights:
                    yield from join(left, right) or ()
        else:
            for left in lefts:
                for right in rights:
                    yield join(left, right)


class _CoGroupWindow(_PairWindow):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        lefts, rights = self._sides(inputs)
        return self._function.co_group(lefts, rights) or ()


class _CallableJoin(JoinFunction):
    def __init__(self, function: Any) -> None:
        self._call = function

    def join(self, first: Any, second: Any) -> Any:
        return self._call(first, second)
