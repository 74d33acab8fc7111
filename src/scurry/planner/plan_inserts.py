"""Plans of INSERT: what a sink is given, by the kinds of changes that it takes.

A sink that upserts by its primary key needs no old rows of updates. If the rows' own key is another
one, several rows may lay claim to the same key of the sink; then they are kept, and the one that
came last counts (``SinkMaterialize``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scurry.common.changelog import ChangelogMode
from scurry.functions.aggregate_calls import ColumnsKey
from scurry.plan import relational as plan
from scurry.plan.node import Node as PlanNode
from scurry.plan.nodes import KeyBy
from scurry.planner.algebra import Node
from scurry.planner.catalog import Table
from scurry.planner.errors import SqlValidationError
from scurry.planner.lowering import Lowering, schema_of
from scurry.planner.need_update_before import Needs
from scurry.planner.options import PlannerOptions
from scurry.planner.plan import optimise_all
from scurry.planner.traits import changes_of, keys_of


@dataclass(frozen=True)
class _Target:
    """A table with the rows for it, and how it takes them."""

    node: Node
    table: Table
    key: tuple[int, ...]
    materialize: bool
    update_before: bool


def plan_insert(node: Node, table: Table, options: PlannerOptions | None = None) -> PlanNode:
    """The plan node that writes the rows of ``node``, whose columns are those of the table."""
    return plan_inserts([(node, table)], options)[0]


def plan_inserts(
    inserts: Sequence[tuple[Node, Table]], options: PlannerOptions | None = None
) -> list[PlanNode]:
    """The plan nodes of several INSERTs of one job: what they have in common is computed once."""
    chosen = options or PlannerOptions()
    nodes = optimise_all([node for node, _ in inserts], chosen)
    pairs = zip(nodes, inserts, strict=True)
    targets = [_target(node, table, chosen) for node, (_, table) in pairs]
    needs = Needs()
    for target in targets:
        needs.require(target.node, target.update_before)
    lowering = Lowering(chosen, needs)
    return [_sink(target, lowering, needs, chosen) for target in targets]


def _target(node: Node, table: Table, options: PlannerOptions) -> _Target:
    changes = changes_of(node)
    if changes.grows:
        return _Target(node, table, (), False, False)
    if table.accepts is ChangelogMode.INSERT_ONLY:
        raise SqlValidationError(
            f"The table {table.name} takes insertions only, but the query changes rows",
            node.span,
            "Write to a connector that takes updates, such as upsert-kafka or jdbc.",
        )
    if table.accepts is ChangelogMode.RETRACT:
        return _Target(node, table, (), False, True)
    names = [column.name for column in node.columns]
    if not table.primary_key:
        raise SqlValidationError(
            f"The table {table.name} is updated by its primary key, but has none",
            node.span,
            "Declare PRIMARY KEY (...) NOT ENFORCED.",
        )
    key = tuple(names.index(name) for name in table.primary_key)
    materialize = options.upsert_materialize == "FORCE"
    if options.upsert_materialize == "AUTO":
        materialize = frozenset(key) not in keys_of(node)
    return _Target(node, table, key, materialize, materialize)


def _sink(target: _Target, lowering: Lowering, needs: Needs, options: PlannerOptions) -> PlanNode:
    below = lowering.lower(target.node)
    changes = changes_of(target.node)
    mode = changes.mode(needs.update_before(target.node))
    digest = lowering.digest(target.node)
    columns = schema_of(target.node.columns)
    if target.materialize:
        keyed = KeyBy(name="key", inputs=(below,), selector=ColumnsKey(*target.key))
        below = plan.SinkMaterialize(
            name=f"SinkMaterialize({target.table.name})",
            uid=f"SinkMaterialize-{target.table.name}-{digest}",
            inputs=(keyed,),
            columns=columns,
            mode=ChangelogMode.UPSERT,
            retention_ms=options.retention_ms,
        )
        mode = ChangelogMode.UPSERT
    elif target.key and mode is ChangelogMode.RETRACT:
        below = plan.DropUpdateBefore(
            name="DropUpdateBefore",
            uid=f"DropUpdateBefore-{target.table.name}-{digest}",
            inputs=(below,),
            columns=columns,
            mode=ChangelogMode.UPSERT,
        )
        mode = ChangelogMode.UPSERT
    return target.table.access.sink(below, mode)
