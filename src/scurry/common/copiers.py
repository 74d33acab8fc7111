"""How values of a type are copied: one copier for each type, decided when the type is first met.

See :mod:`scurry.common.copies` for what copies are for and what a copier returns.
"""

from __future__ import annotations

import copy
import copyreg
import datetime as dt
import enum
import io
import keyword
import pathlib
import re
import types
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from scurry.common.types import Row

#: Given a value and how deep parts that can change may lie in it, returns the value itself if it
#: cannot change, a copy of it, or NESTED.
Copier = Callable[[Any, int], Any]
#: What a copier returns for a value that has to be copied as a whole.
NESTED: Any = object()
#: Types whose instances cannot change. Enumerations and the like are added when they are met.
FIXED: set[type] = {
    *(int, float, complex, bool, str, bytes, type(None), range, slice, type(...)),
    *(Decimal, Fraction, uuid.UUID, re.Pattern, type),
    *(dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone, zoneinfo.ZoneInfo),
    *(pathlib.PosixPath, pathlib.PurePosixPath, pathlib.WindowsPath, pathlib.PureWindowsPath),
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType),
}
_all_fixed = FIXED.issuperset
_containers = frozenset({int, float, bool, str, bytes, type(None), list, dict, set})
_new = object.__new__
#: So many levels below depth 0 are looked at to see that a value cannot change.
_SHALLOWEST = -3
_MOST_NAMES = 50
_set_kind, _set_names, _set_values = (
    getattr(Row, name).__set__ for name in ("_kind", "_names", "_values")
)
#: What a class can define to say itself how it is pickled and copied.
_HOOKS = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs_ex__")


def all_fixed(values: list[Any]) -> bool:
    """Whether it is plain, and found out at C speed, that none of ``values`` can change: they are
    of fixed types, or tuples of such."""
    kinds = set(map(type, values))
    if kinds <= FIXED:
        return True
    return kinds == {tuple} and _all_fixed(map(type, chain.from_iterable(values)))


def copier_of(kind: type, example: Any) -> Copier:
    """What copies instances of ``kind``, of which ``example`` is one."""
    found = COPIERS.get(kind)
    if found is None:
        found = COPIERS[kind] = decide(kind, example)
        if found is same:
            FIXED.add(kind)
    return found


def hand_on(kind: type) -> None:
    """Have instances of ``kind`` handed on as they are, though they are not among ``FIXED``."""
    COPIERS[kind] = lambda value, depth: value


def parts_of(parts: Iterable[Any], depth: int) -> Any:
    """The parts of a value, with copies of those that can change, as a list; NESTED if a copy of
    each is not the same as a copy of the whole."""
    if depth <= _SHALLOWEST:
        # a value may contain itself
        return NESTED
    fresh, below = list(parts), depth - 1 if depth < 1 else 0
    loose: list[Any] = []
    nested_at = -1
    for at, part in enumerate(fresh):
        kind = type(part)
        if kind in FIXED:
            continue
        found = (COPIERS.get(kind) or copier_of(kind, part))(part, below)
        if found is not part:
            if depth <= 0 or (found is NESTED and nested_at >= 0):
                return NESTED
            nested_at = at if found is NESTED else nested_at
            loose.append(part)
            fresh[at] = found
    if nested_at >= 0:
        if len(loose) > 1:
            return NESTED
        # whatever can change is in this one part, so nothing is shared with another
        part = loose[0]
        fresh[nested_at] = found = COPIERS[type(part)](part, depth - 1)
        return NESTED if found is NESTED else fresh
    return NESTED if len(loose) > 1 and len(set(map(id, loose))) < len(loose) else fresh


def same(value: Any, depth: int) -> Any:
    """Instances that cannot change, or of which there is no copy."""
    return value


def nested(value: Any, depth: int) -> Any:
    """Instances that are always copied as a whole."""
    return NESTED


def _tuple(value: Any, depth: int) -> Any:
    for part in value:
        if type(part) not in FIXED:
            break
    else:
        return value
    fresh = parts_of(value, depth)
    if fresh is NESTED or all(map(_is, value, fresh)):
        return NESTED if fresh is NESTED else value
    return tuple.__new__(type(value), fresh)


def _list(value: list[Any], depth: int) -> Any:
    if _all_fixed(map(type, value)):
        return value.copy()
    return NESTED if _for_pickle(value) else parts_of(value, depth)


def _bag(duplicate: Callable[[Any], Any]) -> Copier:
    """Sets and the like: their elements must be such that they cannot change."""
    return lambda value, depth: duplicate(value) if all_fixed(list(value)) else NESTED


def _mapping(duplicate: Callable[[Any], Any]) -> Copier:
    def copied(value: Any, depth: int) -> Any:
        for key, part in value.items():
            if type(part) not in FIXED or type(key) not in FIXED:
                break
        else:
            return duplicate(value)
        if _for_pickle(value.values()) or not all_fixed(list(value)):
            return NESTED
        fresh = parts_of(value.values(), depth)
        if fresh is NESTED:
            return NESTED
        made = duplicate(value)
        made.update(zip(value, fresh, strict=True))
        return made

    return copied


def _for_pickle(parts: Iterable[Any]) -> bool:
    """Whether pickle is the fastest way: it is for lists and dicts within each other, and slow for
    instances of users' classes."""
    return _containers.issuperset(map(type, parts))


def _row(value: Row, depth: int) -> Any:
    values: Any = value._values
    for part in values:
        if type(part) not in FIXED:
            values = _tuple(values, depth)
            if values is NESTED:
                return NESTED
            break
    made = _new(Row)
    _set_values(made, values)
    _set_names(made, value._names)
    _set_kind(made, value._kind)
    return made


def _array(value: Any, depth: int) -> Any:
    return NESTED if value.dtype.hasobject else value.copy()


def _attributes(kind: type, frozen: bool) -> Copier:
    """Objects that are their ``__dict__`` and nothing else."""

    def copied(value: Any, depth: int) -> Any:
        held = value.__dict__
        parts = parts_of(held.values(), depth)
        if parts is NESTED or (frozen and all(map(_is, held.values(), parts))):
            return NESTED if parts is NESTED else value
        made: Any = _new(kind)
        made.__dict__.update(zip(held, parts, strict=True))
        return made

    return copied


def _generated(kind: type, names: list[str], otherwise: Copier) -> Copier:
    """The same for objects that have attributes ``names`` and no others, and whose attributes
    cannot change, as a function made for this class: it takes half the time, and leaves a smaller
    object. ``otherwise`` copies the rest."""
    lines = [
        "def copied(value, depth):",
        "    held = value.__dict__",
        "    try:",
        f"        if len(held) == {len(names)}:",
        *(f"            p{at} = held[{name!r}]" for at, name in enumerate(names)),
        f"            if {' and '.join(f'type(p{at}) in FIXED' for at in range(len(names)))}:",
        "                made = new(kind)",
        *(f"                made.{name} = p{at}" for at, name in enumerate(names)),
        "                return made",
        "    except KeyError:",
        "        pass",
        "    return otherwise(value, depth)",
    ]
    space: dict[str, Any] = {"FIXED": FIXED, "new": _new, "kind": kind, "otherwise": otherwise}
    exec("\n".join(lines), space)
    copier: Copier = space["copied"]
    return copier


def _can_generate(kind: type, names: list[str]) -> bool:
    """Whether setting the attributes ``names`` does nothing but set them."""
    simple = all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    private = any(name.startswith("__") for name in names)
    given = [getattr(kind, name, None) for name in names]
    setter: Any = kind.__setattr__
    return (
        0 < len(names) <= _MOST_NAMES
        and simple
        and not private
        and setter is object.__setattr__
        and not any(hasattr(type(one), "__set__") for one in given)
    )


def _fields(
    names: tuple[str, ...],
    frozen: bool,
    duplicate: Callable[[Any], Any],
    put: Callable[[Any, str, Any], None],
) -> Copier:
    """Objects that are their slots and nothing else; ``duplicate`` makes another one, which has
    the same in its slots or nothing."""
    first = names[0]
    read = attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, first),)

    def copied(value: Any, depth: int) -> Any:
        try:
            parts = read(value)
        except AttributeError:
            # nobody has put anything into some slot
            return NESTED
        fresh = _tuple(parts, depth)
        if fresh is NESTED or (frozen and fresh is parts):
            return NESTED if fresh is NESTED else value
        made = duplicate(value)
        for name, part in zip(names, fresh, strict=True):
            put(made, name, part)
        return made

    return copied


def _is(one: Any, other: Any) -> bool:
    return one is other


#: How instances of the types met so far are copied.
COPIERS: dict[type, Copier] = {
    tuple: _tuple,
    list: _list,
    set: _bag(set.copy),
    frozenset: _bag(lambda value: value),
    deque: _bag(copy.copy),
    bytearray: lambda value, depth: value[:],
    dict: _mapping(dict.copy),
    OrderedDict: _mapping(OrderedDict.copy),
    defaultdict: _mapping(defaultdict.copy),
    Counter: _mapping(copy.copy),
    Row: _row,
    np.ndarray: _array,
}


def decide(kind: type, example: Any) -> Copier:
    """How instances of ``kind``, of which ``example`` is one, are copied."""
    if issubclass(kind, (enum.Enum, type)) or kind.__module__.partition(".")[0] == "pyarrow":
        return same
    if issubclass(kind, np.generic) and not issubclass(kind, (np.void, np.object_)):
        return same
    if hasattr(kind, "__deepcopy__") or kind in copyreg.dispatch_table:
        return nested
    if issubclass(kind, msgspec.Struct):
        return _of_struct(kind)
    try:
        told = example.__reduce_ex__(4)
    except Exception:
        # a generator, a file, a lock: there is no value to copy, only a thing to hand on
        handle = isinstance(example, io.IOBase) or not hasattr(example, "__dict__")
        return same if handle else nested
    if not _is_plain(kind, object):
        return nested
    if issubclass(kind, tuple):
        return _tuple if hasattr(kind, "_fields") and not kind.__dictoffset__ else nested
    # made of nothing but attributes, as Python sees it: a subclass of int or list is not
    bare = told[:2] == (copyreg.__newobj__, (kind,)) and not any(told[3:])  # type: ignore[attr-defined]
    return _of_object(kind, example) if bare else nested


def _is_plain(kind: type, root: type) -> bool:
    """Whether ``kind`` leaves it to ``root`` how its instances are pickled and copied."""
    for name in _HOOKS:
        given = getattr(kind, name, None)
        generated = getattr(given, "__module__", None) == "dataclasses"
        if given is not getattr(root, name, None) and not generated:
            return False
    return True


def _of_struct(kind: type[msgspec.Struct]) -> Copier:
    names = kind.__struct_fields__
    if not names or kind.__dictoffset__ or not _is_plain(kind, msgspec.Struct):
        return nested
    put = msgspec.structs.force_setattr
    return _fields(names, kind.__struct_config__.frozen, copy.copy, put)


def _of_object(kind: type, example: Any) -> Copier:
    told = kind.__dict__.get("__dataclass_params__")
    frozen = told is not None and bool(told.frozen)
    slots = tuple(name for base in kind.__mro__ for name in _slots_of(base))
    if (kind.__dictoffset__ != 0) == bool(slots):
        return nested
    if slots:
        return _fields(slots, frozen, lambda value: _new(kind), object.__setattr__)
    names, copier = list(example.__dict__), _attributes(kind, frozen)
    return _generated(kind, names, copier) if _can_generate(kind, names) else copier


def _slots_of(base: type) -> list[str]:
    slots = base.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    hidden = base.__name__.lstrip("_")
    return [
        f"_{hidden}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
        if name not in ("__dict__", "__weakref__")
    ]
