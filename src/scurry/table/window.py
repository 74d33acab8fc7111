"""Windows of the Table API: tumbling, sliding, sessions, and those of each row.

orders.window(Tumble.over(lit(10).minutes).on(col("ts")).alias("w"))
      .group_by(col("w"), col("user"))
      .select(col("user"), col("w").start, col("price").sum)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scurry.common.errors import ProgramError
from scurry.table.expression import Expression

__all__ = [
    "GroupWindow",
    "Over",
    "OverWindow",
    "OverWindowPartitioned",
    "OverWindowPartitionedOrdered",
    "OverWindowPartitionedOrderedPreceding",
    "Session",
    "SessionWithGap",
    "SessionWithGapOnTime",
    "Slide",
    "SlideWithSize",
    "SlideWithSizeAndSlide",
    "SlideWithSizeAndSlideOnTime",
    "Tumble",
    "TumbleWithSize",
    "TumbleWithSizeOnTime",
]


@dataclass(frozen=True, eq=False)
class GroupWindow:
    """A window with its alias, for ``Table.window``. ``kind`` is TUMBLE, HOP or SESSION; the
    intervals are in the order in which SQL's functions of these names take them."""

    kind: str
    intervals: tuple[Expression, ...]
    time: Expression
    name: str


def _expression(where: str, value: object) -> Expression:
    if not isinstance(value, Expression):
        raise ProgramError(f"{where} takes an expression such as lit(10).minutes, got {value!r}.")
    return value


def _alias(alias: object) -> str:
    if not isinstance(alias, str) or not alias:
        raise ProgramError(f"The alias of a window is a text, got {alias!r}.")
    return alias


class Tumble:
    """Windows of one length, one after the other."""

    @classmethod
    def over(cls, size: Expression) -> TumbleWithSize:
        """The length: an interval, or rows."""
        return TumbleWithSize(_expression("Tumble.over", size))


class TumbleWithSize:
    """A tumbling window that needs its time attribute."""

    def __init__(self, size: Expression) -> None:
        self._size = size

    def on(self, time_field: Expression) -> TumbleWithSizeOnTime:
        """The time attribute."""
        return TumbleWithSizeOnTime(self._size, _expression("on", time_field))


class TumbleWithSizeOnTime:
    """A tumbling window that needs its alias."""

    def __init__(self, size: Expression, time: Expression) -> None:
        self._size, self._time = size, time

    def alias(self, alias: str) -> GroupWindow:
        """What ``group_by`` and ``select`` call the window."""
        return GroupWindow("TUMBLE", (self._size,), self._time, _alias(alias))


class Slide:
    """Windows of one length, a new one after each slide."""

    @classmethod
    def over(cls, size: Expression) -> SlideWithSize:
        """The length: an interval, or rows."""
        return SlideWithSize(_expression("Slide.over", size))


class SlideWithSize:
    """A sliding window that needs its slide."""

    def __init__(self, size: Expression) -> None:
        self._size = size

    def every(self, slide: Expression) -> SlideWithSizeAndSlide:
        """How long after one window the next begins."""
        return SlideWithSizeAndSlide(self._size, _expression("every", slide))


class SlideWithSizeAndSlide:
    """A sliding window that needs its time attribute."""

    def __init__(self, size: Expression, slide: Expression) -> None:
        self._size, self._slide = size, slide

    def on(self, time_field: Expression) -> SlideWithSizeAndSlideOnTime:
        """The time attribute."""
        time = _expression("on", time_field)
        return SlideWithSizeAndSlideOnTime(self._size, self._slide, time)


class SlideWithSizeAndSlideOnTime:
    """A sliding window that needs its alias."""

    def __init__(self, size: Expression, slide: Expression, time: Expression) -> None:
        self._size, self._slide, self._time = size, slide, time

    def alias(self, alias: str) -> GroupWindow:
        """What ``group_by`` and ``select`` call the window."""
        return GroupWindow("HOP", (self._slide, self._size), self._time, _alias(alias))


class Session:
    """Windows that end when nothing has come for a while."""

    @classmethod
    def with_gap(cls, gap: Expression) -> SessionWithGap:
        """How long nothing must have come."""
        return SessionWithGap(_expression("Session.with_gap", gap))


class SessionWithGap:
    """A session window that needs its time attribute."""

    def __init__(self, gap: Expression) -> None:
        self._gap = gap

    def on(self, time_field: Expression) -> SessionWithGapOnTime:
        """The time attribute."""
        return SessionWithGapOnTime(self._gap, _expression("on", time_field))


class SessionWithGapOnTime:
    """A session window that needs its alias."""

    def __init__(self, gap: Expression, time: Expression) -> None:
        self._gap, self._time = gap, time

    def alias(self, alias: str) -> GroupWindow:
        """What ``group_by`` and ``select`` call the window."""
        return GroupWindow("SESSION", (self._gap,), self._time, _alias(alias))


@dataclass(frozen=True, eq=False)
class OverWindow:
    """A window of each row, for ``Table.over_window``; without bounds it reaches from the first
    row to the current one, and rows of the same time count as current."""

    partition_by: tuple[Expression, ...]
    order_by: Expression
    name: str
    preceding: Expression | None = None
    following: Expression | None = None


class Over:
    """Windows around each row."""

    @classmethod
    def order_by(cls, order_by: Expression) -> OverWindowPartitionedOrdered:
        """All rows in the order of a time attribute."""
        return OverWindowPartitionedOrdered((), _expression("Over.order_by", order_by))

    @classmethod
    def partition_by(cls, *partition_by: Expression) -> OverWindowPartitioned:
        """The rows that have these values in common."""
        keys = tuple(_expression("Over.partition_by", key) for key in partition_by)
        return OverWindowPartitioned(keys)


class OverWindowPartitioned:
    """An over window that needs its order."""

    def __init__(self, keys: tuple[Expression, ...]) -> None:
        self._keys = keys

    def order_by(self, order_by: Expression) -> OverWindowPartitionedOrdered:
        """The time attribute that gives the order."""
        return OverWindowPartitionedOrdered(self._keys, _expression("order_by", order_by))


class OverWindowPartitionedOrdered:
    """An over window that needs its alias, and may be given bounds."""

    def __init__(self, keys: tuple[Expression, ...], order: Expression) -> None:
        self._window = OverWindow(keys, order, "")

    def alias(self, alias: str) -> OverWindow:
        """What ``over`` calls the window."""
        return replace(self._window, name=_alias(alias))

    def preceding(self, preceding: Expression) -> OverWindowPartitionedOrderedPreceding:
        """How far the window reaches back: rows, an interval, or UNBOUNDED_ROW or _RANGE."""
        bound = _expression("preceding", preceding)
        return OverWindowPartitionedOrderedPreceding(replace(self._window, preceding=bound))


class OverWindowPartitionedOrderedPreceding:
    """An over window that knows how far it reaches back."""

    def __init__(self, window: OverWindow) -> None:
        self._window = window

    def alias(self, alias: str) -> OverWindow:
        """What ``over`` calls the window."""
        return replace(self._window, name=_alias(alias))

    def following(self, following: Expression) -> OverWindowPartitionedOrderedPreceding:
        """How far the window reaches on: CURRENT_ROW or CURRENT_RANGE."""
        bound = _expression("following", following)
        return OverWindowPartitionedOrderedPreceding(replace(self._window, following=bound))
