"""Columns that nobody reads are not read, not computed, not sent and not kept.

The tree is gone through from the top: each node is asked for some of its columns and answers with a
relation of just those, in order. A relation without any column would lose its rows, so one column
is always kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from scurry.functions.expressions import Expression, InputRef, references, rewrite
from scurry.planner import algebra, physical
from scurry.planner.algebra import Node, Project
from scurry.planner.pattern_refs import columns_read, moved_reference
from scurry.planner.rank_strategies import row_key_of
from scurry.planner.rewrite import all_of, conjuncts, mapped

Wanted = tuple[int, ...]


def prune_columns(node: Node) -> Node:
    """The tree without columns that nobody reads."""
    return _pruned(node, tuple(range(node.width)))


def _pruned(node: Node, wanted: Wanted) -> Node:
    """The columns ``wanted``, which are in order, of a relation."""
    return _PRUNERS.get(type(node), _whole)(node, wanted or (0,))


def _whole(node: Node, wanted: Wanted) -> Node:
    """A node that needs all columns of its inputs: what is not wanted is dropped above it."""
    inputs = tuple(_pruned(one, tuple(range(one.width))) for one in node.inputs)
    made = node.with_inputs(*inputs) if inputs else node
    return _chosen(made, wanted)


def _chosen(node: Node, wanted: Wanted) -> Node:
    if wanted == tuple(range(node.width)):
        return node
    refs = tuple(InputRef(at, node.type_of(at)) for at in wanted)
    return Project(node, refs, tuple(node.columns[at].name for at in wanted), span=node.span)


def _needed(*groups: Iterable[int]) -> Wanted:
    return tuple(sorted({index for group in groups for index in group})) or (0,)


def _read(expressions: Iterable[Expression]) -> set[int]:
    return {index for one in expressions for index in references(one)}


def _places(kept: Wanted) -> dict[int, int]:
    return {old: new for new, old in enumerate(kept)}


def _scan(node: algebra.Scan, wanted: Wanted) -> Node:
    kept = _needed(wanted, _read(node.filters))
    places = _places(kept)
    filters = tuple(mapped(one, places) for one in node.filters)
    made = replace(node, scanned=tuple(node.scanned[at] for at in kept), filters=filters)
    return _chosen(made, tuple(places[at] for at in wanted))


def _scan_with_key(node: algebra.Scan, wanted: Wanted) -> Node:
    """A table that is updated by key is read with its key."""
    names = [column.name for column in node.columns]
    key = [names.index(name) for name in node.table.primary_key if name in names]
    kept = _needed(wanted, key, _read(node.filters))
    made = _scan(replace(node), kept)
    return _chosen(made, tuple(kept.index(at) for at in wanted))


def _project(node: Project, wanted: Wanted) -> Node:
    chosen = tuple(node.expressions[at] for at in wanted)
    kept = _needed(_read(chosen))
    source = _pruned(node.input, kept)
    places = _places(kept)
    expressions = tuple(mapped(one, places) for one in chosen)
    names = tuple(node.names[at] for at in wanted)
    return Project(source, expressions, names, span=node.span)


def _filter(node: algebra.Filter, wanted: Wanted) -> Node:
    kept = _needed(wanted, references(node.condition))
    places = _places(kept)
    source = _pruned(node.input, kept)
    made = algebra.Filter(source, mapped(node.condition, places), span=node.span)
    return _chosen(made, tuple(places[at] for at in wanted))


def _watermark(node: algebra.Watermark, wanted: Wanted) -> Node:
    kept = _needed(wanted, [node.time], references(node.expression))
    places = _places(kept)
    source = _pruned(node.input, kept)
    made = replace(
        node, input=source, time=places[node.time], expression=mapped(node.expression, places)
    )
    return _chosen(made, tuple(places[at] for at in wanted))


def _window_table(node: algebra.WindowTable, wanted: Wanted) -> Node:
    width = node.input.width
    kept = _needed([at for at in wanted if at < width], [node.time], node.keys)
    places = _places(kept)
    source = _pruned(node.input, kept)
    made = replace(
        node, input=source, time=places[node.time], keys=tuple(places[at] for at in node.keys)
    )
    places |= {width + offset: source.width + offset for offset in range(3)}
    return _chosen(made, tuple(places[at] for at in wanted))


def _aggregate(node: algebra.Aggregate, wanted: Wanted) -> Node:
    """All groups stay; aggregates that nobody reads go, but not the last one: without any, a group
    would be sent once."""
    groups = len(node.groups)
    calls = [at - groups for at in wanted if at >= groups] or list(range(min(1, len(node.calls))))
    chosen = [node.calls[at] for at in calls]
    kept = _needed(node.groups, *(_call_columns(call) for call in chosen))
    places = _places(kept)
    made = replace(
        node,
        input=_pruned(node.input, kept),
        groups=tuple(places[at] for at in node.groups),
        calls=tuple(_moved_call(call, places) for call in chosen),
    )
    outputs = {at: at for at in range(groups)}
    outputs |= {groups + old: groups + new for new, old in enumerate(calls)}
    return _chosen(made, tuple(outputs[at] for at in wanted))


def _call_columns(call: algebra.Aggregation) -> set[int]:
    return {*call.arguments, *([] if call.filter is None else [call.filter])}


def _moved_call(call: algebra.Aggregation, places: dict[int, int]) -> algebra.Aggregation:
    chosen = None if call.filter is None else places[call.filter]
    return replace(call, arguments=tuple(places[at] for at in call.arguments), filter=chosen)


def _join(node: algebra.Join | algebra.TemporalJoin, wanted: Wanted) -> Node:
    width = node.left.width
    condition = [] if node.condition is None else list(references(node.condition))
    times = [node.time] if isinstance(node, algebra.TemporalJoin) else []
    needed = _needed(wanted, condition, times)
    left = tuple(at for at in needed if at < width) or (0,)
    right = tuple(at - width for at in needed if at >= width) or (0,)
    if isinstance(node, algebra.TemporalJoin):
        right = tuple(range(node.right.width))
    places = _places(left)
    places |= {width + old: len(left) + new for new, old in enumerate(right)}
    changes: dict[str, Any] = {}
    if isinstance(node, algebra.TemporalJoin):
        changes["time"] = places[node.time]
    made = replace(
        node,
        left=_pruned(node.left, left),
        right=_pruned(node.right, right),
        condition=all_of([mapped(one, places) for one in conjuncts(node.condition)]),
        **changes,
    )
    return _chosen(made, tuple(places[at] for at in wanted))


def _union(node: algebra.Union, wanted: Wanted) -> Node:
    return replace(node, relations=tuple(_pruned(one, wanted) for one in node.relations))


def _rank(node: algebra.Rank, wanted: Wanted) -> Node:
    """A number that nobody reads is not made: then a row that moves up is no change."""
    width = node.input.width
    number = node.number if width in wanted else None
    order = [key.index for key in node.order]
    # what identifies rows says which one an update replaces
    key = row_key_of(node.input, node.partition, node.order) or ()
    kept = _needed([at for at in wanted if at < width], node.partition, order, key)
    places = _places(kept)
    source = _pruned(node.input, kept)
    made = replace(
        node,
        input=source,
        partition=tuple(places[at] for at in node.partition),
        order=tuple(replace(key, index=places[key.index]) for key in node.order),
        number=number,
    )
    places[width] = source.width
    return _chosen(made, tuple(places[at] for at in wanted))


def _match(node: algebra.Match, wanted: Wanted) -> Node:
    """Partitions stay; measures that nobody reads go."""
    keys = len(node.partition)
    chosen = [at - keys for at in wanted if at >= keys]
    measures = tuple(node.measures[at] for at in chosen)
    read = (columns_read(one) for one in (*node.conditions, *measures))
    kept = _needed(node.partition, [key.index for key in node.order], *read)
    places = _places(kept)

    def moved(tree: Expression) -> Expression:
        return rewrite(tree, lambda one: moved_reference(one, places))

    made = replace(
        node,
        input=_pruned(node.input, kept),
        partition=tuple(places[at] for at in node.partition),
        order=tuple(replace(key, index=places[key.index]) for key in node.order),
        conditions=tuple(map(moved, node.conditions)),
        measures=tuple(map(moved, measures)),
        names=tuple(node.names[at] for at in chosen),
    )
    outputs = {at: at for at in range(keys)}
    outputs |= {keys + old: keys + new for new, old in enumerate(chosen)}
    return _chosen(made, tuple(outputs[at] for at in wanted))


_PRUNERS: dict[type[Node], Callable[[Any, Wanted], Node]] = {
    algebra.Scan: _scan_with_key,
    algebra.Project: _project,
    algebra.Filter: _filter,
    algebra.Watermark: _watermark,
    algebra.WindowTable: _window_table,
    algebra.Aggregate: _aggregate,
    algebra.Join: _join,
    algebra.TemporalJoin: _join,
    algebra.Union: _union,
    algebra.Rank: _rank,
    physical.BoundedRank: _rank,
    algebra.Match: _match,
}
