"""Traits: which changes a relation has, and which columns identify its rows.

Both are derived bottom-up. *Changes* say whether rows can be updated or deleted; without either, a
relation only grows. A *key* is a set of columns whose values no two rows share at a time: an update
of a row has the same values in them, so the new row alone says which old one it replaces.
"""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.changelog import ChangelogMode
from scurry.functions.expressions import InputRef
from scurry.planner import algebra, physical
from scurry.planner.algebra import Node

Key = frozenset[int]


@dataclass(frozen=True)
class Changes:
    """Whether there are updates, and whether there are deletions."""

    updates: bool = False
    deletes: bool = False

    @property
    def grows(self) -> bool:
        """Whether there are insertions only."""
        return not self.updates and not self.deletes

    def __or__(self, other: Changes) -> Changes:
        return Changes(self.updates or other.updates, self.deletes or other.deletes)

    def mode(self, update_before: bool) -> ChangelogMode:
        """How the changes are sent, with old rows of updates or without."""
        if self.grows:
            return ChangelogMode.INSERT_ONLY
        if self.updates and not update_before:
            return ChangelogMode.UPSERT
        return ChangelogMode.RETRACT


GROWS = Changes()
CHANGES = Changes(updates=True, deletes=True)


def changes_of(node: Node) -> Changes:
    """Which changes a relation has."""
    below = [changes_of(source) for source in node.inputs]
    if isinstance(node, algebra.Scan):
        return GROWS if node.table.mode is ChangelogMode.INSERT_ONLY else CHANGES
    if isinstance(node, algebra.Filter | algebra.Correlate):
        return Changes(below[0].updates, not below[0].grows)
    if isinstance(node, algebra.Aggregate):
        return Changes(updates=bool(node.calls), deletes=not below[0].grows)
    if isinstance(node, algebra.Rank):
        best = (node.first, node.last) == (1, 1) and below[0].grows
        return Changes(updates=True) if best else CHANGES
    if isinstance(node, physical.SortedOver | algebra.FromChangelog):
        return CHANGES
    if isinstance(node, physical.Deduplicate):
        return Changes(updates=node.keep_last)
    if isinstance(node, algebra.Sort):
        return CHANGES if node.order and node.fetch is not None else below[0]
    if isinstance(node, algebra.SetOperation):
        both = below[0] | below[1]
        grows = node.kind == "intersect" and both.grows
        return GROWS if grows else Changes(deletes=True)
    if isinstance(node, algebra.Join | physical.EquiJoin):
        return _joined(node.kind, below[0], below[1])
    if isinstance(node, physical.VersionedJoin):
        return below[0]
    if isinstance(node, _GROWING):
        return GROWS
    found = GROWS
    for one in below:
        found = found | one
    return found


_GROWING = (
    physical.FinalRows,
    physical.WindowAggregate,
    physical.SessionAggregate,
    physical.WindowRank,
    physical.WindowJoin,
    physical.IntervalJoin,
    algebra.Over,
    algebra.Match,
    algebra.ToChangelog,
)


def _joined(kind: str, left: Changes, right: Changes) -> Changes:
    if kind == "semi":
        return Changes(left.updates, not left.grows or not right.grows)
    if kind == "anti":
        return Changes(left.updates, deletes=True)
    both = left | right
    if kind == "inner":
        return Changes(both.updates, not both.grows)
    return Changes(both.updates, deletes=True)


def keys_of(node: Node) -> frozenset[Key]:
    """The keys of a relation, those that are known."""
    if isinstance(node, algebra.Scan):
        names = [column.name for column in node.columns]
        wanted = node.table.primary_key
        if wanted and all(name in names for name in wanted):
            return frozenset([frozenset(names.index(name) for name in wanted)])
        return frozenset()
    if isinstance(node, algebra.Project):
        return _projected(node)
    if isinstance(node, algebra.Aggregate):
        return frozenset([frozenset(range(len(node.groups)))])
    if isinstance(node, physical.WindowAggregate | physical.SessionAggregate):
        windows = range(len(node.keys) + len(node.calls), node.width)
        return frozenset([frozenset([*range(len(node.keys)), *windows[:2]])])
    if isinstance(node, physical.Deduplicate):
        return frozenset([frozenset(node.keys)])
    if isinstance(node, algebra.Rank):
        found = set(keys_of(node.input))
        if node.number is not None:
            found.add(frozenset([*node.partition, node.width - 1]))
        if node.first == node.last:
            found.add(frozenset(node.partition))
        return frozenset(found)
    if isinstance(node, physical.EquiJoin):
        return _join_keys(node)
    if isinstance(
        node,
        algebra.Filter
        | algebra.Watermark
        | algebra.Sort
        | algebra.Over
        | algebra.SetOperation
        | physical.SortedOver
        | physical.FinalRows,
    ):
        return keys_of(node.inputs[0])
    return frozenset()


def _projected(node: algebra.Project) -> frozenset[Key]:
    places: dict[int, int] = {}
    for at, expression in enumerate(node.expressions):
        if isinstance(expression, InputRef):
            places.setdefault(expression.index, at)
    return frozenset(
        frozenset(places[index] for index in key)
        for key in keys_of(node.input)
        if all(index in places for index in key)
    )


def _join_keys(node: physical.EquiJoin) -> frozenset[Key]:
    left, right = keys_of(node.left), keys_of(node.right)
    if node.kind in ("semi", "anti"):
        return left
    width = node.left.width
    moved = frozenset(frozenset(index + width for index in key) for key in right)
    found = {one | other for one in left for other in moved}
    if any(key <= frozenset(node.right_keys) for key in right) and node.kind in ("inner", "left"):
        found |= left
    if any(key <= frozenset(node.left_keys) for key in left) and node.kind in ("inner", "right"):
        found |= moved
    return frozenset(found) if node.kind != "full" else frozenset()
