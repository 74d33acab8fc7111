"""Key selectors: what ``key_by`` was given, as a callable, and if possible as a column.

``lambda e: e.user`` and ``lambda e: e[0]`` only pick a field. Where records are held as Arrow
columns that field is a column, and routing a whole batch by it takes no Python per record. To find
out, the selector is called once on a probe that records what was asked of it; anything but the
access of a field, or a tuple of such, makes the probe give up, and the selector is called for each
record as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class _GaveUp(Exception):
    """The selector does more than pick a field."""


class _Field:
    __slots__ = ("name",)

    def __init__(self, name: str | int) -> None:
        object.__setattr__(self, "name", name)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise _GaveUp

    __call__ = __getitem__ = __iter__ = __len__ = __bool__ = __str__ = __repr__ = _refuse
    __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _refuse
    __truediv__ = __floordiv__ = __and__ = __or__ = __xor__ = __neg__ = __abs__ = _refuse
    __int__ = __float__ = __index__ = __format__ = __contains__ = _refuse

    def __getattr__(self, name: str) -> Any:
        raise _GaveUp


class _Probe:
    def __getitem__(self, name: Any) -> _Field:
        if isinstance(name, str) or (type(name) is int and name >= 0):
            return _Field(name)
        raise _GaveUp

    def __getattr__(self, name: str) -> _Field:
        if name.startswith("_"):
            raise _GaveUp
        return _Field(name)


class Picked(NamedTuple):
    """The fields that a key selector picks."""

    fields: tuple[str | int, ...]
    #: whether the key is the tuple of them, not the one field itself
    composed: bool = False


def picked_key(select: Callable[[Any], Any]) -> Picked | None:
    """The fields of which ``select`` makes a key, None if it does anything else with them."""
    try:
        result = select(_Probe())
    except Exception:
        return None
    if type(result) is _Field:
        return Picked((result.name,))
    if type(result) is tuple and result and all(type(part) is _Field for part in result):
        return Picked(tuple(part.name for part in result), composed=True)
    return None


def picked_field(select: Callable[[Any], Any]) -> str | int | None:
    """The one field that ``select`` picks, None if it does anything else."""
    picked = picked_key(select)
    return None if picked is None or picked.composed else picked.fields[0]


def no_key(element: Any) -> int:
    """The key of streams that have none: the same for all elements."""
    return 0


class FieldSelector:
    """``key_by("user")`` and ``key_by(0)``: picks a field by name or position."""

    def __init__(self, field: str | int) -> None:
        self.field = field

    def __call__(self, element: Any) -> Any:
        try:
            return element[self.field]
        except (TypeError, KeyError):
            if isinstance(self.field, str):
                return getattr(element, self.field)
            raise
