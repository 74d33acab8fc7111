"""A table that a job needs several times is read once, with all columns that anybody needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scurry.functions.expressions import InputRef
from scurry.planner.algebra import Node, Project, Scan, walk
from scurry.planner.catalog import Table
from scurry.planner.rewrite import bottom_up


def share_scans(nodes: Sequence[Node]) -> list[Node]:
    """The trees of one job with one scan for each table."""
    wanted: dict[Table, Scan] = {}
    for node in nodes:
        for scan in walk(node):
            if isinstance(scan, Scan):
                known = wanted.get(scan.table)
                wanted[scan.table] = scan if known is None else _both(known, scan)
    return [bottom_up(node, lambda one: _shared(one, wanted)) for node in nodes]


def _both(first: Scan, second: Scan) -> Scan:
    """A scan of the columns of both, in the order of the table; rows that either needs."""
    if first == second:
        return first
    chosen = {column.name: column for column in (*first.scanned, *second.scanned)}
    order = [column.name for column in first.table.columns]
    columns = tuple(chosen[name] for name in order if name in chosen)
    return replace(first, scanned=columns, filters=())


def _shared(node: Node, wanted: dict[Table, Scan]) -> Node:
    if not isinstance(node, Scan) or wanted[node.table] == node:
        return node
    scan = wanted[node.table]
    names = [column.name for column in scan.scanned]
    chosen = tuple(column.name for column in node.scanned)
    if names == list(chosen):
        return scan
    refs = tuple(InputRef(names.index(c.name), c.type) for c in node.scanned)
    return Project(scan, refs, chosen, span=node.span)
