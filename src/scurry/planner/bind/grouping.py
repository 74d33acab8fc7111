"""GROUP BY: expressions, grouping sets, rollup and cube, and group windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from scurry.functions.expressions import Expression, InputRef
from scurry.planner.algebra import Node, WindowTable
from scurry.planner.bind.window_tables import milliseconds
from scurry.planner.errors import SqlValidationError
from scurry.planner.time_attributes import is_window_time
from scurry.sql import ast

_WINDOWS = ("TUMBLE", "HOP", "SESSION")
_PROPERTIES = ("start", "end", "rowtime")
#: Every row becomes one for each grouping set.
_MOST_SETS = 4096


@dataclass
class Grouping:
    """What a GROUP BY clause groups by: all expressions, the sets of them (None for one set of
    all), and the relation, to which a group window has added its columns."""

    source: Node
    groups: list[Expression]
    sets: list[tuple[int, ...]] | None
    #: properties of a group window
    window: dict[str, Expression]


def bind_grouping(
    clause: ast.GroupBy,
    source: Node,
    bind: Callable[[ast.Expression], Expression],
    batch: bool = False,
) -> Grouping:
    """The grouping of a clause; ``bind`` binds an expression over ``source``. In batch mode windows
    are made of any timestamp."""
    wanted = prod(map(_count, clause.items))
    if wanted > _MOST_SETS:
        raise SqlValidationError(
            f"GROUP BY has {wanted} grouping sets, and may have {_MOST_SETS}",
            clause.span,
            "Each row would become as many: write the GROUPING SETS that you need.",
        )
    binder = _GroupingBinder(source, bind, batch)
    choices = [binder.sets_of(item) for item in clause.items]
    sets = [tuple(sorted(set(sum(chosen, ())))) for chosen in product(*choices)]
    if clause.quantifier == "DISTINCT":
        sets = list(dict.fromkeys(sets))
    plain = len(sets) == 1 and len(sets[0]) == len(binder.groups)
    return Grouping(binder.source, binder.groups, None if plain else sets, binder.window)


def _count(item: ast.Expression | ast.GroupingElement) -> int:
    """How many sets an item of the clause stands for."""
    if not isinstance(item, ast.GroupingElement) or item.kind == "SET":
        return 1
    if item.kind == "GROUPING SETS":
        return sum(map(_count, item.items))
    return len(item.items) + 1 if item.kind == "ROLLUP" else 1 << len(item.items)


class _GroupingBinder:
    def __init__(
        self, source: Node, bind: Callable[[ast.Expression], Expression], batch: bool
    ) -> None:
        self._batch = batch
        self.source = source
        self.groups: list[Expression] = []
        self.window: dict[str, Expression] = {}
        self._bind = bind

    def sets_of(self, item: ast.Expression | ast.GroupingElement) -> list[tuple[int, ...]]:
        """The sets that an item of the clause stands for."""
        if not isinstance(item, ast.GroupingElement):
            return [self._members(item)]
        if item.kind == "GROUPING SETS":
            return [one for inner in item.items for one in self.sets_of(inner)]
        members = [self._members(inner) for inner in item.items]
        if item.kind == "SET":
            return [sum(members, ())]
        if item.kind == "ROLLUP":
            return [sum(members[:count], ()) for count in range(len(members), -1, -1)]
        return [
            sum((members[at] for at in chosen), ())
            for count in range(len(members), -1, -1)
            for chosen in combinations(range(len(members)), count)
        ]

    def _members(self, item: ast.Expression | ast.GroupingElement) -> tuple[int, ...]:
        if isinstance(item, ast.GroupingElement):
            return sum((self._members(inner) for inner in item.items), ())
        if isinstance(item, ast.FunctionCall) and str(item.name).upper() in _WINDOWS:
            return self._group_window(item)
        return (self._group(self._bind(item)),)

    def _group(self, expression: Expression) -> int:
        if expression not in self.groups:
            self.groups.append(expression)
        return self.groups.index(expression)

    def _group_window(self, call: ast.FunctionCall) -> tuple[int, ...]:
        """``TUMBLE(ts, size)``: the window's columns behind those of the relation, grouped by."""
        name = str(call.name).upper()
        wanted = 3 if name == "HOP" else 2
        if len(call.arguments) != wanted:
            message = f"{name} in GROUP BY takes a time attribute and {wanted - 1} intervals"
            raise SqlValidationError(message, call.span)
        if self.window:
            raise SqlValidationError("There is a second window in GROUP BY", call.span)
        time = self._bind(call.arguments[0])
        if not isinstance(time, InputRef) or not is_window_time(time.type, self._batch):
            raise SqlValidationError(
                f"{name} needs a time attribute",
                call.arguments[0].span,
                "Declare WATERMARK FOR the column, or use a column AS PROCTIME().",
            )
        lengths = [milliseconds(one, call, name) for one in call.arguments[1:]]
        size, step = lengths[-1], lengths[0] if name == "HOP" else 0
        width = self.source.width
        self.source = WindowTable(self.source, name.lower(), time.index, size, step, span=call.span)
        columns = self.source.columns[width:]
        refs: list[Expression] = [
            InputRef(width + at, column.type) for at, column in enumerate(columns)
        ]
        self.window = dict(zip(_PROPERTIES, refs, strict=True)) | {"proctime": refs[2]}
        return tuple(self._group(ref) for ref in refs)
