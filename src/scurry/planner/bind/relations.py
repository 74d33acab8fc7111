"""What stands after FROM: each relation with the scope in which its columns can be named."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from scurry.common.data_types import ArrayType, DataTypes, MapType, MultisetType, RowType
from scurry.functions.builtin import resolve
from scurry.functions.builtin.signatures import cast_to
from scurry.functions.expressions import Expression, InputRef, Literal
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.planner.algebra import (
    Column,
    Columns,
    Correlate,
    Join,
    Lateral,
    Node,
    Project,
    TableFunctionCall,
    TemporalJoin,
    Unnested,
    Values,
)
from scurry.planner.bind.changelogs import CHANGELOG_FUNCTIONS, bind_changelog
from scurry.planner.bind.expressions import ExpressionBinder, conjunction
from scurry.planner.bind.lookup_hints import LookupCalls
from scurry.planner.bind.matching import MatchBinder
from scurry.planner.bind.scope import Named, Scope
from scurry.planner.bind.tables import bind_table, renamed
from scurry.planner.bind.window_tables import WINDOW_FUNCTIONS, bind_window_table
from scurry.planner.catalog import Catalog, Table, View
from scurry.planner.errors import SqlValidationError, unknown
from scurry.planner.gaps import refuse
from scurry.planner.time_attributes import is_time_attribute, plain
from scurry.sql import ast

_INT = DataTypes.INT(False)
#: the relation of one row that SELECT without FROM reads
ONE_ROW = Values((Column("$one", _INT),), ((Literal(0, _INT),),))


@dataclass(frozen=True)
class Bound:
    """A relation and how its columns are called."""

    node: Node
    scope: Scope


class RelationBinder:
    """Binds relations. ``query`` binds queries in a scope around them, or None; ``named`` knows
    common tables; ``view`` binds views, which see none of them."""

    def __init__(
        self,
        catalog: Catalog,
        query: Callable[[ast.QueryNode, Scope | None], Node],
        named: Callable[[str], Node | None],
        view: Callable[[View], Node],
    ) -> None:
        #: how long state of tables is kept, by their aliases
        self.ttl: dict[str, int] = {}
        #: what LOOKUP hints say, by the tables' names or aliases, until they are found
        self.lookups: dict[str, tuple[ast.Hint, LookupCalls]] = {}
        self.catalog = catalog
        self._query = query
        self._named = named
        self._view = view

    def bind(self, node: ast.Relation, outer: Scope | None) -> Bound:
        """Any relation."""
        if isinstance(node, ast.Join):
            return self._join(node, outer)
        if isinstance(node, ast.Aliased):
            inner = self.bind(node.relation, outer)
            return _aliased(inner.node, node.alias, node.columns, outer)
        if isinstance(node, ast.TableRef):
            if node.system_time is not None:
                message = "FOR SYSTEM_TIME AS OF belongs to the right side of a join"
                raise SqlValidationError(message, node.span)
            return self._table(node, outer)
        if isinstance(node, ast.DerivedTable):
            found = self._query(node.query, outer)
            return Bound(found, Scope.of("", found.columns, outer))
        if isinstance(node, ast.TableFunctionRef) and _is_one_of(node.call, WINDOW_FUNCTIONS):
            found = bind_window_table(node.call, self._table_argument, self.catalog.batch)
            return Bound(found, Scope.of("", found.columns, outer))
        if isinstance(node, ast.TableFunctionRef) and _is_one_of(node.call, CHANGELOG_FUNCTIONS):
            found = bind_changelog(node.call, self._table_argument, self.catalog.batch)
            return Bound(found, Scope.of("", found.columns, outer))
        if isinstance(node, ast.Unnest | ast.TableFunctionRef):
            return self._alone(node, outer)
        if isinstance(node, ast.MatchRecognize):
            inner = self.bind(node.relation, outer)
            found = MatchBinder(inner.node, replace(inner.scope, outer=None), self.catalog).bind(
                node
            )
            return Bound(found, Scope.of("", found.columns, outer))
        raise refuse("tablesample", node.span)

    # --- tables ---------------------------------------------------------------------------------

    def _table(self, node: ast.TableRef, outer: Scope | None) -> Bound:
        found = self.table(node.name, node.hints)
        return Bound(found, Scope.of(node.name.names[-1], found.columns, outer))

    def table(self, name: ast.Name, hints: tuple[ast.Hint, ...] = ()) -> Node:
        """A table, a view, a common table, or a relation of a program."""
        if len(name.parts) == 1:
            common = self._named(name.names[0])
            if common is not None:
                return common
        found = self.catalog.find_table(name.names)
        if found is None:
            raise unknown("table", str(name), self.catalog.table_names(), name.span)
        if isinstance(found, Table):
            options = dict(pair for hint in hints for pair in _options(hint))
            table = found.with_options(options) if options else found
            return replace(bind_table(table, self.catalog), span=name.span)
        if isinstance(found, View):
            inner = self._view(found)
            return renamed(inner, found.columns) if found.columns else inner
        return found

    def _table_argument(self, node: ast.TableArgument) -> Node:
        if isinstance(node.query, ast.ExplicitTable):
            return self.table(node.query.name)
        return self._query(node.query, None)

    # --- joins ----------------------------------------------------------------------------------

    def _join(self, node: ast.Join, outer: Scope | None) -> Bound:
        left = self.bind(node.left, outer)
        inner, alias, columns = _unaliased(node.right)
        if isinstance(inner, ast.Unnest) or _is_function(inner):
            assert isinstance(inner, ast.Unnest | ast.TableFunctionRef)
            return self._lateral(node, left, inner, alias, columns)
        if isinstance(inner, ast.TableRef) and inner.system_time is not None:
            return self._temporal(node, left, inner, alias, columns, outer)
        if isinstance(inner, ast.DerivedTable) and inner.lateral:
            return self._lateral_query(node, left, inner, alias, columns)
        right = self.bind(node.right, outer)
        scope = left.scope.beside(right.scope)
        kind = _KINDS[node.kind]
        condition, scope = self._condition(node, left, right, scope)
        ttl = (self._kept(left), self._kept(right))
        joined = Join(left.node, right.node, kind, condition, ttl, span=node.right.span)
        return Bound(joined, _nullable(scope, joined))

    def _kept(self, side: Bound) -> int | None:
        """How long state of one side is kept, None where no hint says it."""
        relations = side.scope.relations
        return self.ttl.get(relations[0].alias) if len(relations) == 1 else None

    def _condition(
        self, node: ast.Join, left: Bound, right: Bound, scope: Scope
    ) -> tuple[Expression | None, Scope]:
        if node.condition is not None:
            return self._on(node.condition, scope), scope
        names = [part.name for part in node.using]
        if node.natural:
            known = {column.name for column in right.scope.columns}
            names = [c.name for c in left.scope.columns if c.name in known]
        if not names:
            if node.kind in ("LEFT", "RIGHT", "FULL") and not node.natural:
                message = f"The {node.kind} JOIN has no ON and no USING"
                raise SqlValidationError(message, node.span, "Add ON with the condition.")
            return None, scope
        return self._using(node, names, left, right, scope)

    def _on(self, condition: ast.Expression, scope: Scope) -> Expression:
        binder = ExpressionBinder(scope, self.catalog, self._query, clause="the ON clause")
        return binder.condition(condition, "ON")

    def _using(
        self, node: ast.Join, names: list[str], left: Bound, right: Bound, scope: Scope
    ) -> tuple[Expression, Scope]:
        """Equality of columns of the same name, which are one column from then on."""
        equal: list[Expression] = []
        merged, hidden = list(left.scope.merged), set[int]()
        for name in names:
            part = ast.Name((ast.Identifier(name, span=node.span),), span=node.span)
            first, second = left.scope.resolve(part), right.scope.resolve(part)
            assert isinstance(first, InputRef)
            assert isinstance(second, InputRef)
            other = InputRef(second.index + left.scope.width, second.type)
            equal.append(resolve("=", (first, other), span=node.span))
            hidden |= {first.index, other.index}
            merged.append((name, _merged(node.kind, first, other)))
        relations = tuple(replace(one, hidden=one.hidden | hidden) for one in scope.relations)
        return conjunction(equal), Scope(relations, scope.outer, tuple(merged))

    # --- what is made for each row of the left side -----------------------------------------------

    def _lateral_query(
        self,
        node: ast.Join,
        left: Bound,
        right: ast.DerivedTable,
        alias: ast.Identifier | None,
        columns: tuple[ast.Identifier, ...],
    ) -> Bound:
        _check_lateral(node)
        query = self._query(right.query, left.scope)
        named = alias or ast.Identifier("", span=right.span)
        bound = _aliased(query, named, columns, None)
        scope = left.scope.beside(bound.scope)
        kind = _KINDS[node.kind]
        condition, scope = self._condition(node, left, bound, scope)
        joined = Lateral(left.node, bound.node, kind, condition, span=right.span)
        return Bound(joined, _nullable(scope, joined))

    def _lateral(
        self,
        node: ast.Join,
        left: Bound,
        right: ast.Unnest | ast.TableFunctionRef,
        alias: ast.Identifier | None,
        columns: tuple[ast.Identifier, ...],
    ) -> Bound:
        _check_lateral(node)
        made = self._correlate(left, right, alias, columns, left_join=node.kind == "LEFT")
        if node.condition is None:
            return made
        condition = self._on(node.condition, made.scope)
        if isinstance(condition, Literal) and condition.value is True:
            return made
        assert isinstance(made.node, Correlate)
        return Bound(replace(made.node, condition=condition), made.scope)

    def _alone(self, node: ast.Unnest | ast.TableFunctionRef, outer: Scope | None) -> Bound:
        """A table function of no relation: that of the one row that there is."""
        made = self._correlate(Bound(ONE_ROW, Scope.of("", ONE_ROW.columns, outer)), node).node
        kept = made.columns[1:]
        refs = tuple(InputRef(at, column.type) for at, column in enumerate(kept, 1))
        found = Project(made, refs, tuple(column.name for column in kept), span=node.span)
        return Bound(found, Scope.of("", found.columns, outer))

    def _correlate(
        self,
        left: Bound,
        right: ast.Unnest | ast.TableFunctionRef,
        alias: ast.Identifier | None = None,
        columns: tuple[ast.Identifier, ...] = (),
        left_join: bool = False,
    ) -> Bound:
        binder = ExpressionBinder(left.scope, self.catalog, clause="a table function")
        table: Unnested | TableFunctionCall
        if isinstance(right, ast.Unnest):
            table, made = _unnest(right, binder)
        else:
            table, made = _table_function(right.call, binder)
        made = _renamed_columns(made, columns, right)
        node = Correlate(left.node, table, made, left_join, span=right.span)
        right_scope = Scope.of("" if alias is None else alias.name, made)
        return Bound(node, _nullable(left.scope.beside(right_scope), node))

    # --- temporal joins ---------------------------------------------------------------------------

    def _temporal(
        self,
        node: ast.Join,
        left: Bound,
        right: ast.TableRef,
        alias: ast.Identifier | None,
        columns: tuple[ast.Identifier, ...],
        outer: Scope | None,
    ) -> Bound:
        if node.kind not in ("INNER", "LEFT"):
            message = f"A {node.kind} JOIN with FOR SYSTEM_TIME AS OF is not possible"
            raise SqlValidationError(message, node.span, "Use JOIN or LEFT JOIN.")
        table = self.table(right.name, right.hints)
        named = alias or right.name.parts[-1]
        bound = _aliased(table, named, columns, outer)
        assert right.system_time is not None
        time = ExpressionBinder(left.scope, self.catalog, clause="FOR SYSTEM_TIME AS OF").bind(
            right.system_time
        )
        if not isinstance(time, InputRef) or not is_time_attribute(time.type):
            raise SqlValidationError(
                "FOR SYSTEM_TIME AS OF needs a time attribute of the left side",
                right.system_time.span,
                "Name the left table's rowtime or processing-time column.",
            )
        scope = left.scope.beside(bound.scope)
        condition, scope = self._condition(node, left, bound, scope)
        kind = _KINDS[node.kind]
        joined = TemporalJoin(
            left.node, bound.node, kind, time.index, condition,
            self._calls(named.name, right.name.parts[-1].name), span=right.span,
        )  # fmt: skip
        return Bound(joined, _nullable(scope, joined))

    def _calls(self, *names: str) -> LookupCalls:
        """What a hint says about a table that has these names."""
        for name in names:
            if name in self.lookups:
                return self.lookups.pop(name)[1]
        return ()


_KINDS = {
    "INNER": "inner",
    "LEFT": "left",
    "RIGHT": "right",
    "FULL": "full",
    "CROSS": "inner",
    "COMMA": "inner",
}


def _check_lateral(node: ast.Join) -> None:
    if node.kind in ("RIGHT", "FULL"):
        message = f"A {node.kind} JOIN with a table made of each left row means nothing"
        raise SqlValidationError(message, node.span, "Use LEFT JOIN or CROSS JOIN.")


def _is_one_of(call: ast.FunctionCall, names: Collection[str]) -> bool:
    return len(call.name.parts) == 1 and str(call.name).upper() in names


def _is_function(node: ast.Relation) -> bool:
    """Whether a relation is made of each row of another."""
    of_tables = WINDOW_FUNCTIONS | CHANGELOG_FUNCTIONS
    return isinstance(node, ast.TableFunctionRef) and not _is_one_of(node.call, of_tables)


def _unaliased(
    node: ast.Relation,
) -> tuple[ast.Relation, ast.Identifier | None, tuple[ast.Identifier, ...]]:
    if isinstance(node, ast.Aliased):
        return node.relation, node.alias, node.columns
    return node, None, ()


def _options(hint: ast.Hint) -> list[tuple[str, str]]:
    if hint.name.name.upper() != "OPTIONS":
        return []
    texts = [_text(one) for one in (*hint.keys, *hint.values)]
    return list(zip(texts[: len(hint.keys)], texts[len(hint.keys) :], strict=True))


def _text(node: ast.Expression) -> str:
    if not isinstance(node, ast.StringLiteral):
        message = "OPTIONS takes pairs of texts"
        raise SqlValidationError(message, node.span, "Write OPTIONS('key' = 'value').")
    return node.value


def _aliased(
    node: Node, alias: ast.Identifier, columns: tuple[ast.Identifier, ...], outer: Scope | None
) -> Bound:
    if columns:
        if len(columns) != node.width:
            message = f"{alias.name} names {len(columns)} columns, but there are {node.width}"
            raise SqlValidationError(message, alias.span.to(columns[-1].span))
        node = renamed(node, tuple(column.name for column in columns))
    return Bound(node, Scope.of(alias.name, node.columns, outer))


def _nullable(scope: Scope, node: Node) -> Scope:
    """The scope with the types of the joined columns, some of which have become nullable."""
    found, start = [], 0
    for relation in scope.relations:
        width = len(relation.columns)
        columns = node.columns[start : start + width]
        found.append(Named(relation.alias, columns, start, relation.hidden))
        start += width
    return Scope(tuple(found), scope.outer, scope.merged)


def _merged(kind: str, left: Expression, right: Expression) -> Expression:
    if kind == "RIGHT":
        return right
    return resolve("COALESCE", (left, right)) if kind == "FULL" else left


def _renamed_columns(
    made: Columns, columns: tuple[ast.Identifier, ...], node: ast.Relation
) -> Columns:
    if not columns:
        return made
    if len(columns) != len(made):
        message = f"{len(columns)} columns are named, but there are {len(made)}"
        raise SqlValidationError(message, columns[0].span.to(columns[-1].span))
    return tuple(Column(n.name, m.type) for n, m in zip(columns, made, strict=True))


def _unnest(node: ast.Unnest, binder: ExpressionBinder) -> tuple[Unnested, Columns]:
    if len(node.operands) != 1:
        message = "UNNEST takes one array, map or multiset"
        raise SqlValidationError(message, node.span, "UNNEST each of them.")
    operand = binder.bind(node.operands[0])
    kind = operand.type
    if isinstance(kind, MapType):
        made: Columns = (Column("KEY", kind.key_type), Column("VALUE", kind.value_type))
    elif isinstance(kind, ArrayType | MultisetType):
        element = kind.element_type
        if isinstance(element, RowType):
            made = tuple(
                Column(
                    f.name,
                    f.data_type.with_nullability(f.data_type.is_nullable or element.is_nullable),
                )
                for f in element.fields
            )
        else:
            made = (Column("EXPR$0", element),)
    else:
        message = f"UNNEST takes an array, a map or a multiset, not {kind.describe()}"
        raise SqlValidationError(message, node.operands[0].span)
    if node.ordinality:
        made = (*made, Column("ORDINALITY", _INT))
    return Unnested(operand, node.ordinality), made


def _table_function(
    call: ast.FunctionCall, binder: ExpressionBinder
) -> tuple[TableFunctionCall, Columns]:
    function = binder.user_function(call)
    if not isinstance(function, UserDefinedFunctionWrapper):
        known = binder.catalog.function_names()
        raise unknown("table function", str(call.name), known, call.name.span)
    if function.kind != "table":
        message = f"{function.name} is no table function"
        raise SqlValidationError(message, call.span, "Call it in the select list.")
    operands = [binder._argument(argument) for argument in call.arguments]
    overload, types = function.resolve([operand.type for operand in operands])
    cast = tuple(cast_to(o, plain(t)) for o, t in zip(operands, types, strict=True))
    results = overload.result_types
    names = function.alias_names or tuple(f"f{at}" for at in range(len(results)))
    made = tuple(Column(name, kind) for name, kind in zip(names, results, strict=True))
    return TableFunctionCall(function, cast), made
