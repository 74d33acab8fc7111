"""One line about a node: for EXPLAIN, for the names of operators, and for their uids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scurry.common.types import RowKind
from scurry.functions.expressions import Expression, InputRef
from scurry.functions.match_calls import pattern_words
from scurry.planner import algebra, physical
from scurry.planner.algebra import Aggregation, Columns, Node, SortItem
from scurry.planner.pattern_refs import PatternAggregate, PatternRef


def describe(node: Node) -> str:
    """The node with what makes it what it is, its columns by name."""
    write = _WRITERS.get(type(node))
    name = type(node).__name__
    return f"{name}({write(node)})" if write is not None else name


def show(tree: Expression, columns: Columns) -> str:
    """An expression with names of columns in place of indexes."""
    if isinstance(tree, InputRef):
        return columns[tree.index].name
    if isinstance(tree, PatternRef):
        return tree.shown(columns[tree.index].name)
    if isinstance(tree, PatternAggregate):
        return tree.shown([show(one, columns) for one in tree.arguments])
    if not tree.operands:
        return str(tree)
    shown = tuple(_Text(show(operand, columns), operand) for operand in tree.operands)
    return str(tree.with_operands(shown))


class _Text(Expression):
    """A text in place of an operand."""

    def __init__(self, text: str, shown: Expression) -> None:
        self.text, self.type, self.operands = text, shown.type, ()

    def __str__(self) -> str:
        return self.text


def _names(indexes: Iterable[int], columns: Columns) -> str:
    return ", ".join(columns[index].name for index in indexes)


def _calls(calls: tuple[Aggregation, ...], columns: Columns) -> str:
    return ", ".join(f"{_call(call, columns)} AS {call.name}" for call in calls)


def _call(call: Aggregation, columns: Columns) -> str:
    name = call.function if isinstance(call.function, str) else call.function.name
    inside = _names(call.arguments, columns) or ("*" if name == "COUNT" else "")
    distinct = "DISTINCT " if call.distinct else ""
    filtered = "" if call.filter is None else f" FILTER {columns[call.filter].name}"
    constants = "".join(f", {value!r}" for value in call.constants)
    return f"{name}({distinct}{inside}{constants}){filtered}"


def _order(order: tuple[SortItem, ...], columns: Columns) -> str:
    return ", ".join(
        f"{columns[key.index].name} {'ASC' if key.ascending else 'DESC'}" for key in order
    )


def _scan(node: algebra.Scan) -> str:
    fields = ", ".join(column.name for column in node.columns)
    filters = "".join(f", filter=[{show(one, node.columns)}]" for one in node.filters)
    return f"table=[{node.table.name}], fields=[{fields}]{filters}"


def _values(node: algebra.Values) -> str:
    return f"rows=[{'; '.join(', '.join(map(str, row)) for row in node.rows[:10])}]"


def _watermark(node: algebra.Watermark) -> str:
    name = node.columns[node.time].name
    return f"rowtime=[{name}], watermark=[{show(node.expression, node.input.columns)}]"


def _project(node: algebra.Project) -> str:
    pairs = zip(node.expressions, node.names, strict=True)
    shown = ((show(expression, node.input.columns), name) for expression, name in pairs)
    return f"select=[{', '.join(t if t == n else f'{t} AS {n}' for t, n in shown)}]"


def _filter(node: algebra.Filter) -> str:
    return f"where=[{show(node.condition, node.columns)}]"


def _correlate(node: algebra.Correlate) -> str:
    table, columns = node.table, node.input.columns
    if isinstance(table, algebra.Unnested):
        text = f"UNNEST({show(table.operand, columns)})"
    else:
        inside = ", ".join(show(operand, columns) for operand in table.operands)
        text = f"{table.function.name}({inside})"
    return f"table=[{text}], join=[{'LEFT' if node.left else 'INNER'}]"


def _aggregate(node: algebra.Aggregate) -> str:
    columns = node.input.columns
    return f"groupBy=[{_names(node.groups, columns)}], select=[{_calls(node.calls, columns)}]"


def _expand(node: algebra.Expand) -> str:
    sets = "; ".join(_names(one, node.input.columns) for one in node.sets)
    return f"sets=[{sets}]"


def _window_table(node: algebra.WindowTable) -> str:
    step = f", step=[{node.step} ms]" if node.step else ""
    time = node.columns[node.time].name
    return f"window=[{node.kind.upper()}], time=[{time}], size=[{node.size} ms]{step}"


def _window_aggregate(node: physical.WindowAggregate) -> str:
    columns = node.input.columns
    return f"groupBy=[{_names(node.keys, columns)}], select=[{_calls(node.calls, columns)}]"


def _session_aggregate(node: physical.SessionAggregate) -> str:
    columns = node.input.columns
    return (
        f"groupBy=[{_names(node.keys, columns)}], gap=[{node.gap} ms], "
        f"select=[{_calls(node.calls, columns)}]"
    )


def _over(node: algebra.Over | physical.SortedOver) -> str:
    columns = node.input.columns
    unit = "ROWS" if node.frame.rows else "RANGE"
    start = "UNBOUNDED" if node.frame.preceding is None else str(node.frame.preceding)
    keys, order = _names(node.partition, columns), _order(node.order, columns)
    return (
        f"partitionBy=[{keys}], orderBy=[{order}], "
        f"frame=[{unit} {start} PRECEDING], select=[{_calls(node.calls, columns)}]"
    )


def _rank(node: algebra.Rank) -> str:
    columns = node.input.columns
    last = "" if node.last == algebra.ALL_ROWS else str(node.last)
    if isinstance(node, physical.BoundedRank):
        last = columns[node.partition[node.bound]].name
    return (
        f"rankRange=[{node.first}..{last}], partitionBy=[{_names(node.partition, columns)}], "
        f"orderBy=[{_order(node.order, columns)}]"
    )


def _to_changelog(node: algebra.ToChangelog) -> str:
    pairs = zip(RowKind, node.codes, strict=True)
    shown = ", ".join(f"{kind.name}={code}" for kind, code in pairs if code is not None)
    return f"op=[{node.name}], codes=[{shown}]"


def _from_changelog(node: algebra.FromChangelog) -> str:
    shown = ", ".join(f"{code}={RowKind(kind).name}" for code, kind in node.kinds)
    return f"op=[{node.columns[node.code].name}], kinds=[{shown}]"


def _window_rank(node: physical.WindowRank) -> str:
    columns = node.input.columns
    return (
        f"rankRange=[{node.first}..{node.last}], partitionBy=[{_names(node.keys, columns)}], "
        f"orderBy=[{_order(node.order, columns)}]"
    )


def _deduplicate(node: physical.Deduplicate) -> str:
    columns = node.columns
    keep = "LastRow" if node.keep_last else "FirstRow"
    return f"keep=[{keep}], key=[{_names(node.keys, columns)}], order=[{columns[node.time].name}]"


def _match(node: algebra.Match) -> str:
    columns = node.input.columns
    defined = zip(node.variables, node.conditions, strict=True)
    measured = zip(node.measures, node.names, strict=True)
    skip = " ".join(node.skip).strip()
    within = "" if node.within is None else f", within=[{node.within} ms]"
    return (
        f"partitionBy=[{_names(node.partition, columns)}], "
        f"orderBy=[{_order(node.order, columns)}], "
        f"pattern=[{pattern_words(node.steps)}]{within}, skip=[{skip}], "
        f"define=[{', '.join(f'{name} AS {show(one, columns)}' for name, one in defined)}], "
        f"measures=[{', '.join(f'{show(one, columns)} AS {name}' for one, name in measured)}]"
    )


def _sort(node: algebra.Sort) -> str:
    fetch = "" if node.fetch is None else f", fetch=[{node.fetch}]"
    offset = f", offset=[{node.offset}]" if node.offset else ""
    return f"orderBy=[{_order(node.order, node.columns)}]{offset}{fetch}"


def _final_rows(node: physical.FinalRows) -> str:
    return f"orderBy=[{_order(node.order, node.columns)}]" if node.order else "orderBy=[]"


def _set_operation(node: algebra.SetOperation) -> str:
    return f"kind=[{node.kind.upper()}{' ALL' if node.all else ''}]"


def _join(node: algebra.Join) -> str:
    columns = (*node.left.columns, *node.right.columns)
    on = "" if node.condition is None else f", where=[{show(node.condition, columns)}]"
    return f"joinType=[{node.kind}]{on}"


def _keyed_join(node: Any) -> str:
    pairs = zip(node.left_keys, node.right_keys, strict=True)
    left, right = node.left.columns, node.right.columns
    on = " AND ".join(f"{left[one].name} = {right[other].name}" for one, other in pairs)
    rest = ""
    if node.condition is not None:
        rest = f", where=[{show(node.condition, (*left, *right))}]"
    if isinstance(node, physical.IntervalJoin):
        rest += f", bounds=[{node.lower} ms, {node.upper} ms]"
    return f"joinType=[{node.kind}], on=[{on}]{rest}"


def _lookup(node: physical.LookupJoin) -> str:
    keys = ", ".join(show(key, node.input.columns) for key in node.keys)
    rest = ""
    if node.condition is not None:
        rest = f", where=[{show(node.condition, (*node.input.columns, *node.found))}]"
    if node.hint:
        rest += f", hint=[{', '.join(f'{name}={value}' for name, value in node.hint)}]"
    return f"table=[{node.table}], joinType=[{node.kind}], lookup=[{keys}]{rest}"


_WRITERS: dict[type[Node], Callable[[Any], str]] = {
    algebra.Scan: _scan,
    algebra.Values: _values,
    algebra.Watermark: _watermark,
    algebra.Project: _project,
    algebra.Filter: _filter,
    algebra.Correlate: _correlate,
    algebra.Aggregate: _aggregate,
    algebra.Expand: _expand,
    algebra.WindowTable: _window_table,
    algebra.Over: _over,
    algebra.ToChangelog: _to_changelog,
    algebra.FromChangelog: _from_changelog,
    algebra.Rank: _rank,
    physical.BoundedRank: _rank,
    algebra.Match: _match,
    algebra.Sort: _sort,
    algebra.SetOperation: _set_operation,
    algebra.Join: _join,
    algebra.TemporalJoin: _join,
    physical.LocalAggregate: _aggregate,
    physical.WindowAggregate: _window_aggregate,
    physical.SessionAggregate: _session_aggregate,
    physical.WindowRank: _window_rank,
    physical.Deduplicate: _deduplicate,
    physical.SortedOver: _over,
    physical.FinalRows: _final_rows,
    physical.EquiJoin: _keyed_join,
    physical.IntervalJoin: _keyed_join,
    physical.VersionedJoin: _keyed_join,
    physical.WindowJoin: _keyed_join,
    physical.LookupJoin: _lookup,
}
