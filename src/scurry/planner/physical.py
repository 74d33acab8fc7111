"""Nodes of the algebra that say how something is computed: passes recognise them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scurry.common.data_types import DataTypes
from scurry.functions.expressions import Expression
from scurry.planner.algebra import (
    Aggregation,
    Column,
    Columns,
    FrameSpec,
    Pair,
    Single,
    SortItem,
    joined_columns,
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
        if self.number is None:
            return self.input.columns
        return (*self.input.columns, Column(self.number, DataTypes.BIGINT(False)))


@dataclass(frozen=True)
class EquiJoin(Pair):
    """A join on equal columns, ``left_keys`` and ``right_keys``, with what else must hold."""

    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Expression | None = None
    null_equal: tuple[bool, ...] = ()
    ttl: tuple[int | None, int | None] = (None, None)

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.left.columns, self.right.columns)


@dataclass(frozen=True)
class IntervalJoin(Pair):
    """A join on equal columns in which the right time is ``lower`` to ``upper`` ms after the left
    one."""

    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_time: int
    right_time: int
    lower: int
    upper: int
    condition: Expression | None = None

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.left.columns, self.right.columns)


@dataclass(frozen=True)
class VersionedJoin(Pair):
    """``FOR SYSTEM_TIME AS OF`` a rowtime column: the right side is a table of versions by key."""

    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_time: int
    right_time: int
    condition: Expression | None = None

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.left.columns, self.right.columns)


@dataclass(frozen=True)
class WindowJoin(Pair):
    """A join of rows of the same window; window columns are (start, end)."""

    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_window: tuple[int, int]
    right_window: tuple[int, int]
    condition: Expression | None = None

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.left.columns, self.right.columns)


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

    @cached_property
    def columns(self) -> Columns:
        return joined_columns(self.kind, self.input.columns, self.found)
