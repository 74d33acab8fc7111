"""Queries and relations."""

from __future__ import annotations

from scurry.sql.ast import queries as ast
from scurry.sql.ast.expressions import RowConstructor
from scurry.sql.ast.node import Expression, Identifier, QueryNode
from scurry.sql.unparse.writer import commas, optional, unparse, when, words, writes


@writes(ast.Query)
def _query(node: ast.Query) -> str:
    recursive = when(node.recursive, "RECURSIVE")
    return words(
        when(node.common_tables, words("WITH", recursive, commas(node.common_tables))),
        f"({unparse(node.body)})" if isinstance(node.body, ast.Query) else unparse(node.body),
        when(node.order_by, f"ORDER BY {commas(node.order_by)}"),
        optional("LIMIT", node.limit),
        "" if node.offset is None else f"OFFSET {unparse(node.offset)} ROWS",
    )


@writes(ast.CommonTable)
def _common_table(node: ast.CommonTable) -> str:
    return f"{_named(node.name, node.columns)} AS ({unparse(node.query)})"


def _named(name: Identifier, columns: tuple[Identifier, ...]) -> str:
    return words(unparse(name), when(columns, f"({commas(columns)})"))


@writes(ast.Select)
def _select(node: ast.Select) -> str:
    return words(
        "SELECT",
        _hints(node.hints),
        node.quantifier,
        commas(node.items),
        optional("FROM", node.source),
        optional("WHERE", node.where),
        optional("GROUP BY", node.group_by),
        optional("HAVING", node.having),
        when(node.windows, f"WINDOW {commas(node.windows)}"),
        optional("QUALIFY", node.qualify),
    )


@writes(ast.SelectItem)
def _item(node: ast.SelectItem) -> str:
    return words(unparse(node.expression), optional("AS", node.alias))


@writes(ast.NamedWindow)
def _named_window(node: ast.NamedWindow) -> str:
    return f"{unparse(node.name)} AS {unparse(node.specification)}"


@writes(ast.Values)
def _values(node: ast.Values) -> str:
    return f"VALUES {', '.join(map(_values_row, node.rows))}"


def _values_row(row: Expression) -> str:
    if isinstance(row, RowConstructor):
        return f"({commas(row.items)})" if row.items else "ROW()"
    return unparse(row)


@writes(ast.ExplicitTable)
def _table(node: ast.ExplicitTable) -> str:
    return f"TABLE {unparse(node.name)}"


@writes(ast.SetOperation)
def _set_operation(node: ast.SetOperation) -> str:
    between = f" {node.operator} ALL " if node.all else f" {node.operator} "
    return between.join(map(_input, node.inputs))


def _input(node: QueryNode) -> str:
    text = unparse(node)
    return f"({text})" if isinstance(node, ast.Query | ast.SetOperation) else text


@writes(ast.GroupBy)
def _group_by(node: ast.GroupBy) -> str:
    return words(node.quantifier, commas(node.items))


@writes(ast.GroupingElement)
def _grouping(node: ast.GroupingElement) -> str:
    return f"{'' if node.kind == 'SET' else f'{node.kind} '}({commas(node.items)})"


@writes(ast.Hint)
def _hint(node: ast.Hint) -> str:
    values = [unparse(value) for value in node.values]
    if node.keys:
        keys = map(unparse, node.keys)
        values = [f"{key} = {value}" for key, value in zip(keys, values, strict=True)]
    listed = ", ".join(values)
    return f"{unparse(node.name)}{when(values, f'({listed})')}"


def _hints(hints: tuple[ast.Hint, ...]) -> str:
    return when(hints, f"/*+ {commas(hints)} */")


# --- relations ------------------------------------------------------------------------------------


@writes(ast.TableRef)
def _table_ref(node: ast.TableRef) -> str:
    time = optional("FOR SYSTEM_TIME AS OF", node.system_time)
    return words(unparse(node.name), _hints(node.hints), time)


@writes(ast.DerivedTable)
def _derived(node: ast.DerivedTable) -> str:
    return words(when(node.lateral, "LATERAL"), f"({unparse(node.query)})")


@writes(ast.TableFunctionRef)
def _table_function(node: ast.TableFunctionRef) -> str:
    return words(when(node.lateral, "LATERAL"), f"TABLE({unparse(node.call)})")


@writes(ast.Unnest)
def _unnest(node: ast.Unnest) -> str:
    return words(f"UNNEST({commas(node.operands)})", when(node.ordinality, "WITH ORDINALITY"))


@writes(ast.Aliased)
def _aliased(node: ast.Aliased) -> str:
    inner = node.relation
    text = unparse(inner)
    loose = isinstance(inner, ast.Join | ast.Aliased | ast.Sampled)
    return f"{f'({text})' if loose else text} AS {_named(node.alias, node.columns)}"


@writes(ast.Sampled)
def _sampled(node: ast.Sampled) -> str:
    inner = unparse(node.relation)
    text = f"({inner})" if isinstance(node.relation, ast.Join | ast.Sampled) else inner
    seed = "" if node.seed is None else f"REPEATABLE({unparse(node.seed)})"
    return words(text, f"TABLESAMPLE {node.method}({unparse(node.percentage)})", seed)


@writes(ast.Join)
def _join(node: ast.Join) -> str:
    left, right = unparse(node.left), unparse(node.right)
    if isinstance(node.right, ast.Join):
        right = f"({right})"
    if node.kind == "COMMA":
        return f"{left}, {right}"
    if isinstance(node.left, ast.Join) and node.left.kind == "COMMA":
        left = f"({left})"
    verb = words(when(node.natural, "NATURAL"), node.kind, "JOIN")
    using = when(node.using, f"USING ({commas(node.using)})")
    return words(left, verb, right, optional("ON", node.condition), using)
