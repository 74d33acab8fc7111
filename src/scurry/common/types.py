"""Rows: the records of untyped streams and of tables.

A `Row` is a fixed number of values in a fixed order, which may carry field names, and a `RowKind`.
The kind says what the row means in a changelog: a table that changes over time is the sum of its
insertions (`+I`), deletions (`-D`) and updates, where an update is the old row taken back (`-U`)
followed by the new one (`+U`).

Rows are made and read for every single event, so they are kept small (three slots) and can be built
a whole batch at a time from columns with `Row.from_columns`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import repeat
from typing import Any

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """What a row does to the table it belongs to."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SYMBOLS[self.value]


_KINDS = tuple(RowKind)
_SYMBOLS = ("+I", "-U", "+U", "-D")
_SLOTS = ("_kind", "_names", "_values")


#: looked up once: it takes as long as half a row
_INSERT = RowKind.INSERT
_new = object.__new__


class _Held:
    """What a row holds. It is written here while a row is being made, which takes half the time:
    the attributes of a Row itself are its fields."""

    __slots__ = _SLOTS

    _kind: RowKind
    _names: tuple[str, ...] | None
    _values: tuple[Any, ...]


class Row(_Held):
    """Values in a fixed order, read by position, by name or as attributes.

    ``Row(1, "a")`` has positions only, ``Row(id=1, name="a")`` has names too, in the order written.
    A row of strings serves as a template: ``Person = Row("name", "age")``, then
    ``Person("Ann", 41)``. Two rows are equal when values, names and kind are equal; the order of
    named fields does not matter.

    A field whose name is also a method of `Row` is reached as ``row["name"]``.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Row:
        """A row of these values."""
        made: Any = _new(_Held)
        made._values, made._names, made._kind = args, None, _INSERT
        if kwargs:
            if args:
                raise ValueError(
                    f"Row got both positional values {args!r} and named values {kwargs!r}: "
                    "use one of the two"
                )
            made._values, made._names = tuple(kwargs.values()), tuple(kwargs)
        if cls is not Row:
            return _of_class(cls, made)
        made.__class__ = cls
        row: Row = made
        return row

    @classmethod
    def from_columns(
        cls, names: tuple[str, ...] | None, columns: Iterable[Sequence[Any]]
    ) -> list[Row]:
        """Build one row per position of equally long columns; the loop runs in C."""
        return cls.from_tuples(names, list(zip(*columns, strict=True)))

    @classmethod
    def from_tuples(
        cls, names: tuple[str, ...] | None, values: Sequence[tuple[Any, ...]]
    ) -> list[Row]:
        """Build one row of each tuple of values; the loop runs in C."""
        rows = list(map(object.__new__, repeat(cls, len(values))))
        deque(map(_set_values, rows, values), maxlen=0)
        deque(map(_set_names, rows, repeat(names)), maxlen=0)
        deque(map(_set_kind, rows, repeat(RowKind.INSERT)), maxlen=0)
        return rows

    @staticmethod
    def name_all(rows: Iterable[Row], names: tuple[str, ...]) -> None:
        """Give each of ``rows``, of as many values, these names; the loop runs in C."""
        deque(map(_set_names, rows, repeat(names)), maxlen=0)

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Make a row of that kind."""
        row = Row(*args, **kwargs)
        _set_kind(row, row_kind)
        return row

    def __call__(self, *args: Any) -> Row:
        """Use this row of names as a template and make a row with those field names."""
        if len(args) > len(self._values):
            raise ValueError(
                f"{self!r} has {len(self._values)} fields but got {len(args)} values {args!r}"
            )
        row = Row(*args)
        row.set_field_names(list(self._values[: len(args)]))
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Field names to values; `recursive` turns rows inside values, lists and dicts too."""
        if self._names is None:
            raise TypeError(
                f"{self!r} has no field names, so it has no dict form: call set_field_names first"
            )
        values = map(_plain, self._values) if recursive else self._values
        return dict(zip(self._names, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """The kind of change this row stands for; `RowKind.INSERT` unless it was set."""
        return self._kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Change the kind of this row in place."""
        _set_kind(self, row_kind)

    def set_field_names(self, field_names: Iterable[str]) -> None:
        """Name the fields, in order; there must be one name for each value."""
        names = tuple(field_names)
        if len(names) != len(self._values):
            raise ValueError(
                f"{self!r} has {len(self._values)} values but got {len(names)} names "
                f"{list(names)!r}"
            )
        _set_names(self, names)

    def get_fields_by_names(self, names: Iterable[str]) -> list[Any]:
        """The values of those fields, in the order asked for."""
        return [self._values[self._position(name)] for name in names]

    def to_string(self) -> str:
        """The changelog notation, such as ``+I[1, a]``."""
        return f"{self._kind}[{', '.join(map(_text, self._values))}]"

    def _position(self, name: str) -> int:
        names = self._names
        if names is None:
            raise ValueError(f"{self!r} has no field names, so no field {name!r}")
        try:
            return names.index(name)
        except ValueError:
            raise ValueError(f"no field {name!r} in {self!r}: it has {list(names)!r}") from None

    def __getitem__(self, item: int | slice | str) -> Any:
        if type(item) is int or isinstance(item, int):
            return self._values[item]
        if isinstance(item, slice):
            return list(self._values[item])
        return self._values[self._position(item)]

    def __setitem__(self, key: int | slice | str, value: Any) -> None:
        values = list(self._values)
        values[self._position(key) if isinstance(key, str) else key] = value
        if len(values) != len(self._values):
            raise ValueError(f"cannot change the number of fields of {self!r}")
        _set_values(self, tuple(values))

    def __getattr__(self, item: str) -> Any:
        if item in _SLOTS:
            raise AttributeError(item)
        names = self._names
        if names is not None and item in names:
            return self._values[names.index(item)]
        if item == "_fields" and names is not None:
            return list(names)
        raise AttributeError(f"no field {item!r} in {self!r}")

    def __setattr__(self, key: str, value: Any) -> None:
        try:
            self[key] = value
        except ValueError as error:
            raise AttributeError(str(error)) from None

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._names is None else self._names)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        if self._kind is not other._kind:
            return False
        if self._names == other._names:
            return self._values == other._values
        if self._names is None or other._names is None:
            return False
        return self.as_dict() == other.as_dict() and len(self) == len(other)

    def __hash__(self) -> int:
        return hash(self._values if self._names is None else frozenset(self._values))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._values, self._names, self._kind.value)

    def __repr__(self) -> str:
        if self._names is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._names, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"


# The slots are written through their descriptors, since `Row.__setattr__` sets fields.
_set_kind = _Held.__dict__["_kind"].__set__
_set_names = _Held.__dict__["_names"].__set__
_set_values = _Held.__dict__["_values"].__set__


def _of_class(cls: type[Row], made: _Held) -> Row:
    """A row of a class below :class:`Row`, which may have attributes besides."""
    row = _new(cls)
    _set_values(row, made._values)
    _set_names(row, made._names)
    _set_kind(row, made._kind)
    return row


def _restore(values: tuple[Any, ...], names: tuple[str, ...] | None, kind: int) -> Row:
    row = object.__new__(Row)
    _set_values(row, values)
    _set_names(row, names)
    _set_kind(row, _KINDS[kind])
    return row


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True) if value._names is not None else value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return value.to_string() if isinstance(value, Row) else str(value)
