"""Event time: where timestamps come from and how far the stream has come.

A watermark ``t`` says that no event at or before ``t`` is expected any more. A `WatermarkStrategy`
describes how the engine arrives at watermarks: it takes a timestamp from each event (the assigner)
and stays a fixed distance behind the greatest one seen, or asks a generator of your own. Sources
that fall silent can be declared idle, and sources that run ahead can be held back (alignment).

A strategy is a value: every ``with_...`` method returns a new one.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from scurry.common.errors import ConfigurationError
from scurry.common.time import Duration, TimeSpan, milliseconds_of
from scurry.common.unavailable import unavailable

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "TimestampAssigner",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]


class TimestampAssigner(ABC):
    """Takes the event time out of an element."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Milliseconds since 1970-01-01 UTC at which the event happened.

        Called once for each element, before any other operator sees it. `record_timestamp` is the
        time the source attached to the element, such as a broker's, or the smallest 64-bit integer
        if there was none.
        """


@dataclass(frozen=True, slots=True)
class FunctionTimestampAssigner(TimestampAssigner):
    """A plain function as an assigner."""

    function: Callable[..., int]
    takes_record_timestamp: bool

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        if self.takes_record_timestamp:
            return self.function(value, record_timestamp)
        return self.function(value)


class WatermarkOutput(ABC):
    """Where a generator puts its watermarks."""

    @abstractmethod
    def emit_watermark(self, timestamp: int) -> None:
        """Declare that no event at or before that time is expected any more.

        A watermark below an earlier one has no effect.
        """

    @abstractmethod
    def mark_idle(self) -> None:
        """Declare that nothing is expected for now, so that others need not wait."""

    @abstractmethod
    def mark_active(self) -> None:
        """Take :meth:`mark_idle` back; a new watermark does so as well."""


class WatermarkGenerator(ABC):
    """Watermarks of your own making, one generator for each partition of a source."""

    @abstractmethod
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """Called for each event, after its timestamp was assigned."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called at regular intervals, whether events came or not."""


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """How a stream gets timestamps and watermarks; made by the static methods below."""

    kind: Literal["none", "bounded", "generator"]
    out_of_orderness_ms: int = 0
    assigner: TimestampAssigner | None = None
    idleness_ms: int | None = None
    alignment: tuple[str, int, int] | None = None
    """Group, greatest drift in ms, interval between updates in ms."""
    generator_factory: Callable[[], WatermarkGenerator] | None = None
    future_bound: tuple[int, str] | None = None
    """How far ahead of the clock a timestamp may be in ms, and the tag of events beyond that."""

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Timestamps never decrease within a partition of the source."""
        return WatermarkStrategy("bounded")

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: TimeSpan) -> WatermarkStrategy:
        """An event comes at most that long after one with a greater timestamp."""
        bound = milliseconds_of(max_out_of_orderness)
        if bound < 0:
            raise ConfigurationError(
                f"for_bounded_out_of_orderness needs a span of 0 ms or more, got {bound} ms."
            )
        return WatermarkStrategy("bounded", bound)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """No watermarks at all: event time never advances until the input ends."""
        return WatermarkStrategy("none")

    @staticmethod
    def for_generator(factory: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Watermarks by a generator; the factory is called once for each source partition."""
        if not callable(factory):
            raise ConfigurationError(
                f"for_generator needs a function that makes a WatermarkGenerator, got {factory!r}: "
                "pass the class itself or a lambda"
            )
        return WatermarkStrategy("generator", generator_factory=factory)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[..., int]
    ) -> WatermarkStrategy:
        """Take timestamps by an assigner or by a function of (element[, record timestamp]). As in
        PyFlink this strategy itself is changed, and returned; streams that it was given to before
        are not."""
        object.__setattr__(self, "assigner", _as_assigner(timestamp_assigner))
        return self

    def with_idleness(self, idle_timeout: TimeSpan) -> WatermarkStrategy:
        """Leave a partition out of the watermark once it has been silent for that long."""
        return replace(self, idleness_ms=_positive("idle timeout", idle_timeout))

    def with_future_bound(self, max_ahead: TimeSpan, output_tag: Any) -> WatermarkStrategy:
        """Send events whose timestamp is further ahead of the clock than that to a side output.

        One event from the far future would otherwise carry the watermark there, close every window
        and make all that follows late.
        """
        tag = getattr(output_tag, "tag_id", None)
        if tag is None:
            raise ConfigurationError(
                f"with_future_bound needs an OutputTag for the events it turns away, got "
                f"{output_tag!r}"
            )
        return replace(self, future_bound=(_positive("future bound", max_ahead), tag))

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: TimeSpan,
        update_interval: TimeSpan | None = None,
    ) -> WatermarkStrategy:
        """Hold back sources of the group that are further ahead than the drift allows."""
        drift = _positive("watermark drift", max_allowed_watermark_drift)
        if update_interval is None:
            update_interval = Duration.of_seconds(1)
        interval = _positive("update interval", update_interval)
        return replace(self, alignment=(watermark_group, drift, interval))


def _positive(what: str, span: TimeSpan) -> int:
    milliseconds = milliseconds_of(span)
    if milliseconds <= 0:
        raise ConfigurationError(f"the {what} must be longer than 0 ms, got {milliseconds} ms")
    return milliseconds


def _as_assigner(assigner: Any) -> TimestampAssigner:
    if isinstance(assigner, TimestampAssigner):
        return assigner
    if not callable(assigner):
        raise ConfigurationError(
            f"a timestamp assigner is a TimestampAssigner or a function of (element, "
            f"record_timestamp), got {assigner!r}"
        )
    try:
        signature = inspect.signature(assigner)
    except (ValueError, TypeError):
        return FunctionTimestampAssigner(assigner, takes_record_timestamp=False)
    for takes, arguments in ((True, (None, 0)), (False, (None,))):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return FunctionTimestampAssigner(assigner, takes_record_timestamp=takes)
    raise ConfigurationError(
        f"the timestamp assigner {assigner!r} takes {signature}: "
        "it must accept (element) or (element, record_timestamp)"
    )


class AssignerWithPeriodicWatermarksWrapper:
    """An assigner in Java; it can be imported, and not be made."""

    __init__ = unavailable(
        "AssignerWithPeriodicWatermarksWrapper",
        "it wraps a Java object; give a WatermarkStrategy a TimestampAssigner",
    )
