"""Aggregates that find the windows of rows by themselves: rows reach them with their time alone.

The bounds of windows are columns as soon as a window table function has been there, and a row that
is in five windows is five rows. What aggregates combine from partials needs neither: rows travel to
the slot of their key as they are, those of a key and a slice of time are combined, and windows are
made of the slices. What is kept and sent is the same.

The rows have to be insertions in event time, and nothing but the aggregate may look at the bounds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from scurry.functions.expressions import Expression, InputRef, references
from scurry.planner.algebra import Aggregation, Node, Project, WindowTable
from scurry.planner.merge_projections import merge_projections
from scurry.planner.physical import WindowAggregate
from scurry.planner.traits import changes_of

#: The aggregates that are combined from partials.
_COMBINED = frozenset({"COUNT", "SUM", "SUM0", "$SUM0", "AVG", "MIN", "MAX"})


class AssignedRows(NamedTuple):
    """What takes the place of an aggregate's input, and what refers to its columns."""

    source: Node
    keys: tuple[int, ...]
    calls: tuple[Aggregation, ...]
    #: kind, time column, size, step and offset
    windows: tuple[str, int, int, int, int]


def rows_to_assign(node: WindowAggregate) -> AssignedRows | None:
    """The rows that go into the windows of an aggregate, None if it needs the bounds as columns."""
    found = node.input
    table = found.input if isinstance(found, Project) else found
    if not isinstance(table, WindowTable) or table.kind == "session" or not node.event_time:
        return None
    if not changes_of(node.input).grows or not all(map(_is_combined, node.calls)):
        return None
    expressions = _expressions(found, table)
    width = table.input.width
    kept = [at for at, one in enumerate(expressions) if not _is_bound(one, width)]
    if any(index >= width for at in kept for index in references(expressions[at])):
        return None
    places = {at: place for place, at in enumerate(kept)}
    if not places.keys() >= {*node.keys, *(at for call in node.calls for at in _read(call))}:
        return None
    time = InputRef(table.time, table.input.type_of(table.time))
    chosen = [expressions[at] for at in kept]
    names = [found.columns[at].name for at in kept]
    at = next((at for at, one in enumerate(chosen) if one == time), len(chosen))
    if at == len(chosen):
        chosen, names = [*chosen, time], [*names, "$time"]
    source = table.input
    if [_index(one) for one in chosen] != list(range(width)):
        made = Project(source, tuple(chosen), tuple(names), span=found.span)
        source = merge_projections(made)
    return AssignedRows(
        source,
        tuple(places[key] for key in node.keys),
        tuple(_moved(call, places) for call in node.calls),
        (table.kind, at, table.size, table.step, table.offset),
    )


def _is_combined(call: Aggregation) -> bool:
    return not call.distinct and isinstance(call.function, str) and call.function in _COMBINED


def _expressions(found: Node, table: WindowTable) -> tuple[Expression, ...]:
    """The columns of an aggregate's input, in terms of those of the window table."""
    if isinstance(found, Project):
        return found.expressions
    return tuple(InputRef(at, table.type_of(at)) for at in range(table.width))


def _is_bound(expression: Expression, width: int) -> bool:
    return isinstance(expression, InputRef) and expression.index >= width


def _index(expression: Expression) -> int | None:
    return expression.index if isinstance(expression, InputRef) else None


def _read(call: Aggregation) -> tuple[int, ...]:
    return call.arguments if call.filter is None else (*call.arguments, call.filter)


def _moved(call: Aggregation, places: dict[int, int]) -> Aggregation:
    chosen = None if call.filter is None else places[call.filter]
    return replace(call, arguments=tuple(places[one] for one in call.arguments), filter=chosen)
