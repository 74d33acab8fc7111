"""Recognises aggregates of windows: GROUP BY that has the bounds of a window among its columns."""

from __future__ import annotations

from dataclasses import replace

from scurry.functions.expressions import InputRef
from scurry.planner.algebra import Aggregate, Aggregation, Node, Project, WindowTable
from scurry.planner.physical import SessionAggregate, WindowAggregate
from scurry.planner.rewrite import bottom_up
from scurry.planner.windows import WindowColumns, windows_of


def recognise_windows(node: Node) -> Node:
    """The tree with window aggregates in place of such aggregates."""
    return bottom_up(node, _recognise)


def _recognise(node: Node) -> Node:
    if not isinstance(node, Aggregate):
        return node
    windows = windows_of(node.input)
    if windows is None or windows.start not in node.groups or windows.end not in node.groups:
        return node
    keys = tuple(
        one for one in node.groups if one not in (windows.start, windows.end, windows.time)
    )
    if windows.kind == "session" and _sessions_of(node.input) is not None:
        made = _session(node, keys, windows)
    else:
        made = _window(node, keys, windows)
    return _restored(node, made, keys, windows)


def _window(node: Aggregate, keys: tuple[int, ...], windows: WindowColumns) -> Node:
    assert windows.start is not None
    assert windows.end is not None
    columns = node.input.columns
    bounds = [columns[windows.start], columns[windows.end]]
    time = [columns[at] for at in node.groups if at == windows.time]
    return WindowAggregate(
        node.input, keys, node.calls, windows.start, windows.end, (*bounds, *time),
        windows.event_time, span=node.span,
    )  # fmt: skip


def _session(node: Aggregate, keys: tuple[int, ...], windows: WindowColumns) -> Node:
    """Sessions are made while they are aggregated: the window's columns vanish below."""
    project = node.input
    table = _sessions_of(project)
    assert table is not None
    assert windows.start is not None
    assert windows.end is not None
    bounds = [node.input.columns[windows.start], node.input.columns[windows.end]]
    time = windows.time if windows.time in node.groups else None
    if time is not None:
        bounds.append(node.input.columns[time])
    source: Node = table.input
    places = {at: at for at in range(table.input.width)}
    time_column = table.time
    if isinstance(project, Project):
        source, places = _without_windows(project, table)
        time_column = source.width - 1
    return SessionAggregate(
        source,
        tuple(places[key] for key in keys),
        tuple(_moved(call, places) for call in node.calls),
        time_column,
        table.size,
        tuple(bounds),
        span=node.span,
    )


def _sessions_of(node: Node) -> WindowTable | None:
    """The sessions that are read as they are made, None if something is done to their rows
    first."""
    table = node.input if isinstance(node, Project) else node
    return table if isinstance(table, WindowTable) else None


def _without_windows(project: Project, table: WindowTable) -> tuple[Project, dict[int, int]]:
    """The projection without window columns, with the time column behind it."""
    width = table.input.width
    kept = [
        at
        for at, one in enumerate(project.expressions)
        if not (isinstance(one, InputRef) and one.index >= width)
    ]
    time = InputRef(table.time, table.input.type_of(table.time))
    expressions = (*(project.expressions[at] for at in kept), time)
    names = (*(project.names[at] for at in kept), "$time")
    places = {old: new for new, old in enumerate(kept)}
    return Project(table.input, expressions, names), places


def _moved(call: Aggregation, places: dict[int, int]) -> Aggregation:
    chosen = None if call.filter is None else places[call.filter]
    return replace(call, arguments=tuple(places[one] for one in call.arguments), filter=chosen)


def _restored(node: Aggregate, made: Node, keys: tuple[int, ...], windows: WindowColumns) -> Node:
    """The columns in the order of GROUP BY."""
    behind = len(keys) + len(node.calls)
    places = {key: at for at, key in enumerate(keys)}
    for offset, index in enumerate((windows.start, windows.end, windows.time)):
        if index is not None:
            places.setdefault(index, behind + offset)
    chosen = [places[group] for group in node.groups]
    chosen += range(len(keys), behind)
    refs = tuple(InputRef(at, made.type_of(at)) for at in chosen)
    return Project(made, refs, tuple(column.name for column in node.columns), span=node.span)
