"""Aggregates in two steps, so that one busy key is not one busy slot.

* *Two phases* (``table.optimizer.agg-phase-strategy``, with mini-batches): before rows travel to
  their key's slot, those of a batch that have equal keys become one, and the aggregate of all adds
  these up (:class:`physical.LocalAggregate`).
* *Split distinct* (``table.optimizer.distinct-agg.split.enabled``): the distinct values of each
  group are kept first, spread by value; then what is new is counted or added up.

Both need aggregates that can be computed from parts: a count is a sum of counts, a maximum one of
maxima, an average is made of sums and counts, a variance of these and of sums of squares. A user's
function can, in two phases, if it has a method ``merge``. FIRST_VALUE, LAST_VALUE and those that
list their values cannot: they depend on the order of rows, which parts do not keep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scurry.common.data_types import DataType, DataTypes, DecimalType, IntegralType
from scurry.functions.udfs.aggregate_parts import AggregatePart, MergedParts, can_merge
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.planner.algebra import Aggregate, Aggregation, Node
from scurry.planner.options import PlannerOptions
from scurry.planner.physical import LocalAggregate
from scurry.planner.rewrite import bottom_up
from scurry.planner.traits import changes_of

_BIGINT, _DOUBLE = DataTypes.BIGINT(False), DataTypes.DOUBLE()
#: by which function the results of parts are put together, where a part is the aggregate itself
_MERGED = {"COUNT": "$SUM0", "SUM": "SUM", "$SUM0": "$SUM0", "MIN": "MIN", "MAX": "MAX"}
#: the functions of several parts: by which function these are put together
_COMPOSED = {
    "AVG": "$AVG",
    "VAR_POP": "$VAR_POP",
    "VAR_SAMP": "$VAR_SAMP",
    "VARIANCE": "$VAR_SAMP",
    "STDDEV_POP": "$STDDEV_POP",
    "STDDEV_SAMP": "$STDDEV_SAMP",
    "STDDEV": "$STDDEV_SAMP",
}


def split_aggregates(node: Node, options: PlannerOptions) -> Node:
    """The tree with aggregates in two steps, where the options ask for it."""
    if options.split_distinct:
        node = bottom_up(node, _split_distinct)
    if options.mini_batch and options.agg_phase != "ONE_PHASE":
        node = bottom_up(node, _in_two_phases)
    return node


def _built_in(call: Aggregation) -> bool:
    """Whether a call is of a built-in function that can be computed from parts."""
    return isinstance(call.function, str) and call.function in _MERGED | _COMPOSED


def _mergeable(call: Aggregation) -> bool:
    if isinstance(call.function, UserDefinedFunctionWrapper):
        return can_merge(call.function.function())
    return _built_in(call)


def _parts(call: Aggregation, source: Node) -> tuple[Aggregation, ...]:
    """What is computed of each part of a group."""
    if isinstance(call.function, UserDefinedFunctionWrapper):
        accumulated = AggregatePart(call.function.function(), call.function.name)
        return (replace(call, function=accumulated, type=DataTypes.BYTES()),)
    if call.function in _MERGED:
        return (call,)
    (argument,) = call.arguments

    def part(function: str, kind: DataType) -> Aggregation:
        return replace(call, function=function, type=kind, name=f"${function.lstrip('$')}")

    count = part("COUNT", _BIGINT)
    if call.function == "AVG":
        return (part(*_sum_of(source.type_of(argument))), count)
    return (count, part("$DOUBLES", _DOUBLE), part("$SQUARES", _DOUBLE))


def _sum_of(kind: DataType) -> tuple[str, DataType]:
    """The function and the type of the sums that an average is made of."""
    if isinstance(kind, IntegralType):
        return "SUM", DataTypes.BIGINT()
    if isinstance(kind, DecimalType):
        return "SUM", DataTypes.DECIMAL(38, kind.scale)
    return "$DOUBLES", _DOUBLE


def _merged(call: Aggregation, places: tuple[int, ...]) -> Aggregation:
    """The call that puts the parts in these columns together."""
    function: Any
    if isinstance(call.function, UserDefinedFunctionWrapper):
        function = MergedParts(call.function.function(), call.function.name)
    else:
        function = (_MERGED | _COMPOSED)[call.function]
    return replace(call, function=function, arguments=places, filter=None, constants=())


class _Placed:
    """The parts of calls, each of them once, in columns from ``first`` on."""

    def __init__(self, calls: tuple[Aggregation, ...], source: Node, first: int) -> None:
        self._first = first
        self._of = {call: _parts(call, source) for call in calls}
        self.parts = list(dict.fromkeys(one for parts in self._of.values() for one in parts))

    def merged(self, call: Aggregation) -> Aggregation:
        """The call that puts its parts together."""
        places = (self._first + self.parts.index(one) for one in self._of[call])
        return _merged(call, tuple(places))


# --- two phases -----------------------------------------------------------------------------------


def _in_two_phases(node: Node) -> Node:
    if not isinstance(node, Aggregate) or not node.calls or not changes_of(node.input).grows:
        return node
    if any(call.distinct or not _mergeable(call) for call in node.calls):
        return node
    groups = len(node.groups)
    placed = _Placed(node.calls, node.input, groups)
    local = LocalAggregate(node.input, node.groups, tuple(placed.parts), span=node.span)
    calls = tuple(map(placed.merged, node.calls))
    return replace(node, input=local, groups=tuple(range(groups)), calls=calls)


# --- split distinct -------------------------------------------------------------------------------


def _split_distinct(node: Node) -> Node:
    """Distinct values as groups of their own, then the aggregate over them."""
    if not isinstance(node, Aggregate) or not all(map(_built_in, node.calls)):
        return node
    distinct = [call for call in node.calls if call.distinct]
    if not distinct or any(call.filter is not None for call in distinct):
        return node
    if len({call.arguments for call in distinct}) > 1 or len(distinct[0].arguments) != 1:
        return node
    (value,) = distinct[0].arguments
    if value in node.groups:
        return node
    groups = len(node.groups)
    others = tuple(call for call in node.calls if not call.distinct)
    placed = _Placed(others, node.input, groups + 1)
    inner = replace(node, groups=(*node.groups, value), calls=tuple(placed.parts))
    calls = tuple(
        replace(call, distinct=False, arguments=(groups,)) if call.distinct else placed.merged(call)
        for call in node.calls
    )
    return replace(node, input=inner, groups=tuple(range(groups)), calls=calls)
