"""Typed expression trees: what a SQL expression means, once every name in it is known.

A tree is made of four kinds of node. An `InputRef` is a column of the relation that the expression
is evaluated on, by its position. A `Literal` is a constant. A `Call` is a function or operator of
the catalogue (`scurry.functions.builtin`) with its operands: ``a + 1`` is a call of ``+``, CASE a
call of ``CASE`` with conditions and results in turn, CAST(x AS t) a call of ``CAST`` whose type is
t. A `UdfCall` calls a function of the user's.

Trees are values: immutable, comparable, hashable, picklable. Each node knows its type from birth.
Its span, where it stands in the query's text, does not count for equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scurry.common.data_types import DataType
from scurry.common.spans import NOWHERE, Span

if TYPE_CHECKING:
    from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper

__all__ = [
    "AsyncSettings",
    "Call",
    "Expression",
    "InputRef",
    "Literal",
    "SessionExpression",
    "UdfCall",
]


class Expression:
    """A node of a tree.

    `type` is the type of its values and `operands` are the nodes below it. It is `deterministic` if
    the same operands always give the same value; only then may it be computed once for all rows.
    `span` is the place in the query's text that it came from, if there is a text.
    """

    type: DataType
    operands: tuple[Expression, ...]
    deterministic: bool
    span: Span

    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:
        """The same node above other operands."""
        return self

    def walk(self) -> Iterator[Expression]:
        """This node and all nodes below it, parents first."""
        waiting: list[Expression] = [self]
        while waiting:
            found = waiting.pop()
            yield found
            waiting.extend(reversed(found.operands))


@dataclass(frozen=True)
class InputRef(Expression):
    """The column at `index` of the input."""

    index: int
    type: DataType
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"${self.index}"


@dataclass(frozen=True)
class Literal(Expression):
    """A constant. Its value is what ``pyarrow.scalar`` takes for the type's Arrow form: None, bool,
    int, float, Decimal, str, bytes, date, time, datetime; or an int in the unit of the column for
    timestamps of more than six digits, and for intervals (months, or milliseconds)."""

    value: Any
    type: DataType
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        if self.value is None:
            return "NULL"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        return str(self.value).upper() if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True)
class Call(Expression):
    """A built-in function or operator, by its name in the catalogue, on operands."""

    function: str
    operands: tuple[Expression, ...]
    type: DataType
    deterministic: bool = True
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def with_operands(self, operands: tuple[Expression, ...]) -> Call:
        return replace(self, operands=operands)

    def __str__(self) -> str:
        texts = [str(operand) for operand in self.operands]
        inside = ", ".join(texts)
        if self.function in ("CAST", "TRY_CAST"):
            inside = f"{inside} AS {self.type.describe()}"
        elif len(texts) == 1 and not self.function[0].isalpha():
            return f"({self.function[0]}{inside})"
        elif len(texts) == 2 and not self.function[0].isalpha():
            return f"({texts[0]} {self.function} {texts[1]})"
        return f"{self.function}({inside})"


@dataclass(frozen=True)
class UdfCall(Expression):
    """A scalar function of the user's on operands, with the overload's result type."""

    function: UserDefinedFunctionWrapper
    operands: tuple[Expression, ...]
    type: DataType
    deterministic: bool = True
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def with_operands(self, operands: tuple[Expression, ...]) -> UdfCall:
        return replace(self, operands=operands)

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(map(str, self.operands))})"


@dataclass(frozen=True)
class AsyncSettings:
    """How functions that are awaited are called: how many calls are under way at once, how long a
    row may take with all its attempts, how often a call that failed is made, and the pause before
    it is made again. The names of the options begin with ``table.exec.async-scalar``."""

    capacity: int = 10
    timeout_ms: int = 180_000
    attempts: int = 3
    delay_ms: int = 100


@dataclass(frozen=True)
class SessionExpression:
    """A tree together with what the session says of its evaluation: what a plan node has.

    `zone` is ``table.local-time-zone``. In batch mode `query_start` is the time that
    CURRENT_TIMESTAMP and its relatives give, in milliseconds since 1970; None where every
    micro-batch has its own. `database` is the current one. `asynchronous` is about functions that
    are awaited.
    """

    tree: Expression
    zone: str = "UTC"
    query_start: int | None = None
    database: str = "default_database"
    asynchronous: AsyncSettings = AsyncSettings()

    def __str__(self) -> str:
        return str(self.tree)
