"""Aggregates in two steps, so that one busy key is not one busy slot.

* *Two phases* (``table.optimizer.agg-phase-strategy``, with mini-batches): before rows travel to
  their key's slot, those of a batch that have equal keys become one, and the aggregate of all adds
  these up (:class:`physical.LocalAggregate`).
* *Split distinct* (``table.optimizer.distinct-agg.split.enabled``): the distinct values of each
  group are kept first, spread by value; then what is new is counted or added up.

Both need aggregates of which parts can be put together: a count is a sum of counts, a maximum one
of maxima.
"""

from __future__ import annotations

from dataclasses import replace

from scurry.planner.algebra import Aggregate, Aggregation, Node
from scurry.planner.options import PlannerOptions
from scurry.planner.physical import LocalAggregate
from scurry.planner.rewrite import bottom_up
from scurry.planner.traits import changes_of

#: by which function the results of parts are put together
_MERGED = {"COUNT": "$SUM0", "SUM": "SUM", "$SUM0": "$SUM0", "MIN": "MIN", "MAX": "MAX"}


def split_aggregates(node: Node, options: PlannerOptions) -> Node:
    """The tree with aggregates in two steps, where the options ask for it."""
    if options.split_distinct:
        node = bottom_up(node, _split_distinct)
    if options.mini_batch and options.agg_phase != "ONE_PHASE":
        node = bottom_up(node, _in_two_phases)
    return node


def _mergeable(calls: tuple[Aggregation, ...]) -> bool:
    return all(isinstance(call.function, str) and call.function in _MERGED for call in calls)


def _merged(call: Aggregation, place: int) -> Aggregation:
    """The call that puts the results in column ``place`` together."""
    function = _MERGED[call.function]
    return replace(call, function=function, arguments=(place,), filter=None, constants=())


# --- two phases -----------------------------------------------------------------------------------


def _in_two_phases(node: Node) -> Node:
    if not isinstance(node, Aggregate) or not node.calls or not changes_of(node.input).grows:
        return node
    if not _mergeable(node.calls) or any(call.distinct for call in node.calls):
        return node
    groups = len(node.groups)
    local = LocalAggregate(node.input, node.groups, node.calls, span=node.span)
    calls = tuple(_merged(call, groups + at) for at, call in enumerate(node.calls))
    return replace(node, input=local, groups=tuple(range(groups)), calls=calls)


# --- split distinct -------------------------------------------------------------------------------


def _split_distinct(node: Node) -> Node:
    """Distinct values as groups of their own, then the aggregate over them."""
    if not isinstance(node, Aggregate) or not _mergeable(node.calls):
        return node
    distinct = [call for call in node.calls if call.distinct]
    if not distinct or any(call.filter is not None for call in distinct):
        return node
    if len({call.arguments for call in distinct}) > 1 or len(distinct[0].arguments) != 1:
        return node
    (value,) = distinct[0].arguments
    if value in node.groups:
        return node
    parts = tuple(call for call in node.calls if not call.distinct)
    inner = replace(node, groups=(*node.groups, value), calls=parts)
    groups = len(node.groups)
    places = {call: groups + 1 + at for at, call in enumerate(parts)}
    calls = tuple(
        replace(call, distinct=False, arguments=(groups,))
        if call.distinct
        else _merged(call, places[call])
        for call in node.calls
    )
    return replace(node, input=inner, groups=tuple(range(groups)), calls=calls)
