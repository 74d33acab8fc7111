"""Batch mode: a query reads its tables to the end, and sends each row of its result once.

The operators are those of streams; three things differ. Nothing is late: there is no watermark
before the end of the input, so everything that waits for time sees all rows. An aggregate of all
rows has a row even if there are none. And what the changes of the result amount to is sent when
the input has ended, in the order that the query asks for (:class:`physical.FinalRows`).
"""

from __future__ import annotations

from dataclasses import replace

from scurry.common.changelog import ChangelogMode
from scurry.functions.expressions import InputRef, Literal
from scurry.planner.algebra import (
    ALL_ROWS,
    Aggregate,
    Join,
    Node,
    Project,
    Rank,
    Scan,
    Sort,
    Watermark,
)
from scurry.planner.bind.relations import ONE_ROW
from scurry.planner.errors import SqlValidationError
from scurry.planner.physical import FinalRows
from scurry.planner.push_domain import or_zero
from scurry.planner.rewrite import bottom_up
from scurry.planner.traits import changes_of


def wait_for_end(node: Node) -> Node:
    """The tree of a query without watermarks before the end of its input."""
    return bottom_up(node, _timeless)


def _timeless(node: Node) -> Node:
    if isinstance(node, Scan) and node.table.mode is not ChangelogMode.INSERT_ONLY:
        raise SqlValidationError(
            "Querying a table in batch mode is only possible for INSERT-only table sources, but "
            f"the source for {node.table.name} has other changes, too",
            node.span,
            "Use EnvironmentSettings.in_streaming_mode().",
        )
    if isinstance(node, Watermark):
        return replace(node, expression=Literal(None, node.expression.type.nullable()))
    return node


def fill_empty_aggregates(node: Node) -> Node:
    """The tree in which an aggregate of all rows has a row also where there are none."""
    return bottom_up(node, _filled)


def _filled(node: Node) -> Node:
    if not isinstance(node, Aggregate) or node.groups or not node.calls:
        return node
    joined = Join(ONE_ROW, node, "left", None, span=node.span)
    width = ONE_ROW.width
    results = tuple(
        or_zero(InputRef(width + at, call.type), call) for at, call in enumerate(node.calls)
    )
    return Project(joined, results, tuple(c.name for c in node.columns), span=node.span)


def finish_rows(node: Node) -> Node:
    """The tree of a whole query with its final rows on top, or below the projections on top."""
    if isinstance(node, Project) and _has_order(node.input):
        return replace(node, input=finish_rows(node.input))
    if isinstance(node, Sort) and node.order:
        return FinalRows(_cut(_unordered(node.input), node), node.order, span=node.span)
    found = _unordered(node)
    return found if changes_of(found).grows else FinalRows(found, (), span=node.span)


def _has_order(node: Node) -> bool:
    while isinstance(node, Project):
        node = node.input
    return isinstance(node, Sort) and bool(node.order)


def _cut(node: Node, sort: Sort) -> Node:
    """The rows that OFFSET and LIMIT leave."""
    if sort.fetch is None and not sort.offset:
        return node
    last = ALL_ROWS if sort.fetch is None else sort.offset + sort.fetch
    return Rank(node, (), sort.order, sort.offset + 1, last, span=sort.span)


def _unordered(node: Node) -> Node:
    """Below the top an order matters only where it decides which rows there are."""

    def change(one: Node) -> Node:
        return _cut(one.input, one) if isinstance(one, Sort) and one.order else one

    return bottom_up(node, change)
