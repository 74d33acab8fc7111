"""References to rows of a match within expressions of MATCH_RECOGNIZE, as nodes of typed trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scurry.common.data_types import DataType
from scurry.functions.expressions import Expression, references, remap


@dataclass(frozen=True)
class PatternRef(Expression):
    """A column of the ``offset``-th row of a variable, from the last one or from the first; all
    rows of the match if ``variable`` is None."""

    index: int
    type: DataType
    variable: str | None
    offset: int = 0
    from_last: bool = True
    span: Any = field(default=None, compare=False, repr=False, kw_only=True)
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return self.shown(f"${self.index}")

    def shown(self, column: str) -> str:
        """The reference with the name of its column."""
        name = column if self.variable is None else f"{self.variable}.{column}"
        if self.from_last and not self.offset:
            return name
        return f"{'LAST' if self.from_last else 'FIRST'}({name}, {self.offset})"


@dataclass(frozen=True)
class MatchTime(PatternRef):
    """MATCH_ROWTIME(): the time at which a match was found, with the type of the time column."""

    def shown(self, column: str) -> str:
        return "MATCH_ROWTIME()"


@dataclass(frozen=True)
class PatternAggregate(Expression):
    """An aggregate over the rows of a variable; ``function`` is a name or a user's function."""

    function: Any
    arguments: tuple[Expression, ...]
    type: DataType
    variable: str | None
    constants: tuple[Any, ...] = ()
    span: Any = field(default=None, compare=False, repr=False, kw_only=True)
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return self.shown(list(map(str, self.arguments)))

    def shown(self, arguments: list[str]) -> str:
        """The aggregate with its arguments as texts."""
        name = self.function if isinstance(self.function, str) else self.function.name
        inside = ", ".join([*arguments, *map(repr, self.constants)]) or "*"
        return f"{name}({inside if self.variable is None else f'{self.variable}: {inside}'})"


def columns_read(tree: Expression) -> set[int]:
    """The columns of the input that an expression reads from rows of a match."""
    found: set[int] = set()
    for one in tree.walk():
        if isinstance(one, PatternRef):
            found.add(one.index)
        elif isinstance(one, PatternAggregate):
            for argument in one.arguments:
                found |= set(references(argument))
    return found


def moved_reference(one: Expression, places: Mapping[int, int]) -> Expression:
    """A node of a tree over columns at other places."""
    if isinstance(one, PatternRef):
        return replace(one, index=places[one.index])
    if isinstance(one, PatternAggregate):
        return replace(one, arguments=tuple(remap(a, places) for a in one.arguments))
    return one
