"""Top-N of rows that are updated: whether an update can put a row further back.

Where it cannot, as in the order of a count from the highest on, rows beyond the N-th need not be
kept: such a row comes in only by an update of its own. Flink calls this the strategy UpdateFast. In
all other cases every row is kept, because any row may move up when another one goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from scurry.functions.expressions import InputRef
from scurry.planner import algebra
from scurry.planner.algebra import Node, SortItem
from scurry.planner.traits import changes_of, keys_of

#: What updates of a row do to a column: nothing, or make it greater, or less.
_STAYS, _RISES, _FALLS = "stays", "rises", "falls"
_MOVES = {"COUNT": _RISES, "MAX": _RISES, "MIN": _FALLS}


def row_key_of(
    source: Node, partition: Sequence[int], order: Sequence[SortItem]
) -> tuple[int, ...] | None:
    """The columns that identify the rows of ``source``, if these are updated only and no update
    puts a row further back; else None."""
    changes = changes_of(source)
    if changes.grows or changes.deletes or not order:
        return None
    moves = _moves(source)
    if not all(_forward(source, moves.get(item.index), item) for item in order):
        return None
    keys = [tuple(sorted(key)) for key in keys_of(source) if key >= set(partition)]
    return min(keys, key=lambda key: (len(key), key), default=None)


def _forward(source: Node, move: str | None, item: SortItem) -> bool:
    if move == _STAYS:
        return True
    if move != (_FALLS if item.ascending else _RISES):
        return False
    # an aggregate of nulls becomes a value: that must not put it behind others
    return item.nulls_last or not source.type_of(item.index).is_nullable


def _moves(node: Node) -> dict[int, str]:
    """What updates do to columns, of those for which it is known."""
    if isinstance(node, algebra.Project):
        below = _moves(node.input)
        return {
            at: below[expression.index]
            for at, expression in enumerate(node.expressions)
            if isinstance(expression, InputRef) and expression.index in below
        }
    if not isinstance(node, algebra.Aggregate) or not changes_of(node.input).grows:
        return {}
    found = dict.fromkeys(range(len(node.groups)), _STAYS)
    for at, call in enumerate(node.calls, start=len(node.groups)):
        if isinstance(call.function, str) and call.function in _MOVES:
            found[at] = _MOVES[call.function]
    return found
