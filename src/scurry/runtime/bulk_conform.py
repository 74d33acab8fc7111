"""Holding many elements to a declared type at once, without a look at each.

Most programs return what they have declared: Rows or tuples of numbers and texts. That is found out
column by column: by the set of classes in it, and for whole numbers by packing them into as many
bits as the type has. Whatever is not that plain is looked at one by one, by
:mod:`scurry.runtime.conform`, which also says what is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import attrgetter
from types import NoneType
from typing import Any

from scurry.common.row_types import RowTypeInfo, TupleTypeInfo
from scurry.common.scalar_types import BasicType, BasicTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row, RowKind

_names_of, _values_of, _kind_of = (attrgetter(name) for name in ("_names", "_values", "_kind"))
#: The class of values that are of such a type as they are.
_CLASSES = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: bool,
    BasicType.BYTE: int,
    BasicType.SHORT: int,
    BasicType.INT: int,
    BasicType.LONG: int,
    BasicType.DOUBLE: float,
}
#: The letters by which :mod:`array` knows whole numbers of that size.
_LETTERS = {BasicType.BYTE: "b", BasicType.SHORT: "h", BasicType.INT: "i", BasicType.LONG: "q"}


def conform_all(rows: list[Any], declared: TypeInformation, own: bool = False) -> list[Any] | None:
    """``rows`` as elements of the declared type if all of them are plain ones of it; None if they
    have to be looked at one by one. If nobody else has them (``own``), Rows are given their names
    as they are, and not made anew."""
    kinds = set(map(type, rows))
    if isinstance(declared, BasicTypeInfo):
        return rows if _fits(rows, declared) else None
    if type(declared) is TupleTypeInfo and kinds == {tuple}:
        return rows if _fit(rows, declared.field_types()) else None
    if type(declared) is RowTypeInfo and kinds == {Row}:
        return _as_rows(rows, declared, own)
    return None


def _as_rows(rows: list[Row], declared: RowTypeInfo, own: bool) -> list[Row] | None:
    names = set(map(_names_of, rows))
    values = list(map(_values_of, rows))
    if len(names) != 1 or not _fit(values, declared.field_types()):
        return None
    (held,) = names
    if held == declared.field_names():
        return rows
    if own and held is None:
        Row.name_all(rows, declared.field_names())
        return rows
    # counting compares by identity first, in C; RowKind hashes in Python
    plain = held is None and list(map(_kind_of, rows)).count(RowKind.INSERT) == len(rows)
    return Row.from_tuples(declared.field_names(), values) if plain else None


def _fit(rows: list[tuple[Any, ...]], types: tuple[TypeInformation, ...]) -> bool:
    """Whether all rows have plain values of these types."""
    if set(map(len, rows)) != {len(types)}:
        return False
    return all(map(_fits, zip(*rows, strict=True), types))


def _fits(values: Sequence[Any], declared: TypeInformation) -> bool:
    """Whether all values are plain ones of this type, or None."""
    basic = declared._basic_type if isinstance(declared, BasicTypeInfo) else None
    if basic not in _CLASSES:
        return False
    kinds = set(map(type, values))
    if NoneType in kinds:
        kinds.discard(NoneType)
        values = [value for value in values if value is not None]
    if not kinds <= {_CLASSES[basic]}:
        return False
    if basic in _LETTERS:
        try:
            array(_LETTERS[basic], values)
        except OverflowError:
            return False
    return True
