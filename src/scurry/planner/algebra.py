"""Logical algebra: what a query means, as a tree of relations.

Nodes are frozen and valid at birth; a pass makes new ones. Each knows its columns, with names and
data types; a time attribute is a column whose type says so (``TimestampKind``). Columns of inputs
are named by their index; expressions are typed trees of :mod:`scurry.functions.expressions` over
the columns of the input, those of a join over the columns of both sides, left ones first.

Nodes are equal if they compute the same: that is how common parts of queries are found. Where
a node stands in the query's text does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scurry.common.data_types import DataType, DataTypes
from scurry.common.spans import NOWHERE, Span
from scurry.functions.expressions import Expression, Literal
from scurry.functions.match_calls import PatternStep
from scurry.planner.columns import Column as Column
from scurry.planner.columns import Columns as Columns
from scurry.planner.time_attributes import as_rowtime, plain, window_columns

if TYPE_CHECKING:
    from scurry.planner.catalog import Table


@dataclass(frozen=True)
class Node:
    """A relation. ``span`` is what it comes from in the query's text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    @property
    def columns(self) -> Columns:
        """The columns, in order."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The relations this one is made of."""
        return ()

    def with_inputs(self, *inputs: Node) -> Node:
        """The same node over other inputs of the same columns."""
        return self

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def type_of(self, index: int) -> DataType:
        """The type of a column."""
        return self.columns[index].type


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(found.inputs))


@dataclass(frozen=True)
class Single(Node):
    """A node with one input."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, *inputs: Node) -> Node:
        return replace(self, input=inputs[0])

    @property
    def columns(self) -> Columns:
        return self.input.columns


@dataclass(frozen=True)
class Scan(Node):
    """Physical and metadata columns of a table, and predicates that the source may use."""

    table: Table
    scanned: Columns
    filters: tuple[Expression, ...] = ()

    @property
    def columns(self) -> Columns:
        return self.scanned


@dataclass(frozen=True)
class Values(Node):
    """Rows of constants."""

    typed: Columns
    rows: tuple[tuple[Literal, ...], ...]

    @property
    def columns(self) -> Columns:
        return self.typed


@dataclass(frozen=True)
class Watermark(Single):
    """Event time: the column at ``time`` becomes a rowtime attribute, ``expression`` gives the
    watermark that each row leads to."""

    time: int
    expression: Expression

    @cached_property
    def columns(self) -> Columns:
        found = list(self.input.columns)
        found[self.time] = replace(found[self.time], type=as_rowtime(found[self.time].type))
        return tuple(found)


@dataclass(frozen=True)
class Project(Single):
    """An expression for each column."""

    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def columns(self) -> Columns:
        pairs = zip(self.names, self.expressions, strict=True)
        return tuple(Column(name, expression.type) for name, expression in pairs)


@dataclass(frozen=True)
class Filter(Single):
    """The rows for which ``condition`` is true."""

    condition: Expression


@dataclass(frozen=True)
class Unnested:
    """The elements of an array, a map or a multiset as a table."""

    operand: Expression
    ordinality: bool = False


@dataclass(frozen=True)
class TableFunctionCall:
    """A call of a user's table function."""

    function: Any
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Correlate(Single):
    """The input's columns beside those of a table made of each row; ``left`` keeps a row whose
    table is empty. The condition is over the columns of both."""

    table: Unnested | TableFunctionCall
    made: Columns
    left: bool = False
    condition: Expression | None = None

    @cached_property
    def columns(self) -> Columns:
        made = self.made
        if self.left:
            made = tuple(replace(column, type=column.type.nullable()) for column in made)
        return (*self.input.columns, *made)


@dataclass(frozen=True)
class Pair(Node):
    """A node with two inputs."""

    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, *inputs: Node) -> Node:
        return replace(self, left=inputs[0], right=inputs[1])


def joined_columns(kind: str, left: Columns, right: Columns) -> Columns:
    """The columns of a join: those of a side that may be missing are nullable."""
    if kind in ("semi", "anti"):
        return left
    if kind in ("right", "full"):
        left = tuple(replace(column, type=column.type.nullable()) for column in left)
    if kind in ("left", "full"):
        right = tuple(replace(column, type=column.type.nullable()) for column in right)
    return (*left, *right)


@dataclass(frozen=True)
class Join(Pair):
    """``kind`` is inner, left, right, full, semi or anti; None is no condition."""

    kind: str
    condition: Expression | None = None
    #: state time to live of each side in ms, from the hint STATE_TTL; None for the job's own
    ttl: tuple[int | None, int | None] = (None, None)

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.left.columns, self.right.columns)


@dataclass(frozen=True)
class Lateral(Pair):
    """Each row of the left side beside the rows that the right one has for it: the right one may
    mention the left one's columns as those of a query around it. ``kind`` is inner or left."""

    kind: str
    condition: Expression | None = None

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.left.columns, self.right.columns)


@dataclass(frozen=True)
class TemporalJoin(Pair):
    """``FOR SYSTEM_TIME AS OF``: ``time`` is the column of the left side that says when, ``hint``
    what a LOOKUP hint says: fields of LookupSettings."""

    kind: str
    time: int
    condition: Expression | None = None
    hint: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.left.columns, self.right.columns)


@dataclass(frozen=True)
class Aggregation:
    """One aggregate. ``function`` is the name of a built-in one, or a user's function."""

    function: Any
    arguments: tuple[int, ...]
    type: DataType
    distinct: bool = False
    filter: int | None = None
    constants: tuple[Any, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Aggregate(Single):
    """GROUP BY: the group columns, then one column for each call."""

    groups: tuple[int, ...]
    calls: tuple[Aggregation, ...]
    #: state time to live in ms, from the hint STATE_TTL
    ttl: int | None = None

    @cached_property
    def columns(self) -> Columns:
        groups = tuple(self.input.columns[index] for index in self.groups)
        return (*groups, *(Column(call.name, call.type) for call in self.calls))


@dataclass(frozen=True)
class Expand(Single):
    """Each row once for each grouping set: of the ``grouped`` columns those that are not in the set
    are null. A last column has the number of the set in ``ids``."""

    grouped: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    ids: tuple[int, ...]

    @cached_property
    def columns(self) -> Columns:
        found = list(self.input.columns)
        for index in self.grouped:
            if not all(index in one for one in self.sets):
                found[index] = replace(found[index], type=found[index].type.nullable())
        return (*found, Column("$e", DataTypes.BIGINT(False)))


@dataclass(frozen=True)
class WindowTable(Single):
    """TUMBLE, HOP, CUMULATE or SESSION: the input's columns with those of the window behind them.
    ``kind`` is in small letters; ``keys`` are the columns that a session is partitioned by."""

    kind: str
    time: int
    size: int
    step: int = 0
    offset: int = 0
    keys: tuple[int, ...] = ()

    @cached_property
    def columns(self) -> Columns:
        return (*self.input.columns, *window_columns(self.input.type_of(self.time)))


@dataclass(frozen=True)
class ToChangelog(Single):
    """TO_CHANGELOG: each change as a row, with the code of its kind in a first column. ``codes``
    are in the order of the kinds' numbers; changes of a kind without a code are left out."""

    name: str
    codes: tuple[str | None, ...]

    @cached_property
    def columns(self) -> Columns:
        return (Column(self.name, DataTypes.STRING()), *self.input.columns)


@dataclass(frozen=True)
class FromChangelog(Single):
    """FROM_CHANGELOG: each row as a change, the kind of which is in the column ``code``. ``kinds``
    has the number of the kind for each code."""

    code: int
    kinds: tuple[tuple[str, int], ...]

    @cached_property
    def columns(self) -> Columns:
        return tuple(replace(one, type=plain(one.type)) for one in self.input.columns)


@dataclass(frozen=True)
class SortItem:
    """One column of an order."""

    index: int
    ascending: bool = True
    nulls_last: bool = False


@dataclass(frozen=True)
class FrameSpec:
    """From ``preceding`` rows or milliseconds before the current row (None: all) to ``following``
    after it; negative numbers are on the other side of the row."""

    rows: bool
    preceding: int | None = None
    following: int | None = 0


@dataclass(frozen=True)
class Over(Single):
    """The input's columns, then one for each call over the frame of each row."""

    calls: tuple[Aggregation, ...]
    partition: tuple[int, ...]
    order: tuple[SortItem, ...]
    frame: FrameSpec

    @cached_property
    def columns(self) -> Columns:
        return (*self.input.columns, *(Column(call.name, call.type) for call in self.calls))


@dataclass(frozen=True)
class Match(Single):
    """MATCH_RECOGNIZE: the partition columns, then one column for each measure. Conditions and
    measures refer to rows by :mod:`scurry.planner.pattern_refs`. ``skip`` says where to go on, by
    the words of the clause and the variable that it names."""

    partition: tuple[int, ...]
    order: tuple[SortItem, ...]
    steps: tuple[PatternStep, ...]
    variables: tuple[str, ...]
    #: of the variables, in the same order
    conditions: tuple[Expression, ...]
    measures: tuple[Expression, ...]
    names: tuple[str, ...]
    skip: tuple[str, str]
    within: int | None = None

    @cached_property
    def columns(self) -> Columns:
        pairs = zip(self.names, self.measures, strict=True)
        measured = (Column(name, measure.type) for name, measure in pairs)
        return (*(self.input.columns[index] for index in self.partition), *measured)


def numbered_columns(columns: Columns, number: str | None) -> Columns:
    """The columns of a top-N: with a name for it, the number of the row is the last one."""
    return columns if number is None else (*columns, Column(number, DataTypes.BIGINT(False)))


#: the last row of a partition, however many there are
ALL_ROWS = 1 << 62


@dataclass(frozen=True)
class Rank(Single):
    """The rows of each partition whose number is from ``first`` to ``last``; with ``number`` the
    number is a last column."""

    partition: tuple[int, ...]
    order: tuple[SortItem, ...]
    first: int
    last: int
    number: str | None = None

    @cached_property
    def columns(self) -> Columns:
        return numbered_columns(self.input.columns, self.number)


@dataclass(frozen=True)
class Sort(Single):
    """ORDER BY, OFFSET and LIMIT; no order for a LIMIT alone."""

    order: tuple[SortItem, ...]
    offset: int = 0
    fetch: int | None = None


@dataclass(frozen=True)
class Union(Node):
    """All rows of all inputs, which have columns of the same types."""

    relations: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.relations

    def with_inputs(self, *inputs: Node) -> Node:
        return replace(self, relations=inputs)

    @cached_property
    def columns(self) -> Columns:
        first = self.relations[0].columns
        nullable = [
            any(relation.columns[at].type.is_nullable for relation in self.relations)
            for at in range(len(first))
        ]
        pairs = zip(first, nullable, strict=True)
        return tuple(replace(c, type=c.type.with_nullability(null)) for c, null in pairs)


@dataclass(frozen=True)
class SetOperation(Pair):
    """``kind`` is intersect or except."""

    kind: str
    all: bool

    @property
    def columns(self) -> Columns:
        return self.left.columns
