"""Compare what `inspect` knows of PyFlink's classes and calls with Scurry's.

`scripts/pyflink_table.py` keeps which names there are and which parameters they take. This script
keeps the rest of what a program can depend on without running a job: the classes a class extends
(for `isinstance`), the operators and protocols a class takes part in (`str`, `==`, `len`, `in`,
`+`, ...), the members of enumerations with their values, the values of defaults, whether a property
can be set, and what a user has to implement in a subclass.

`tests/contract/pyflink_classes.json` holds it, recorded from PyFlink;
`tests/contract/pyflink_differences.toml` names every deliberate difference, with its reason.

Usage:
    /path/to/python-with-pyflink scripts/pyflink_classes.py record
    python scripts/pyflink_classes.py          print the differences that nobody has explained
"""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "contract" / "pyflink_classes.json"
DIFFERENCES = ROOT / "tests" / "contract" / "pyflink_differences.toml"
PACKAGES = ("common", "datastream", "table", "metrics", "util")

#: What Python calls for syntax and built-in functions; `__ne__` follows from `__eq__`.
_WORDS = """
    str repr eq hash len iter next getitem setitem delitem contains call enter exit bool lt le gt ge
    add sub mul truediv mod neg pos abs pow and or xor invert radd rsub rmul rtruediv rmod rpow rand
    ror getattr reversed
"""
PROTOCOLS = frozenset(f"__{word}__" for word in _WORDS.split())
Facts = dict[str, Any]


def record(package: str = "pyflink") -> dict[str, Facts]:
    """The facts of every public class and call, by the path below the package."""
    facts: dict[str, Facts] = {}
    for part in PACKAGES:
        for module in modules_below(f"{package}.{part}"):
            for name, value in vars(module).items():
                if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__:
                    path = f"{module.__name__.removeprefix(package + '.')}.{name}"
                    facts.update(facts_of(path, value, package))
    return facts


def modules_below(name: str) -> Iterator[ModuleType]:
    """A module and the public ones in it."""
    module = importlib.import_module(name)
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not found.name.startswith("_") and found.name != "tests":
            yield from modules_below(f"{name}.{found.name}")


def facts_of(path: str, value: Any, package: str) -> Iterator[tuple[str, Facts]]:
    """The facts of a class with its members, or of one call or property."""
    if inspect.isclass(value):
        yield path, facts_of_class(value, package)
        for name, member in members(value, package).items():
            yield from facts_of(f"{path}.{name}", member, package)
    elif isinstance(value, property):
        yield path, {"settable": value.fset is not None}
    elif defaults := defaults_of(getattr(value, "__func__", value), package):
        yield path, {"defaults": defaults}


def facts_of_class(cls: type, package: str) -> Facts:
    """What a class is, apart from its members."""
    own = [base for base in cls.__mro__ if base.__module__.startswith(package)]
    facts: Facts = {
        "extends": [_path(base, package) for base in own[1:]],
        "protocols": sorted({n for base in own for n in vars(base) if n in PROTOCOLS}),
        "hashable": cls.__hash__ is not None,
        "abstract": sorted(getattr(cls, "__abstractmethods__", ())),
    }
    if issubclass(cls, BaseException):
        facts["extends"] += [base.__name__ for base in cls.__mro__ if base.__module__ == "builtins"]
    if issubclass(cls, enum.Enum):
        facts["enumeration"] = {n: _text(m.value, package) for n, m in cls.__members__.items()}
    return facts


def members(cls: type, package: str) -> dict[str, Any]:
    """The public members of a class and its constructor, with what it inherits."""
    found: dict[str, Any] = {}
    for owner in cls.__mro__:
        if owner.__module__.startswith(package):
            for name, value in vars(owner).items():
                public = not name.startswith("_") or name == "__init__"
                if public and (owner is cls or not inspect.isclass(value)):
                    found.setdefault(name, value)
    return found


def defaults_of(function: Any, package: str) -> dict[str, str]:
    """The defaults of a call as text; those that `inspect` cannot read are left out."""
    if not inspect.isfunction(function):
        return {}
    parameters = inspect.signature(function).parameters.values()
    return {p.name: _text(p.default, package) for p in parameters if p.default is not p.empty}


def _text(value: Any, package: str) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)).replace(f"{package}.", "")


def _path(cls: type, package: str) -> str:
    return f"{cls.__module__}.{cls.__qualname__}".removeprefix(f"{package}.")


# --- comparison ----------------------------------------------------------------------------


def differences(recorded: dict[str, Facts], package: str = "scurry") -> dict[str, str]:
    """What a program can notice, by `path aspect`; names that are missing are left to the table."""
    found: dict[str, str] = {}
    for path, facts in recorded.items():
        value = lookup(path, package)
        if value is None or hasattr(type(value), "__unavailable__"):
            continue
        for aspect, text in compare(facts, value, package):
            found[f"{path} {aspect}"] = text
    return found


def lookup(path: str, package: str) -> Any:
    """What is at the path below the package, as its class holds it, or None."""
    *parts, last = path.split(".")
    owner: Any = None
    for end in range(len(parts), 0, -1):
        try:
            owner = importlib.import_module(".".join([package, *parts[:end]]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            owner = None if hasattr(type(owner), "__unavailable__") else getattr(owner, name, None)
        break
    if hasattr(type(owner), "__unavailable__"):
        return None
    if inspect.isclass(owner):
        return next((vars(c)[last] for c in owner.__mro__ if last in vars(c)), None)
    return getattr(owner, last, None)


def compare(facts: Facts, value: Any, package: str) -> Iterator[tuple[str, str]]:
    """The aspects in which a class, a property or a call differs from the facts."""
    if "extends" in facts and inspect.isclass(value):
        yield from compare_class(facts, value, package)
    elif "settable" in facts and isinstance(value, property):
        if facts["settable"] and value.fset is None:
            yield "settable", "cannot be set"
    elif "defaults" in facts:
        ours = defaults_of(getattr(value, "__func__", value), package)
        for name, text in facts["defaults"].items():
            if name in ours and ours[name] != text:
                yield f"default {name}", f"is {ours[name]} instead of {text}"


def compare_class(facts: Facts, cls: type, package: str) -> Iterator[tuple[str, str]]:
    """The aspects in which a class differs."""
    for base in facts["extends"]:
        expected = lookup(base, package) if "." in base else getattr(__import__("builtins"), base)
        if inspect.isclass(expected) and not issubclass(cls, expected):
            yield f"extends {base}", "does not"
    ours = {n for base in cls.__mro__ if base is not object for n in vars(base) if n in PROTOCOLS}
    ours |= {"__str__"} if "__repr__" in ours else set()
    if lacking := [n for n in facts["protocols"] if n not in ours and n != "__hash__"]:
        yield "protocols", f"lacks {' '.join(lacking)}"
    if facts["hashable"] and cls.__hash__ is None:
        yield "hashable", "is not"
    demanded = set(getattr(cls, "__abstractmethods__", ())) - set(facts["abstract"])
    if demanded:
        yield "abstract", f"demands {' '.join(sorted(demanded))}"
    if "enumeration" in facts:
        yield from compare_members(facts["enumeration"], cls, package)


def compare_members(recorded: dict[str, str], cls: type, package: str) -> Iterator[tuple[str, str]]:
    """Members that are missing or have another value."""
    members = getattr(cls, "__members__", {})
    for name, text in recorded.items():
        if name not in members:
            yield f"member {name}", "is missing"
        elif _text(members[name].value, package) != text:
            yield f"member {name}", f"is {_text(members[name].value, package)} instead of {text}"


def main(arguments: list[str]) -> int:
    """Record, or print what differs and is not explained."""
    if arguments == ["record"]:
        text = json.dumps(record(), indent=0, sort_keys=True)
        RECORD.write_text(text + "\n", encoding="utf-8")
        return 0
    found = differences(json.loads(RECORD.read_text(encoding="utf-8")))
    known = explained()
    for what, text in found.items():
        if what not in known:
            print(f"{what}: {text}")
    return 0


def explained() -> dict[str, str]:
    """The deliberate differences: `path aspect`, and why."""
    import tomllib

    reasons = tomllib.loads(DIFFERENCES.read_text(encoding="utf-8"))
    return {what: group["why"] for group in reasons["groups"] for what in group["differences"]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
