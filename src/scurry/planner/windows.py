"""Which columns of a relation are the bounds of windows, traced from where windows are made."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scurry.common.data_types import LocalZonedTimestampType
from scurry.functions.expressions import InputRef
from scurry.planner import algebra, physical
from scurry.planner.algebra import Node
from scurry.planner.time_attributes import is_proctime


@dataclass(frozen=True)
class WindowColumns:
    """The columns of a window: start, end, and the time attribute, each None if it is gone."""

    start: int | None
    end: int | None
    time: int | None
    event_time: bool
    kind: str
    #: whether they are of points in time (TIMESTAMP_LTZ), and so in the time of a zone
    zoned: bool = False

    def moved(self, places: dict[int, int]) -> WindowColumns:
        """The same in a relation whose columns have moved; None for those that are not there."""

        def place(index: int | None) -> int | None:
            return None if index is None else places.get(index)

        return replace(self, start=place(self.start), end=place(self.end), time=place(self.time))


def is_zoned(node: Node) -> bool:
    """Whether the windows of an operator on windows are in the time of a zone."""
    if isinstance(node, algebra.WindowTable | physical.SessionAggregate):
        return isinstance(node.input.type_of(node.time), LocalZonedTimestampType)
    windows = windows_of(node.inputs[0])
    return windows is not None and windows.zoned


def windows_of(node: Node) -> WindowColumns | None:
    """The window columns of a relation, None if it has no windows."""
    if isinstance(node, algebra.WindowTable):
        event_time = not is_proctime(node.input.type_of(node.time))
        start = node.width - 3
        zoned = is_zoned(node)
        return WindowColumns(start, start + 1, start + 2, event_time, node.kind, zoned)
    if isinstance(node, physical.WindowAggregate | physical.SessionAggregate):
        start = len(node.keys) + len(node.calls)
        time = start + 2 if len(node.window) > 2 else None
        event_time = not isinstance(node, physical.WindowAggregate) or node.event_time
        return WindowColumns(start, start + 1, time, event_time, "aggregated", is_zoned(node))
    if isinstance(node, algebra.Project):
        below = windows_of(node.input)
        if below is None:
            return None
        places: dict[int, int] = {}
        for at, expression in enumerate(node.expressions):
            if isinstance(expression, InputRef):
                places.setdefault(expression.index, at)
        return below.moved(places)
    if isinstance(node, algebra.Expand):
        return _expanded(node)
    if isinstance(
        node,
        algebra.Filter | algebra.Correlate | physical.WindowRank | physical.WindowJoin
        | algebra.Over | algebra.Rank,
    ):  # fmt: skip
        return windows_of(node.inputs[0])
    return None


def _expanded(node: algebra.Expand) -> WindowColumns | None:
    """Windows whose bounds are in every grouping set."""
    below = windows_of(node.input)
    if below is None or below.kind == "session":
        return None
    bounds = {below.start, below.end} & set(node.grouped)
    return below if all(bounds <= set(one) for one in node.sets) else None
