"""One SELECT: FROM, WHERE, GROUP BY, HAVING, OVER, QUALIFY, the select list, DISTINCT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scurry.common.data_types import RowType
from scurry.functions.expressions import Expression, InputRef
from scurry.planner.algebra import Aggregate, Filter, Node, Project, Sort, SortItem
from scurry.planner.bind.aggregates import Aggregates
from scurry.planner.bind.calls import CallBinder
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.grouping import bind_grouping
from scurry.planner.bind.hints import check_tables, state_ttl
from scurry.planner.bind.lookup_hints import lookup_calls
from scurry.planner.bind.orders import check_order
from scurry.planner.bind.over import OverCalls
from scurry.planner.bind.relations import ONE_ROW, Bound, RelationBinder
from scurry.planner.bind.scope import Scope, field_of
from scurry.planner.bind.subqueries import OverRef
from scurry.planner.catalog import Catalog
from scurry.planner.errors import SqlValidationError, unknown
from scurry.planner.rewrite import no_rows_of
from scurry.planner.time_attributes import materialized
from scurry.sql import ast
from scurry.sql.keywords import NILADIC


@dataclass(frozen=True)
class Shown:
    """A column of the select list."""

    name: str
    expression: Expression


class SelectBinder:
    """Binds one SELECT; it collects the aggregates and OVER calls of its expressions."""

    def __init__(
        self,
        node: ast.Select,
        catalog: Catalog,
        relations: RelationBinder,
        query: Callable[[ast.QueryNode, Scope | None], Node],
        outer: Scope | None,
    ) -> None:
        self._node = node
        self._catalog = catalog
        self._query = query
        relations.ttl = self._ttl = state_ttl(node.hints)
        relations.lookups = lookup_calls(node.hints)
        bound = Bound(ONE_ROW, Scope(outer=outer))
        if node.source is not None:
            bound = relations.bind(node.source, outer)
        for name, (hint, _) in relations.lookups.items():
            message = f"LOOKUP names {name!r}, which no lookup join of this SELECT reads"
            raise SqlValidationError(message, hint.span)
        self._source, self._scope = bound.node, bound.scope
        check_tables(node.hints, [one.alias for one in bound.scope.relations])
        self._aggregates: Aggregates | None = None
        self._over = OverCalls(node.windows)
        self._places: list[InputRef] = []

    def bind(
        self, order_by: tuple[ast.OrderItem, ...] = (), offset: int = 0, fetch: int | None = None
    ) -> Node:
        """The relation, ordered and limited as the query around the SELECT says."""
        node = self._node
        if node.where is not None:
            condition = self._binder("WHERE").condition(node.where, "WHERE")
            self._source = Filter(self._source, condition, span=node.where.span)
        self._group()
        shown = [one for item in node.items for one in self._shown(item)]
        having = self._having()
        qualify = None
        if node.qualify is not None:
            qualify = self._collecting("QUALIFY").condition(node.qualify, "QUALIFY")
        order = [self._order(item, shown) for item in order_by]
        relation = self._aggregated(shown, [expression for expression, _ in order], having)
        relation, self._places = self._over.stack(relation, self._regroup)
        if qualify is not None:
            relation = Filter(relation, self._final(qualify), span=qualify.span)
        return self._projected(relation, shown, order, offset, fetch)

    # --- expressions ------------------------------------------------------------------------------

    def _binder(self, clause: str) -> ExpressionBinder:
        return ExpressionBinder(self._scope, self._catalog, self._query, clause=clause)

    def _collecting(self, clause: str) -> ExpressionBinder:
        return ExpressionBinder(self._scope, self._catalog, self._query, self, clause)

    def aggregate(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """See :class:`scurry.planner.bind.calls.Collector`."""
        if self._aggregates is None:
            self._aggregates = Aggregates([], None)
        return self._aggregates.collect(binder, call)

    def over(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """See :class:`scurry.planner.bind.calls.Collector`."""
        return self._over.collect(binder, call)

    def window(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """See :class:`scurry.planner.bind.calls.Collector`."""
        return (self._aggregates or Aggregates([], None)).window_property(call)

    def _regroup(self, tree: Expression) -> Expression:
        return tree if self._aggregates is None else self._aggregates.regroup(tree)

    def _final(self, tree: Expression) -> Expression:
        """An expression over the finished relation: results of OVER are columns."""
        if isinstance(tree, OverRef):
            return self._places[tree.index]
        if _has_over(tree):
            return tree.with_operands(tuple(map(self._final, tree.operands)))
        return self._regroup(tree)

    # --- clauses ----------------------------------------------------------------------------------

    def _group(self) -> None:
        clause = self._node.group_by
        if clause is None:
            return
        binder = self._binder("GROUP BY")
        found = bind_grouping(
            clause,
            self._source,
            lambda one: self._group_item(one, binder),
            self._catalog.batch,
        )
        self._source = found.source
        self._aggregates = Aggregates(found.groups, found.sets)
        self._aggregates.window = found.window
        self._aggregates.windowed(found.source)

    def _group_item(self, node: ast.Expression, binder: ExpressionBinder) -> Expression:
        """A grouping expression; a number is the place of a column in the select list."""
        if isinstance(node, ast.NumberLiteral) and node.text.isdigit():
            place = int(node.text)
            if not 1 <= place <= len(self._node.items):
                raise SqlValidationError(f"There is no column {place} to group by", node.span)
            return binder.bind(self._node.items[place - 1].expression)
        try:
            return binder.bind(node)
        except SqlValidationError:
            aliased = self._aliased(node)
            if aliased is None:
                raise
            return binder.bind(aliased)

    def _aliased(self, node: ast.Expression) -> ast.Expression | None:
        """The expression of the select list that a name stands for."""
        if not isinstance(node, ast.Name) or len(node.parts) > 1:
            return None
        for item in self._node.items:
            if item.alias is not None and item.alias.name == node.parts[0].name:
                return item.expression
        return None

    def _having(self) -> Expression | None:
        if self._node.having is None:
            return None
        if self._aggregates is None:
            self._aggregates = Aggregates([], None)
        return self._collecting("HAVING").condition(self._node.having, "HAVING")

    def _shown(self, item: ast.SelectItem) -> list[Shown]:
        expression = item.expression
        if isinstance(expression, ast.Star):
            return self._star(expression)
        found = materialized(self._collecting("SELECT").bind(expression))
        return [Shown(_name_of(item) or "", found)]

    def _star(self, node: ast.Star) -> list[Shown]:
        pairs = self._scope.star(node.qualifier) if self._node.source is not None else None
        if pairs is not None:
            return [Shown(column.name, expression) for column, expression in pairs]
        if node.qualifier is None:
            raise SqlValidationError("SELECT * needs a FROM clause", node.span)
        if self._node.source is not None:
            fields = self._row_star(node.qualifier)
            if fields is not None:
                return fields
        aliases = [relation.alias for relation in self._scope.relations]
        raise unknown("table", str(node.qualifier), aliases, node.qualifier.span)

    def _row_star(self, name: ast.Name) -> list[Shown] | None:
        """``r.*`` of a column that is a row."""
        try:
            row = self._scope.resolve(name)
        except SqlValidationError:
            return None
        if not isinstance(row.type, RowType):
            return None
        parts = [ast.Identifier(one.name, span=name.span) for one in row.type.fields]
        return [Shown(part.name, field_of(row, part)) for part in parts]

    # --- nodes ------------------------------------------------------------------------------------

    def _aggregated(
        self, shown: list[Shown], ordered: list[Expression], having: Expression | None
    ) -> Node:
        if self._aggregates is None:
            return self._source
        for expression in [one.expression for one in shown] + ordered:
            self._check_grouped(expression)
        aliases = [relation.alias for relation in self._scope.relations]
        ttl = self._ttl.get(aliases[0]) if len(aliases) == 1 else None
        node = self._aggregates.node(self._source, ttl)
        if having is not None:
            node = Filter(node, self._aggregates.regroup(having), span=having.span)
        return node

    def _check_grouped(self, tree: Expression) -> None:
        if not _has_over(tree):
            self._regroup(tree)

    def _order(
        self, item: ast.OrderItem, shown: list[Shown]
    ) -> tuple[Expression, tuple[bool, bool]]:
        last = item.descending if item.nulls is None else item.nulls == "LAST"
        expression = self._ordered_by(item.expression, shown)
        check_order(expression.type, item)
        return expression, (not item.descending, last)

    def _ordered_by(self, node: ast.Expression, shown: list[Shown]) -> Expression:
        if isinstance(node, ast.NumberLiteral) and node.text.isdigit():
            place = int(node.text)
            if not 1 <= place <= len(shown):
                raise SqlValidationError(f"There is no column {place} to order by", node.span)
            return shown[place - 1].expression
        if isinstance(node, ast.Name) and len(node.parts) == 1:
            found = [one.expression for one in shown if one.name == node.parts[0].name]
            if found:
                return found[0]
        return self._collecting("ORDER BY").bind(node)

    def _projected(
        self,
        relation: Node,
        shown: list[Shown],
        order: list[tuple[Expression, tuple[bool, bool]]],
        offset: int,
        fetch: int | None,
    ) -> Node:
        expressions = [self._final(one.expression) for one in shown]
        names = _unique([one.name or f"EXPR${at}" for at, one in enumerate(shown)])
        width = len(expressions)
        keys = []
        for expression, (ascending, last) in order:
            final = self._final(expression)
            if final not in expressions:
                if self._node.quantifier == "DISTINCT":
                    message = "With DISTINCT, ORDER BY can only name columns that are selected"
                    raise SqlValidationError(message, expression.span)
                expressions.append(final)
                names.append(f"$sort{len(names)}")
            keys.append(SortItem(expressions.index(final), ascending, last))
        node: Node = Project(relation, tuple(expressions), tuple(names), span=self._node.span)
        if self._node.quantifier == "DISTINCT":
            node = Aggregate(node, tuple(range(node.width)), (), span=self._node.span)
        node = sorted_node(node, tuple(keys), offset, fetch)
        if node.width > width:
            kept = node.columns[:width]
            refs = tuple(InputRef(at, column.type) for at, column in enumerate(kept))
            node = Project(node, refs, tuple(names[:width]), span=self._node.span)
        return node


def sorted_node(node: Node, keys: tuple[SortItem, ...], offset: int, fetch: int | None) -> Node:
    """The relation ordered and limited, if anything is asked for."""
    if not keys and not offset and fetch is None:
        return node
    if fetch == 0:
        return no_rows_of(node)
    return Sort(node, keys, offset, fetch, span=node.span)


def _name_of(item: ast.SelectItem) -> str | None:
    if item.alias is not None:
        return item.alias.name
    expression = item.expression
    if isinstance(expression, ast.Name):
        return expression.names[-1]
    if isinstance(expression, ast.FunctionCall) and str(expression.name) in NILADIC:
        # a function that is called without parentheses looks like a column
        return expression.span.text or str(expression.name)
    return expression.field.name if isinstance(expression, ast.FieldAccess) else None


def _unique(names: list[str]) -> list[str]:
    """Names told apart as Flink does: a second ``a`` is ``a0``."""
    found: list[str] = []
    for name in names:
        unique, count = name, 0
        while unique in found:
            unique, count = f"{name}{count}", count + 1
        found.append(unique)
    return found


def _has_over(tree: Expression) -> bool:
    return any(isinstance(node, OverRef) for node in tree.walk())
