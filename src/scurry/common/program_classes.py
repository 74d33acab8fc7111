"""Classes that no module offers: those of a script, of a notebook, or defined inside a function.

A worker cannot import such a class. It comes to the worker by value, inside the pickled job, and
from then on it is one of the *classes of the program*: instances name it by module and qualified
name, which is short, leads to one and the same class wherever they are read, and still leads to it
when the program is started again and reads the state of its last run.

What travels by value are a class's attributes, as :mod:`cloudpickle` does it, with two additions:
what msgspec has left on a class that it has encoded (a cache, which cannot be pickled) is not part
of it, and a :class:`msgspec.Struct` is made anew from its fields and settings, because the layout
of its instances is not among its attributes.
"""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

import msgspec
from cloudpickle import cloudpickle as by_value

from scurry.common.errors import StateError

_CACHE = "__msgspec_cache__"
_POST_INIT = "_post_init_of_program"
#: Settings of a struct that ``__struct_config__`` tells under the names that StructMeta takes.
_SETTINGS = (
    *("frozen", "eq", "order", "array_like", "gc", "repr_omit_defaults", "omit_defaults"),
    *("forbid_unknown_fields", "weakref", "dict", "cache_hash", "tag", "tag_field"),
)
#: What StructMeta makes of a class by itself.
_MADE_ANEW = frozenset(
    {"__module__", "__qualname__", "__annotations__", "__slots__", "__weakref__", "__dict__"}
    | {"__orig_bases__", "__parameters__", "__post_init__", "__match_args__", _CACHE}
)

#: A module, and the qualified name of a class.
Name = tuple[str, str]
#: the classes of the program
_known: dict[Name, type] = {}


def adopt(classes: Iterable[type]) -> dict[Name, type]:
    """Make ``classes``, which leave with a job, classes of the program, and return them by name. Of
    two with one name the one counts that its module has under that name. If there is none, because
    they were made by a function that was called twice, both stay nameless."""
    found: dict[Name, list[type]] = {}
    for cls in dict.fromkeys(classes):
        found.setdefault(_name(cls), []).append(cls)
    chosen = {name: _chosen(name, several) for name, several in found.items()}
    named = {name: cls for name, cls in chosen.items() if cls is not None}
    for name in found:
        _known.pop(name, None)
    _known.update(named)
    return named


def _chosen(name: Name, several: list[type]) -> type | None:
    if len(several) == 1:
        return several[0]
    offered: Any = sys.modules.get(name[0])
    for part in name[1].split("."):
        offered = getattr(offered, part, None)
    return offered if offered in several else None


@dataclass(frozen=True)
class PickledProgram:
    """A program on its way to where it is executed."""

    content: bytes
    #: the ids by which the classes are found that are defined in it
    classes: Mapping[Name, str]

    @classmethod
    def of(cls, content: bytes, classes: Iterable[type]) -> PickledProgram:
        """The program behind ``content``, which defines ``classes``; they are known from now on,
        because what workers send back is read here."""
        named = adopt(classes)
        ids = {name: by_value._get_or_create_tracker_id(each) for name, each in named.items()}
        return cls(content, ids)

    def load(self) -> tuple[Any, list[type]]:
        """The program with functions of its own, and its classes, which are always the same in one
        process."""
        program = pickle.loads(self.content)
        tracked = by_value._DYNAMIC_CLASS_TRACKER_BY_ID
        found = {name: tracked[each] for name, each in self.classes.items() if each in tracked}
        for (_, qualname), each in found.items():
            # cloudpickle keeps the last part only
            each.__qualname__ = qualname
        _known.update(found)
        return program, list(found.values())


def _name(cls: type) -> Name:
    return cls.__module__, cls.__qualname__


def is_known(cls: type) -> bool:
    """Whether ``cls`` is a class of the program."""
    return _known.get(_name(cls)) is cls


def known_class(module: str, qualname: str) -> type:
    """The class of the program with that name; pickles call this."""
    found = _known.get((module, qualname))
    if found is None:
        raise StateError(
            f"The program no longer has the class {qualname} of {module}, of which there are "
            "stored instances. Define it where it was and use it in the job, or give the state's "
            "descriptor a function that converts old values, with migrate_with(...)."
        )
    return found


def find_known(module: str, qualname: str) -> type | None:
    """The same, None if there is none."""
    return _known.get((module, qualname))


def travels_by_value(cls: type) -> bool:
    """Whether ``cls`` is a class of Python code that no module offers under its name."""
    return cls.__module__ != "builtins" and not by_value._should_pickle_by_reference(cls)


def reduced_class(cls: type) -> Any:
    """How a class that travels by value is pickled; NotImplemented leaves it to cloudpickle."""
    if _CACHE in vars(cls):
        type.__delattr__(cls, _CACHE)
    if not isinstance(cls, msgspec.StructMeta) or cls is msgspec.Struct:
        return NotImplemented
    attributes = {name: part for name, part in vars(cls).items() if _is_users(name, part)}
    tracker = by_value._get_or_create_tracker_id(cls)
    post_init: Any = vars(cls).get("__post_init__")
    if post_init is not None:
        attributes[_POST_INIT] = post_init
    skeleton = (tracker, cls.__name__, cls.__bases__, _body(cls), _settings(cls))
    return _make_struct, skeleton, attributes, None, None, _set_attributes


def _is_users(name: str, part: Any) -> bool:
    described = isinstance(part, (MemberDescriptorType, GetSetDescriptorType))
    return name not in _MADE_ANEW and not described


def _body(cls: Any) -> dict[str, Any]:
    """Fields and defaults, as a class statement would have them."""
    own = vars(cls).get("__annotations__", {})
    body: dict[str, Any] = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__annotations__": {name: _annotation(cls, hint) for name, hint in own.items()},
    }
    if "__orig_bases__" in vars(cls):
        body["__orig_bases__"] = vars(cls)["__orig_bases__"]
    if "__post_init__" in vars(cls):
        body["__post_init__"] = _call_post_init
    defaults = cls.__struct_defaults__
    names = cls.__struct_fields__[len(cls.__struct_fields__) - len(defaults) :]
    for name, default in zip(names, defaults, strict=True):
        if name in own and default is not msgspec.NODEFAULT:
            factory = getattr(default, "factory", None)
            body[name] = default if factory is None else _Factory(factory)
    return body


@dataclass
class _Factory:
    """Stands for the default of a field that is made for each instance."""

    make: Callable[[], Any]


def _annotation(cls: type, hint: Any) -> Any:
    """The type behind a hint that is text, which a worker could not make out; unless it is about
    the class itself."""
    if not isinstance(hint, str):
        return hint
    module = sys.modules.get(cls.__module__)
    try:
        found = eval(hint, dict(vars(module)) if module else {}, dict(vars(cls)))
    except Exception:
        return hint
    return hint if cls.__name__ in hint else found


def _settings(cls: Any) -> dict[str, Any]:
    config = cls.__struct_config__
    settings = {name: getattr(config, name) for name in _SETTINGS}
    fields = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    renamed = {name: told for name, told in fields if name != told}
    own = vars(cls).get("__annotations__", {})
    kinds = inspect.signature(cls).parameters
    keyword = [kinds[name].kind is inspect.Parameter.KEYWORD_ONLY for name in own if name in kinds]
    return {**settings, "rename": renamed or None, "kw_only": any(keyword)}


def _call_post_init(self: Any) -> None:
    """Stands for the ``__post_init__`` of a struct that was made anew: msgspec looks for one when
    it makes the class, before the class has its methods."""
    getattr(type(self), _POST_INIT)(self)


def _make_struct(
    tracker: str, name: str, bases: tuple[type, ...], body: dict[str, Any], settings: dict[str, Any]
) -> type:
    known: type | None = by_value._DYNAMIC_CLASS_TRACKER_BY_ID.get(tracker)
    if known is not None:
        return known
    for field, default in body.items():
        if isinstance(default, _Factory):
            body[field] = msgspec.field(default_factory=default.make)
    made = msgspec.StructMeta(name, bases, body, **settings)
    tracked: type = by_value._lookup_class_or_track(tracker, made)
    return tracked


def _set_attributes(cls: type, attributes: dict[str, Any]) -> None:
    for name, part in attributes.items():
        setattr(cls, name, part)


def by_name(cls: type) -> tuple[Callable[[str, str], type], Name]:
    """How a class of the program is pickled."""
    return known_class, _name(cls)
