"""Window table functions: TUMBLE, HOP, CUMULATE and SESSION, by position or by name."""

from __future__ import annotations

from collections.abc import Callable

from scurry.functions.expressions import Literal
from scurry.planner.algebra import Node, WindowTable
from scurry.planner.bind.arguments import named_arguments
from scurry.planner.bind.literals import bind_literal, is_months
from scurry.planner.errors import SqlValidationError, unknown
from scurry.planner.time_attributes import is_window_time
from scurry.sql import ast

_PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
WINDOW_FUNCTIONS = frozenset(_PARAMETERS)


def bind_window_table(
    call: ast.FunctionCall, bind_table: Callable[[ast.TableArgument], Node], batch: bool
) -> Node:
    """The relation of a call of a window table function."""
    name = str(call.name).upper()
    given = named_arguments(call, name, _PARAMETERS[name])
    table = given.get("DATA")
    if isinstance(table, ast.ScalarQuery):
        table = ast.TableArgument(table.query, span=table.span)
    if not isinstance(table, ast.TableArgument):
        message = f"{name} needs a table as its first argument"
        raise SqlValidationError(message, call.span, "Write TABLE t, or a query in parentheses.")
    node = bind_table(table)
    time = _time_column(given.get("TIMECOL"), node, call, batch)
    size = milliseconds(given.get("GAP") or given.get("SIZE"), call, name)
    step_node = given.get("SLIDE") or given.get("STEP")
    step = milliseconds(step_node, call, name) if name in ("HOP", "CUMULATE") else 0
    offset = milliseconds(given["OFFSET"], call, name, signed=True) if "OFFSET" in given else 0
    if name == "CUMULATE" and size % step:
        message = f"The size of CUMULATE, {size} ms, is no multiple of its step, {step} ms"
        raise SqlValidationError(message, call.span)
    keys = _keys(table, node) if name == "SESSION" else ()
    return WindowTable(node, name.lower(), time, size, step, offset, keys, span=call.span)


def _time_column(
    descriptor: ast.Expression | None, node: Node, call: ast.FunctionCall, batch: bool
) -> int:
    name = str(call.name).upper()
    if not isinstance(descriptor, ast.Descriptor) or len(descriptor.columns) != 1:
        message = f"{name} needs the time column as its second argument"
        raise SqlValidationError(message, call.span, "Write DESCRIPTOR(ts).")
    column = descriptor.columns[0]
    names = [one.name for one in node.columns]
    if column.name not in names:
        raise unknown("column", column.name, names, column.span)
    at = names.index(column.name)
    if not is_window_time(node.type_of(at), batch):
        raise SqlValidationError(
            f"{name} needs a time attribute, but {column.name} is {node.type_of(at).describe()}",
            column.span,
            "Declare WATERMARK FOR the column, or use a column AS PROCTIME().",
        )
    return at


def milliseconds(
    node: ast.Expression | None, call: ast.FunctionCall, name: str, signed: bool = False
) -> int:
    """The length of a constant interval."""
    literal = None if node is None else bind_literal(node)
    if isinstance(node, ast.Unary) and node.operator == "-" and signed:
        return -milliseconds(node.operand, call, name)
    if not isinstance(literal, Literal) or not _is_duration(literal):
        where = call.span if node is None else node.span
        message = f"{name} needs a constant interval of days, hours, minutes or seconds"
        raise SqlValidationError(message, where, "Write INTERVAL '10' MINUTE.")
    value = int(literal.value)
    if value <= 0 and not signed:
        raise SqlValidationError(f"The interval of {name} must be positive", literal.span)
    return value


def _is_duration(literal: Literal) -> bool:
    return literal.type.type_name().endswith("INTERVAL") and not is_months(literal.type)


def _keys(table: ast.TableArgument, node: Node) -> tuple[int, ...]:
    names = [one.name for one in node.columns]
    keys = []
    for expression in table.partition_by:
        if not isinstance(expression, ast.Name) or expression.names[-1] not in names:
            raise unknown("column", expression.span.text, names, expression.span)
        keys.append(names.index(expression.names[-1]))
    return tuple(keys)
