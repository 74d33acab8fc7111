"""Recognises which kind a join is: on equal columns, in an interval of time, of windows, of
versions, or a look-up.

The condition is taken apart: equalities between a column of the left and one of the right are the
keys. A key that is an expression becomes a column below the join first. A join without keys has one
key that is the same for all rows.
"""

from __future__ import annotations

from scurry.functions.builtin import resolve
from scurry.functions.expressions import Expression, InputRef, rewrite
from scurry.planner import algebra, physical
from scurry.planner.algebra import Join, Node, Project, TemporalJoin
from scurry.planner.catalog import ScanRequest
from scurry.planner.gaps import refuse
from scurry.planner.intervals import Bounds, time_bounds
from scurry.planner.rewrite import all_of, bottom_up, moved
from scurry.planner.sides import Parts, parts_of
from scurry.planner.time_attributes import is_proctime, is_rowtime
from scurry.planner.traits import changes_of, keys_of
from scurry.planner.windows import windows_of


def recognise_joins(node: Node) -> Node:
    """The tree with joins that say how they are computed."""
    return bottom_up(node, _recognise)


def _recognise(node: Node) -> Node:
    if isinstance(node, TemporalJoin):
        return _temporal(node)
    return _join(node) if isinstance(node, Join) else node


# --- keys as columns ------------------------------------------------------------------------------


def _with_columns(node: Node, keys: list[Expression]) -> tuple[Node, tuple[int, ...]]:
    """The relation with a column for each key, and which columns those are."""
    columns: list[Expression] = [InputRef(at, c.type) for at, c in enumerate(node.columns)]
    names = [column.name for column in node.columns]
    places = []
    for key in keys:
        if isinstance(key, InputRef):
            places.append(key.index)
            continue
        if key not in columns:
            columns.append(key)
            names.append(f"$key{len(columns)}")
        places.append(columns.index(key))
    if len(columns) == node.width:
        return node, tuple(places)
    return Project(node, tuple(columns), tuple(names), span=node.span), tuple(places)


def _restored(made: Node, node: Join | TemporalJoin, left: Node) -> Node:
    """The columns that the join had before columns for keys were added."""
    if made.width == node.width:
        return made
    kept = list(range(node.left.width))
    if node.kind not in ("semi", "anti"):
        kept += range(left.width, left.width + node.right.width)
    refs = tuple(InputRef(at, made.type_of(at)) for at in kept)
    return Project(made, refs, tuple(column.name for column in node.columns), span=node.span)


def _condition(rest: list[Expression], width: int, wider: int) -> Expression | None:
    """What is left of the condition, over a left side that has become wider."""
    if wider == width:
        return all_of(rest)
    return all_of([_shifted(one, width, wider - width) for one in rest])


def _shifted(tree: Expression, width: int, by: int) -> Expression:

    def change(one: Expression) -> Expression:
        if isinstance(one, InputRef) and one.index >= width:
            return InputRef(one.index + by, one.type, span=one.span)
        return one

    return rewrite(tree, change)


# --- joins ----------------------------------------------------------------------------------------


def _join(node: Join) -> Node:
    width = node.left.width
    parts = parts_of(node.condition, width)
    grows = changes_of(node.left).grows and changes_of(node.right).grows
    bounds = time_bounds(parts, node) if grows and node.kind in _INTERVAL_KINDS else None
    if bounds is not None:
        parts.rest = bounds.rest
    windows = _windows(node, parts) if grows and bounds is None else None
    if windows is not None:
        parts = _without(parts, windows)
    left, left_keys = _with_columns(node.left, parts.left)
    right, right_keys = _with_columns(node.right, parts.right)
    condition = _condition(parts.rest, width, left.width)
    if bounds is not None:
        made: Node = _interval(node, left, right, left_keys, right_keys, condition, bounds)
    elif windows is not None:
        (start, end), (other_start, other_end) = windows
        made = physical.WindowJoin(
            left, right, node.kind, left_keys, right_keys, (start, end), (other_start, other_end),
            condition, span=node.span,
        )  # fmt: skip
    else:
        made = physical.EquiJoin(
            left, right, node.kind, left_keys, right_keys, condition, tuple(parts.null_equal),
            node.ttl, span=node.span,
        )  # fmt: skip
    return _restored(made, node, left)


_INTERVAL_KINDS = ("inner", "left", "right", "full")


def _interval(
    node: Join,
    left: Node,
    right: Node,
    left_keys: tuple[int, ...],
    right_keys: tuple[int, ...],
    condition: Expression | None,
    bounds: Bounds,
) -> Node:
    return physical.IntervalJoin(
        left, right, node.kind, left_keys, right_keys, bounds.left_time, bounds.right_time,
        bounds.lower, bounds.upper, condition, span=node.span,
    )  # fmt: skip


Windows = tuple[tuple[int, int], tuple[int, int]]


def _windows(node: Join, parts: Parts) -> Windows | None:
    """The window columns of both sides, if the join is of equal windows."""
    left, right = windows_of(node.left), windows_of(node.right)
    if left is None or right is None:
        return None
    if None in (left.start, left.end, right.start, right.end):
        return None
    assert left.start is not None
    assert left.end is not None
    assert right.start is not None
    assert right.end is not None
    pairs = {
        (one.index, other.index)
        for one, other in zip(parts.left, parts.right, strict=True)
        if isinstance(one, InputRef) and isinstance(other, InputRef)
    }
    wanted = {(left.start, right.start), (left.end, right.end)}
    if not wanted <= pairs:
        return None
    return (left.start, left.end), (right.start, right.end)


def _without(parts: Parts, windows: Windows) -> Parts:
    """The keys without the columns of windows."""
    (start, end), _ = windows
    found = Parts(rest=parts.rest)
    for one, other, null in zip(parts.left, parts.right, parts.null_equal, strict=True):
        if not (isinstance(one, InputRef) and one.index in (start, end)):
            found.left.append(one)
            found.right.append(other)
            found.null_equal.append(null)
    return found


# --- temporal joins -------------------------------------------------------------------------------


def _temporal(node: TemporalJoin) -> Node:
    if is_proctime(node.left.type_of(node.time)):
        return _lookup(node)
    return _versioned(node)


def _versioned(node: TemporalJoin) -> Node:
    width = node.left.width
    parts = parts_of(node.condition, width)
    times = [at for at, column in enumerate(node.right.columns) if is_rowtime(column.type)]
    keys = keys_of(node.right)
    if not times or not keys:
        raise refuse("temporal-version", node.span)
    left, left_keys = _with_columns(node.left, parts.left)
    right, right_keys = _with_columns(node.right, parts.right)
    if not any(key <= set(right_keys) for key in keys):
        raise refuse("temporal-version", node.span, _NEEDS_KEY)
    made = physical.VersionedJoin(
        left, right, node.kind, left_keys, right_keys, node.time, times[0],
        _condition(parts.rest, width, left.width), span=node.span,
    )  # fmt: skip
    return _restored(made, node, left)


_NEEDS_KEY = "FOR SYSTEM_TIME AS OF without an equality with the whole primary key"


def _lookup(node: TemporalJoin) -> Node:
    scan = node.right
    while isinstance(scan, algebra.Watermark):  # rows are looked up, not read in order
        scan = scan.input
    if not isinstance(scan, algebra.Scan):
        raise refuse("temporal-processing-time", node.span)
    parts = parts_of(node.condition, node.left.width)
    keys, chosen, rest = [], [], list(parts.rest)
    for one, other in zip(parts.left, parts.right, strict=True):
        if isinstance(other, InputRef):
            keys.append(scan.columns[other.index].name)
            chosen.append(one)
        else:
            rest.append(_equal(one, moved(other, node.left.width)))
    found = scan.table.access.lookup(ScanRequest(scan.scanned), tuple(keys)) if keys else None
    if found is None:
        raise refuse("temporal-processing-time", node.span)
    return physical.LookupJoin(
        node.left, scan.table.name, found, tuple(chosen), scan.columns, node.kind, all_of(rest),
        node.hint, span=node.span,
    )  # fmt: skip


def _equal(left: Expression, right: Expression) -> Expression:

    return resolve("=", (left, right))
