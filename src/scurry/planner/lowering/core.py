"""What lowering keeps in mind: which plan nodes there are, and how they are named.

Equal parts of the tree become one plan node: that is how a common table that is used twice is
computed once. A uid is made of what an operator and everything below it compute, so it does not
change when another part of the query does, or what is done with the operator's rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pyarrow as pa

from scurry.common.data_types import MultisetType
from scurry.common.spans import NOWHERE
from scurry.functions.aggregate_calls import (
    ColumnsKey,
    SortKey,
    TableCall,
    Unnest,
)
from scurry.functions.expressions import Expression, SessionExpression
from scurry.plan.node import Node as PlanNode
from scurry.plan.nodes import KeyBy
from scurry.planner import algebra
from scurry.planner.algebra import Columns, Node, SortItem
from scurry.planner.describe import describe
from scurry.planner.identify import identity, taken_from_scan
from scurry.planner.need_update_before import Needs
from scurry.planner.options import PlannerOptions
from scurry.planner.traits import changes_of
from scurry.planner.windows import is_zoned

#: zones in whose time windows are as they are in UTC
_PLAIN_ZONES = ("UTC", "Etc/UTC", "GMT", "Z")
Handler = Callable[[Any, Any, bool], PlanNode]


def schema_of(columns: Columns) -> pa.Schema:
    """The Arrow schema of columns."""
    return pa.schema([pa.field(c.name, c.type.arrow_type(), c.type.is_nullable) for c in columns])


class LoweringCore:
    """Lowers trees; what several of them have in common is one node. ``handlers`` make the plan
    nodes, each those of one type of the algebra's nodes."""

    handlers: ClassVar[Mapping[type[Node], Handler]]

    def __init__(self, options: PlannerOptions, needs: Needs) -> None:
        self.options = options
        self._needs = needs
        self._made: dict[Node, PlanNode] = {}
        self._digests: dict[Node, str] = {}

    def lower(self, node: Node) -> PlanNode:
        """The plan node of a relation, with old rows of updates if anybody needs them."""
        found = self._made.get(node)
        if found is None:
            found = self.handlers[type(node)](self, node, self._needs.update_before(node))
            self._made[node] = found
        return found

    def digest(self, node: Node) -> str:
        """What the node computes, in ten letters."""
        found = self._digests.get(node)
        if found is None:
            found = self._digests[node] = hashed(self._computed(node))
        return found

    def _computed(self, node: Node) -> str:
        """What the node and all below it compute, as a text."""
        taken = taken_from_scan(node)
        if taken is not None:
            scan = node if isinstance(node, algebra.Scan) else node.inputs[0]
            return f"{identity(scan)}{taken}"
        if isinstance(node, algebra.Project) and isinstance(node.input, algebra.Scan):
            return f"{identity(node)}({identity(node.input)})"
        return f"{identity(node)}({','.join(map(self.digest, node.inputs))})"

    def common(self, node: Node, before: bool) -> dict[str, Any]:
        """What all relational plan nodes are given."""
        where = node.span.where() if node.span is not NOWHERE else ""
        return {
            "name": describe(node)[:200],
            "uid": f"{type(node).__name__}-{self.digest(node)}",
            "columns": schema_of(node.columns),
            "mode": changes_of(node).mode(before),
            "location": where,
        }

    def keyed(self, source: Node, keys: tuple[int, ...]) -> PlanNode:
        """The plan node of a relation, by some of its columns."""
        below = self.lower(source)
        return KeyBy(name="key", inputs=(below,), selector=ColumnsKey(*keys))

    def session(self, tree: Expression) -> SessionExpression:
        """An expression with what the session says of its evaluation."""
        options = self.options
        return SessionExpression(
            tree, options.zone, options.query_start, options.database, options.asynchronous
        )

    def zone_of(self, node: Node) -> str:
        """The zone in whose time the windows of an operator are, empty for that of their rows."""
        zone = self.options.zone
        return zone if is_zoned(node) and zone not in _PLAIN_ZONES else ""

    def condition(self, tree: Expression | None) -> SessionExpression | None:
        """The same of a condition that there may be."""
        return None if tree is None else self.session(tree)

    def made_table(self, table: algebra.Unnested | algebra.TableFunctionCall) -> Unnest | TableCall:
        """What makes the rows of a table function."""
        if isinstance(table, algebra.Unnested):
            multiset = isinstance(table.operand.type, MultisetType)
            return Unnest(self.session(table.operand), table.ordinality, multiset)
        return TableCall(table.function.function(), tuple(map(self.session, table.operands)))


def hashed(text: str) -> str:
    """A text in ten letters."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def sort_keys(order: tuple[SortItem, ...]) -> tuple[SortKey, ...]:
    """The order by which an operator sorts."""
    return tuple(SortKey(key.index, key.ascending, key.nulls_last) for key in order)
