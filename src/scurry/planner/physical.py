"""Nodes of the algebra that say how something is computed: passes recognise them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scurry.functions.expressions import Expression
from scurry.planner.algebra import (
    Aggregation,
    Column,
    Columns,
    FrameSpec,
    Pair,
    Rank,
    Single,
    SortItem,
    joined_columns,
    numbered_columns,
)


@dataclass(frozen=True)
class WindowAggregate(Single):
    """Aggregates of windows whose bounds are columns: the keys, the calls, then the properties of
    the window, which are named as in ``properties``: start, end, time."""

    keys: tuple[int, ...]
    calls: tuple[Aggregation, ...]
    start: int
    end: int
    window: Columns
    event_time: bool = True

    @cached_property
    def columns(self) -> Columns:
        keys = tuple(self.input.columns[index] for index in self.keys)
        calls = tuple(Column(call.name, call.type) for call in self.calls)
        return (*keys, *calls, *self.window)


@dataclass(frozen=True)
class LocalAggregate(Single):
    """Aggregates of the rows of each batch, which another aggregate puts together: the groups, then
    the calls."""

    groups: tuple[int, ...]
    calls: tuple[Aggregation, ...]

    @cached_property
    def columns(self) -> Columns:
        groups = tuple(self.input.columns[index] for index in self.groups)
        return (*groups, *(Column(call.name, call.type) for call in self.calls))


@dataclass(frozen=True)
class SessionAggregate(Single):
    """Aggregates of sessions of each key; the columns are those of :class:`WindowAggregate`."""

    keys: tuple[int, ...]
    calls: tuple[Aggregation, ...]
    time: int
    gap: int
    window: Columns

    @cached_property
    def columns(self) -> Columns:
        keys = tuple(self.input.columns[index] for index in self.keys)
        calls = tuple(Column(call.name, call.type) for call in self.calls)
        return (*keys, *calls, *self.window)


@dataclass(frozen=True)
class Deduplicate(Single):
    """The first or last row of each key by a time attribute."""

    keys: tuple[int, ...]
    time: int
    keep_last: bool


@dataclass(frozen=True)
class BoundedRank(Rank):
    """The rows of each partition up to the number that is in one of its columns: ``bound`` says
    which of ``partition`` that is. Rows beyond ``last`` are left out as well."""

    bound: int = 0


@dataclass(frozen=True)
class WindowRank(Single):
    """Top-N of each window and key, sent when the window ends."""

    keys: tuple[int, ...]
    order: tuple[SortItem, ...]
    first: int
    last: int
    start: int
    end: int
    number: str | None = None

    @cached_property
    def columns(self) -> Columns:
        return numbered_columns(self.input.columns, self.number)


@dataclass(frozen=True)
class KeyedJoin(Pair):
    """A join in which ``left_keys`` and ``right_keys`` are equal; each kind of it says what else
    must hold."""

    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.left.columns, self.right.columns)


@dataclass(frozen=True)
class EquiJoin(KeyedJoin):
    """A join on equal columns, with a condition or without."""

    condition: Expression | None = None
    null_equal: tuple[bool, ...] = ()
    ttl: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True)
class IntervalJoin(KeyedJoin):
    """A join on equal columns in which the right time is ``lower`` to ``upper`` ms after the left
    one."""

    left_time: int
    right_time: int
    lower: int
    upper: int
    condition: Expression | None = None


@dataclass(frozen=True)
class VersionedJoin(KeyedJoin):
    """``FOR SYSTEM_TIME AS OF`` a rowtime column: the right side is a table of versions by key."""

    left_time: int
    right_time: int
    condition: Expression | None = None


@dataclass(frozen=True)
class WindowJoin(KeyedJoin):
    """A join of rows of the same window; window columns are (start, end)."""

    left_window: tuple[int, int]
    right_window: tuple[int, int]
    condition: Expression | None = None


@dataclass(frozen=True)
class SortedOver(Single):
    """OVER in any order: the results of rows change as rows come and go."""

    calls: tuple[Aggregation, ...]
    partition: tuple[int, ...]
    order: tuple[SortItem, ...]
    frame: FrameSpec

    @cached_property
    def columns(self) -> Columns:
        return (*self.input.columns, *(Column(call.name, call.type) for call in self.calls))


@dataclass(frozen=True)
class FinalRows(Single):
    """The rows that the changes of the input amount to when it ends, as insertions, in order.
    Without an order those that have equal ``keys`` are sent in the order in which they came; None
    for any keys."""

    order: tuple[SortItem, ...] = ()
    keys: tuple[int, ...] | None = None


@dataclass(frozen=True)
class LookupJoin(Single):
    """Each row beside those a connector finds for it in ``table``; ``keys`` are expressions over
    the row."""

    table: str
    lookup: Any = field(compare=False)
    keys: tuple[Expression, ...]
    found: Columns
    kind: str
    condition: Expression | None = None
    #: what a LOOKUP hint says: fields of LookupSettings
    hint: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.input.columns, self.found)
