"""What relational plan nodes are made of beside expressions: aggregates, keys, orders, frames.

All of these are frozen values that can be pickled, compared and hashed. Columns are named by their
index in the input. Types are Arrow types, the exact form that values have in columns
(``DataType.arrow_type()``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scurry.common.values import Element, Key
from scurry.functions.expressions.trees import SessionExpression
from scurry.functions.transforms import KeySelector

_BIGINT = pa.int64()


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate of a GROUP BY, a window or an OVER clause.

    ``function`` is the name of a built-in aggregate in capitals (``COUNT``, ``SUM``, ``SUM0``,
    ``AVG``, ``MIN``, ``MAX``, ``FIRST_VALUE``, ``LAST_VALUE``, ``LISTAGG``, ``COLLECT``,
    ``ARRAY_AGG``, ``VAR_POP``, ``VAR_SAMP``, ``STDDEV_POP``, ``STDDEV_SAMP``), or a function of the
    user's with ``create_accumulator``, ``accumulate``, ``get_value`` and, where rows can be taken
    back, ``retract``. ``COUNT`` without arguments counts rows.
    """

    function: Any
    arguments: tuple[int, ...] = ()
    #: the type of the result
    type: pa.DataType = _BIGINT
    distinct: bool = False
    #: a column of booleans: rows in which it is not true do not count
    filter: int | None = None
    #: what is constant for all rows, such as the separator of LISTAGG
    constants: tuple[Any, ...] = ()
    #: the name of the result, for ``explain()``
    name: str = ""

    @property
    def built_in(self) -> bool:
        """Whether it is one of the engine's own."""
        return isinstance(self.function, str)

    @property
    def title(self) -> str:
        """What to call it in layouts and messages."""
        name = self.function if self.built_in else type(self.function).__name__
        inner = ", ".join([*(f"${index}" for index in self.arguments), *map(repr, self.constants)])
        inner = inner or ("*" if name == "COUNT" else "")
        behind = "" if self.filter is None else f" FILTER ${self.filter}"
        return f"{name}({'DISTINCT ' if self.distinct else ''}{inner}){behind}"


@dataclass(frozen=True)
class SortKey:
    """One column of an ORDER BY."""

    index: int
    ascending: bool = True
    #: Flink's default: nulls are the least values
    nulls_last: bool = False


@dataclass(frozen=True)
class AssignedWindows:
    """Windows that an aggregate finds for each row by itself, from the time in the column ``time``;
    ``kind`` and what follows are those of the window table function. ``columns`` are what its input
    would be if that function stood before it, and ``keys`` and ``calls`` refer to these: state is
    the same either way."""

    kind: str
    time: int
    size: int
    step: int
    offset: int
    columns: pa.Schema
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True)
class Frame:
    """The rows that an OVER aggregate looks at: from ``preceding`` before the current row to
    ``following`` after it. They count rows (``rows``), or the unit of the column of the order,
    which for a time is the millisecond; None means all rows before, or after. A negative number
    is on the other side of the row."""

    rows: bool
    preceding: int | None = None
    following: int | None = 0


@dataclass(frozen=True)
class Unnest:
    """A table made of an array, a map or a multiset of each row.

    ``operand`` is an expression over the input's columns. Elements that are rows give a column for
    each field, others one column; a map gives key and value; a multiset each element as often as
    it is in it. With ``ordinality`` a last column numbers the elements from 1.
    """

    operand: SessionExpression
    ordinality: bool = False
    #: whether the operand is a multiset: a map from elements to how often they are in it
    multiset: bool = False


@dataclass(frozen=True)
class TableCall:
    """A call of a table function: an object whose ``eval(*arguments)`` yields, or returns, rows.

    ``operands`` are expressions over the input's columns.
    """

    function: Any
    operands: tuple[SessionExpression, ...]


class ColumnsKey(KeySelector):
    """Keys that are columns: one column's value, or the tuple of several; 0 for all rows if there
    are none. Where records are columns, no Python code runs for each of them."""

    def __init__(self, *indexes: int) -> None:
        self.indexes = indexes

    def get_key(self, value: Element) -> Key:
        if len(self.indexes) == 1:
            return _fixed(value[self.indexes[0]])
        return tuple(_fixed(value[index]) for index in self.indexes) if self.indexes else 0


def _fixed(value: Element) -> Key:
    """A row, array or map of a column as a value that can be a key."""
    if type(value) is dict:
        return tuple(map(_fixed, value.values()))
    if type(value) is tuple:
        return tuple(map(_fixed, value))
    if type(value) is list:
        # a map is a list of pairs, whose order does not matter
        fixed = map(_fixed, value)
        return tuple(sorted(fixed, key=repr) if value and type(value[0]) is tuple else fixed)
    return value
