"""Windows that count rows: ``Tumble.over(row_interval(3))`` and ``Slide`` of rows.

A window of the last ``size`` rows of a group is the frame of an OVER: at each row the aggregates of
the ``size`` rows up to it. Such a window is complete at row ``size`` of its group and again after
each ``slide`` rows (``size`` of them for a tumbling window), so a count of the rows so far says
which of the results are those of windows:

    SELECT name, SUM(n) OVER last FROM clicks
    WINDOW last AS (PARTITION BY name ORDER BY pt ROWS BETWEEN 1 PRECEDING AND CURRENT ROW),
    QUALIFY COUNT(*) OVER all % 2 = 0

As in Flink the rows are those of processing time, a window that never gets all its rows has no
result, and such a window has neither start nor end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scurry.common.data_types import DataType
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.planner.time_attributes import is_proctime
from scurry.sql import ast
from scurry.table.column_names import FindFunction, is_aggregate
from scurry.table.expression import Expression
from scurry.table.expression_core import here, mapped, name_of
from scurry.table.expression_time import WINDOW_PROPERTIES
from scurry.table.window import GroupWindow

__all__ = ["check_count_window", "counts_rows", "select_of_count_window"]

_LAST = "$last"
_PROPERTIES = frozenset(WINDOW_PROPERTIES.values())


def counts_rows(window: GroupWindow) -> bool:
    """Whether the size of a window, or its slide, is a number of rows."""
    return any(_rows(one) is not None for one in window.intervals)


def _rows(interval: Expression) -> ast.Expression | None:
    node = interval.node
    if isinstance(node, ast.FunctionCall) and str(node.name) == "$ROW_INTERVAL":
        return node.arguments[0]
    return None


def check_count_window(window: GroupWindow, time: DataType, batch: bool) -> None:
    """Refuse a window of rows that Flink does not have either."""
    if window.kind == "SESSION":
        raise ProgramError(f"The gap of the session {window.name!r} is a time, not rows.")
    if any(_rows(one) is None for one in window.intervals):
        raise ProgramError(
            f"The window {window.name!r} has a size in rows and a slide in time, or the other way "
            "round: give both in the same unit."
        )
    if batch:
        raise NotSupportedError(
            f"The window {window.name!r} counts rows, and the rows of a batch have no order: use a "
            "window of time, or streaming mode."
        )
    if not is_proctime(time):
        raise NotSupportedError(
            f"The window {window.name!r} counts rows, which come in the order of processing time: "
            f"{window.time} is not a column of processing time, such as one AS PROCTIME()."
        )


def select_of_count_window(
    source: ast.Relation,
    window: GroupWindow,
    keys: Sequence[ast.Expression],
    items: Sequence[ast.SelectItem],
    find_function: FindFunction,
) -> ast.Select:
    """The query of a window of rows, over a group that ``keys`` make."""
    lengths = [_length(window, one) for one in window.intervals]
    size, slide = lengths[-1], lengths[0]
    last = _rows_up_to_here(window, keys, ast.NumberLiteral(str(size - 1), span=here()))
    named = ast.NamedWindow(ast.Identifier(_LAST, span=here()), last, span=here())

    def over(node: ast.Expression) -> ast.Expression:
        if isinstance(node, ast.FunctionCall) and is_aggregate(node, find_function):
            if str(node.name) in _PROPERTIES:
                raise ProgramError(
                    f"The window {window.name!r} counts rows: it has no start and no end."
                )
            return replace(node, over=ast.Identifier(_LAST, span=here()))
        changed: ast.Expression = mapped(node, over)
        return changed

    shown = tuple(replace(item, expression=over(item.expression)) for item in items)
    complete = _complete(_rows_up_to_here(window, keys, None), size, slide)
    return ast.Select(shown, source, qualify=complete, windows=(named,), span=here())


def _length(window: GroupWindow, interval: Expression) -> int:
    rows = _rows(interval)
    count = rows.value if isinstance(rows, ast.Constant) else None
    if not isinstance(count, int) or count <= 0:
        raise ProgramError(
            f"The window {window.name!r} needs a positive number of rows, got {count}."
        )
    return count


def _rows_up_to_here(
    window: GroupWindow, keys: Sequence[ast.Expression], offset: ast.Expression | None
) -> ast.WindowSpecification:
    order = ast.OrderItem(window.time.node, False, span=here())
    start = ast.FrameBound("PRECEDING", offset, span=here())
    end = ast.FrameBound("CURRENT ROW", span=here())
    frame = ast.Frame("ROWS", start, end, span=here())
    return ast.WindowSpecification(None, tuple(keys), (order,), frame, span=here())


def _complete(rows: ast.WindowSpecification, size: int, slide: int) -> ast.Expression:
    """Whether a window ends at a row: ``count >= size AND (count - size) % slide = 0``."""
    star = ast.Star(span=here())
    count = ast.FunctionCall(name_of("COUNT"), (star,), over=rows, span=here())

    def binary(operator: str, left: ast.Expression, right: ast.Expression | int) -> ast.Binary:
        if isinstance(right, int):
            right = ast.NumberLiteral(str(right), span=here())
        return ast.Binary(operator, left, right, span=here())

    past = binary("%", binary("-", count, size), slide)
    full = binary(">=", count, size)
    return ast.Logical("AND", (full, binary("=", past, 0)), span=here())
