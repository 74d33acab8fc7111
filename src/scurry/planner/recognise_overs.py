"""Recognises OVER in an order that is not time: its results change as rows come.

In the order of time, ascending, up to the current row, a result is final when time has passed the
row. In any other order a row that comes later may be before it. On streams Flink allows that for
one ascending column and all rows up to the current one; in batch mode for every frame.
"""

from __future__ import annotations

from scurry.planner.algebra import Node, Over
from scurry.planner.gaps import refuse
from scurry.planner.physical import FinalRows, SortedOver
from scurry.planner.rewrite import bottom_up
from scurry.planner.time_attributes import is_time_attribute

#: functions that need all rows of the partition, or rows after the current one
_BATCH_ONLY = ("LEAD", "NTILE", "CUME_DIST", "PERCENT_RANK")
_RANKS = ("RANK", "DENSE_RANK")


def recognise_overs(node: Node) -> Node:
    """The tree of a stream."""
    return bottom_up(node, _of_stream)


def recognise_batch_overs(node: Node) -> Node:
    """The tree of a batch: rows come when all are there."""
    return bottom_up(node, _of_batch)


def _functions(node: Over) -> set[object]:
    return {call.function for call in node.calls if isinstance(call.function, str)}


def _by_time(node: Over) -> bool:
    (*others, first) = node.order[::-1] or (None,)
    if others or first is None or not first.ascending or node.frame.following != 0:
        return False
    return is_time_attribute(node.input.type_of(first.index))


def _final(node: Over) -> bool:
    """Whether results never change."""
    return _by_time(node) and not _functions(node) & {*_BATCH_ONLY, *_RANKS}


def _sorted(node: Over, source: Node) -> Node:
    return SortedOver(source, node.calls, node.partition, node.order, node.frame, span=node.span)


def _of_batch(node: Node) -> Node:
    if not isinstance(node, Over) or _final(node):
        return node
    return _sorted(node, FinalRows(node.input, (), node.partition, span=node.span))


def _of_stream(node: Node) -> Node:
    if not isinstance(node, Over) or _final(node):
        return node
    key = _reason(node)
    if key is not None:
        raise refuse(key, node.span)
    return _sorted(node, node.input)


def _reason(node: Over) -> str | None:
    """Why a stream cannot have it, by the key of the gap."""
    if _functions(node) & set(_BATCH_ONLY):
        return "over-function"
    if node.frame.following != 0:
        return "over-frame"
    if len(node.order) != 1 or not node.order[0].ascending:
        return "over-order"
    return None if node.frame.preceding is None else "over-frame"
