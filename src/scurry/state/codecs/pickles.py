"""Pickles that outlive the class they were made from.

A plain pickle of a dataclass is an image of its attributes: a field that the class gains later is
missing from old instances, one that it lost is still there. Here a dataclass is pickled as its
class and its named fields, and built anew from them when it is read: new fields get their defaults,
lost ones are dropped, and a whole number becomes a float where the class now says so.

Classes of the program that no module offers (defined within a function) are named, as
:mod:`scurry.common.program_classes` tells. Others travel by value. When the program knows a class
of that name by then, it is used instead of the one in the pickle.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any

from scurry.common.errors import StateError
from scurry.common.pickling import ProgramPickler
from scurry.common.program_classes import by_name, find_known, is_known, known_class

_NO_DEFAULT: Any = object()
_NOT_A_USERS = frozenset({"builtins", "abc", __name__})


class Shape:
    """A dataclass as state sees it: names, types and defaults of its fields."""

    def __init__(self, cls: type[Any]) -> None:
        fields = dataclasses.fields(cls)
        self.cls = cls
        self.names = tuple(field.name for field in fields)
        self.defaults = {field.name: _default_of(field) for field in fields}
        self._plans: dict[tuple[str, ...], list[tuple[int, str, bool]]] = {}
        hints = hints_of(cls)
        self._floats = {name for name in self.names if hints.get(name) is float}

    def build(self, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
        """An instance out of stored fields."""
        plan = self._plans.get(names)
        if plan is None:
            plan = self._plans[names] = self._plan(names)
        made = object.__new__(self.cls)
        put = object.__setattr__
        for at, name, is_float in plan:
            value = self.defaults[name]() if at < 0 else values[at]
            put(made, name, float(value) if is_float and type(value) is int else value)
        return made

    def _plan(self, names: tuple[str, ...]) -> list[tuple[int, str, bool]]:
        plan = []
        for name in self.names:
            at = names.index(name) if name in names else -1
            if at < 0 and self.defaults[name] is _NO_DEFAULT:
                raise StateError(
                    f"{self.cls.__qualname__} has a field {name!r} without a default, which "
                    f"stored instances lack (they have {', '.join(names)}). Give it a default."
                )
            plan.append((at, name, name in self._floats))
        return plan


def _default_of(field: dataclasses.Field[Any]) -> Callable[[], Any]:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    if field.default is not dataclasses.MISSING:
        return lambda: field.default
    return typing.cast(Callable[[], Any], _NO_DEFAULT)


def has_default(shape: Shape, name: str) -> bool:
    """Whether instances that lack a field can be built."""
    return shape.defaults[name] is not _NO_DEFAULT


def hints_of(cls: type[Any]) -> Mapping[str, Any]:
    """The annotations of a class, as far as they can be told."""
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError, AttributeError):
        return {}


_shapes: dict[type, Shape | None] = {}
#: classes that no module offers, by name: the latest that this process has written
_latest: dict[tuple[str, str], type] = {}


def shape_of(cls: type[Any]) -> Shape | None:
    """The shape of a dataclass, None for any class that says itself how it is pickled."""
    if cls not in _shapes:
        _shapes[cls] = Shape(cls) if _is_its_fields(cls) else None
        if find_class(cls.__module__, cls.__qualname__) is not cls:
            _latest[cls.__module__, cls.__qualname__] = cls
    return _shapes[cls]


def _is_its_fields(cls: type[Any]) -> bool:
    if not dataclasses.is_dataclass(cls):
        return False
    for special in ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"):
        own = getattr(cls, special, None)
        given = getattr(object, special, None)
        if own is not given and getattr(own, "__module__", "") != "dataclasses":
            return False
    return True


def find_class(module: str, qualname: str) -> Any:
    """What a module, or else the program, offers under that name, None if nothing."""
    found: Any = sys.modules.get(module)
    if found is None:
        try:
            found = __import__(module, fromlist=["*"])
        except ImportError:
            return find_known(module, qualname)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return find_known(module, qualname) if found is None else found


def rebuild(cls: type[Any], names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """An instance of a dataclass out of stored fields; pickles call this."""
    known = _latest.get((cls.__module__, cls.__qualname__), cls)
    shape = shape_of(known)
    if shape is None:
        raise StateError(
            f"Instances of {cls.__qualname__} were stored as a dataclass's fields, and the class "
            "can no longer be made from them: it is no dataclass any more, or has pickling "
            "methods of its own. Change it back."
        )
    return shape.build(names, values)


def _reduced(value: Any, seen: set[type]) -> Any:
    cls = type(value)
    if isinstance(value, type):
        nested = "." in value.__qualname__
        return by_name(value) if nested and is_known(value) else NotImplemented
    shape = shape_of(cls)
    if shape is None:
        return NotImplemented
    seen.add(cls)
    held = getattr(value, "__dict__", None)
    if held is not None and len(held) > len(shape.names):
        return NotImplemented
    try:
        fields = tuple(getattr(value, name) for name in shape.names)
    except AttributeError:
        return NotImplemented
    return rebuild, (cls, shape.names, fields)


class _ByReference(pickle.Pickler):
    def __init__(self, file: io.BytesIO, seen: set[type]) -> None:
        super().__init__(file, protocol=5)
        self._seen = seen

    def reducer_override(self, value: Any) -> Any:
        # of a class that is a value its metaclass is not looked for again
        if not isinstance(value, type) and type(value).__module__ not in _NOT_A_USERS:
            self._seen.add(type(value))
        return _reduced(value, self._seen)


class _ByValue(ProgramPickler):
    def __init__(self, file: io.BytesIO, seen: set[type]) -> None:
        super().__init__(file)
        self._seen = seen

    def reducer_override(self, value: Any) -> Any:
        reduced = _reduced(value, self._seen)
        return super().reducer_override(value) if reduced is NotImplemented else reduced


def dumps(value: Any, seen: set[type]) -> bytes:
    """``value`` as a pickle; the classes of what it is made of are added to ``seen``."""
    file, met = io.BytesIO(), set[type]()
    try:
        _ByReference(file, met).dump(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        file, met = io.BytesIO(), set[type]()
        _ByValue(file, met).dump(value)
    seen |= met
    return file.getvalue()


class _Gone:
    """Stands for a class that the program no longer has."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state if isinstance(state, dict) else {"state": state})


class _PlainUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, fields: type[dict[str, Any]]) -> None:
        super().__init__(file)
        self._fields = fields

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name == "rebuild":
            return lambda cls, names, values: self._fields(zip(names, values, strict=True))
        if module == known_class.__module__ and name == known_class.__name__:
            return lambda module, qualname: find_known(module, qualname) or _Gone
        found = find_class(module, name)
        return _Gone if found is None else found


def loads_plain(data: bytes | memoryview, fields: type[dict[str, Any]] = dict) -> Any:
    """A pickle's value with dataclasses as dicts of their fields, of the class ``fields``; for
    migrations, and for who reads state without the program."""
    return _PlainUnpickler(io.BytesIO(data), fields).load()
