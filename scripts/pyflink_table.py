"""Keep the PyFlink compatibility table, the code and the documentation in step.

Scurry promises that a PyFlink program runs after a change of its imports. How far that promise
reaches is data: `docs/reference/pyflink/` holds one TOML file per PyFlink module, and in it one
entry per public class, constructor, method, property, constant and re-exported name, with the
parameters PyFlink gives it. An entry has one of three statuses:

- `supported`: the same path exists below `scurry` and takes the same call;
- `notimpl`: not yet, or not yet with the same parameters (`difference` says what is missing);
- `never`: it will not come, and `reason` says why.

`supported`, `notimpl` and `difference` are read off the code; `never` and `reason` are written by
people. A `never` covers what lies below it: mark a class, and its members and re-exports follow.

Usage:
    python scripts/pyflink_table.py          sync, then page (what `make docs` runs)
    python scripts/pyflink_table.py sync     read the statuses off the code
    python scripts/pyflink_table.py page     write docs/reference/pyflink.md
    python scripts/pyflink_table.py dump     list the entries anew from an installed PyFlink,
                                             keeping every status and reason
"""

from __future__ import annotations

import argparse
import ast
import collections
import dataclasses
import enum
import importlib
import inspect
import json
import pkgutil
import sys
import tomllib
from collections.abc import Iterable, Iterator
from inspect import Parameter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "reference" / "pyflink"
PAGE = ROOT / "docs" / "reference" / "pyflink.md"

SUPPORTED, NOTIMPL, NEVER = "supported", "notimpl", "never"
STATUSES = (SUPPORTED, NOTIMPL, NEVER)
CALLABLE_KINDS = ("constructor", "function", "method", "class method", "static method")

JVM_OBJECT = "hands out a JVM object; Scurry has none"
JVM_ARGUMENT = "is made from a JVM object; Scurry has none"

FILE_HEADER = """\
# The public names of pyflink.{module}, one a line; see scripts/pyflink_table.py.
# By hand: status = "never" with its reason. By `make docs`: supported, notimpl, difference.
"""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One public name of a PyFlink module; `name` is the path below the module."""

    name: str
    kind: str
    parameters: tuple[str, ...] = ()
    """As in a stub file: `value`, `limit=...`, `*names`, `**options`; without self and cls."""
    of: str = ""
    """For a re-exported name: where the object is defined."""
    status: str = NOTIMPL
    reason: str = ""
    difference: str = ""


@dataclasses.dataclass(frozen=True)
class Module:
    """The entries of one PyFlink module; `name` is its path below `pyflink`."""

    name: str
    entries: tuple[Entry, ...]


# --- the data files ------------------------------------------------------------------------


def load(directory: Path = DATA) -> list[Module]:
    """Read all modules, in the order of their names."""
    modules = []
    for file in sorted(directory.glob("*.toml"), key=lambda path: path.stem):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        entries = (
            Entry(**{**entry, "parameters": tuple(entry.get("parameters", ()))})
            for entry in content["entries"]
        )
        modules.append(Module(content["module"], tuple(entries)))
    return modules


def save(modules: Iterable[Module], directory: Path = DATA) -> None:
    """Write one file per module and remove the files of modules that are gone."""
    directory.mkdir(parents=True, exist_ok=True)
    written = set()
    for module in modules:
        lines = [FILE_HEADER.format(module=module.name), f"module = {json.dumps(module.name)}"]
        lines += ["entries = [", *(f"  {_inline(entry)}," for entry in module.entries), "]", ""]
        file = directory / f"{module.name}.toml"
        file.write_text("\n".join(lines), encoding="utf-8")
        written.add(file)
    for stale in set(directory.glob("*.toml")) - written:
        stale.unlink()


def _inline(entry: Entry) -> str:
    """An entry as a TOML inline table; JSON writes strings and lists the way TOML reads them."""
    fields = {key: value for key, value in dataclasses.asdict(entry).items() if value}
    if entry.kind in CALLABLE_KINDS:
        fields["parameters"] = entry.parameters
    ordered = [field.name for field in dataclasses.fields(Entry) if field.name in fields]
    return "{ " + ", ".join(f"{key} = {json.dumps(fields[key])}" for key in ordered) + " }"


# --- dump: the public surface of an installed PyFlink --------------------------------------


def dump(known: list[Module]) -> list[Module]:
    """List what PyFlink offers, taking the status and reason of every entry already known."""
    before = {(module.name, entry.name): entry for module in known for entry in module.entries}
    modules = []
    for package in ("pyflink.common", "pyflink.datastream", "pyflink.table"):
        for source in _modules_below(package):
            name = source.__name__.removeprefix("pyflink.")
            entries = tuple(
                _keep_status(entry, before.get((name, entry.name)))
                for entry in _entries_of_module(source)
            )
            if entries:
                modules.append(Module(name, entries))
    return modules


def _keep_status(entry: Entry, before: Entry | None) -> Entry:
    if before is not None:
        return dataclasses.replace(entry, status=before.status, reason=before.reason)
    last = entry.name.rpartition(".")[2]
    if last.startswith(("j_", "to_j_", "get_java")):
        return dataclasses.replace(entry, status=NEVER, reason=JVM_OBJECT)
    if _demands_jvm(entry):
        return dataclasses.replace(entry, status=NEVER, reason=JVM_ARGUMENT)
    return entry


def _modules_below(name: str) -> Iterator[ModuleType]:
    module = importlib.import_module(name)
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not found.name.startswith("_") and found.name != "tests":
            yield from _modules_below(f"{name}.{found.name}")


def _entries_of_module(module: ModuleType) -> Iterator[Entry]:
    constants = _assigned_names(module)
    exported = vars(module) if hasattr(module, "__path__") else getattr(module, "__all__", ())
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        home = getattr(value, "__module__", None)
        if home == module.__name__ and inspect.isclass(value):
            yield from _entries_of_class(name, value)
        elif home == module.__name__ and inspect.isfunction(value):
            yield Entry(name, "function", _stub(inspect.signature(value)))
        elif isinstance(home, str) and home.startswith("pyflink.") and name in exported:
            yield Entry(name, "export", of=f"{home}.{value.__name__}".removeprefix("pyflink."))
        elif name in constants and isinstance(value, int | str | bytes):
            yield Entry(name, "constant")


def _assigned_names(module: ModuleType) -> set[str]:
    """Names given by an assignment in the module's own text, as against imported ones."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    assignments = (node for node in tree.body if isinstance(node, ast.Assign))
    return {
        target.id for node in assignments for target in node.targets if isinstance(target, ast.Name)
    }


def _entries_of_class(path: str, cls: type) -> Iterator[Entry]:
    yield Entry(path, "class")
    members: dict[str, Any] = {}
    for owner in cls.__mro__:
        if owner.__module__.startswith("pyflink."):
            for name, value in vars(owner).items():
                if owner is cls or not inspect.isclass(value):
                    members.setdefault(name, value)
    if not issubclass(cls, enum.Enum) and members.keys() & {"__init__", "__new__"}:
        yield Entry(f"{path}.__init__", "constructor", _stub(inspect.signature(cls)))
    for name, value in members.items():
        if not name.startswith("_"):
            yield from _entries_of_member(f"{path}.{name}", cls, value)


def _entries_of_member(path: str, cls: type, value: Any) -> Iterator[Entry]:
    if inspect.isclass(value):
        yield from _entries_of_class(path, value)
    elif isinstance(value, property):
        yield Entry(path, "property")
    elif isinstance(value, staticmethod):
        yield Entry(path, "static method", _stub(inspect.signature(value.__func__)))
    elif isinstance(value, classmethod):
        yield Entry(path, "class method", _stub(_without_first(value.__func__)))
    elif inspect.isfunction(value):
        yield Entry(path, "method", _stub(_without_first(value)))
    else:
        yield Entry(path, "member" if issubclass(cls, enum.Enum) else "attribute")


def _stub(signature: inspect.Signature) -> tuple[str, ...]:
    """Parameters as written in a stub file; keyword-only ones follow a `*`."""
    bare = [
        Parameter(name, own.kind, default=own.empty if own.default is own.empty else ...)
        for name, own in signature.parameters.items()
    ]
    text = str(inspect.Signature(bare))[1:-1].replace("=Ellipsis", "=...")
    return tuple(text.split(", ")) if text else ()


# --- sync: what of it Scurry has -----------------------------------------------------------


def sync(modules: list[Module]) -> list[Module]:
    """Read every status off the code; an entry that is `never` stays so, with all below it."""
    never = {
        f"{module.name}.{entry.name}": entry.reason
        for module in modules
        for entry in module.entries
        if entry.status == NEVER
    }
    return [
        Module(
            module.name, tuple(_read_status(module.name, entry, never) for entry in module.entries)
        )
        for module in modules
    ]


def _read_status(module: str, entry: Entry, never: dict[str, str]) -> Entry:
    path = entry.of or f"{module}.{entry.name}"
    while path:
        if path in never:
            reason = entry.reason or never[path]
            return dataclasses.replace(entry, status=NEVER, reason=reason, difference="")
        path = path.rpartition(".")[0]
    resolved, difference = resolve(module, entry)
    status = SUPPORTED if resolved else NOTIMPL
    return dataclasses.replace(entry, status=status, difference=difference)


def resolve(module: str, entry: Entry, package: str = "scurry") -> tuple[bool, str]:
    """Whether a program may use the entry with `package`, and what it should know about it.

    The text is empty where the entry is missing altogether or behaves the same.
    """
    owner: Any = import_if_present(f"{package}.{module}")
    *classes, last = entry.name.split(".")
    for name in classes:
        if hasattr(type(owner), "__unavailable__"):
            return False, ""
        owner = getattr(owner, name, None)
    if isinstance(owner, ModuleType):
        return _resolve_in_module(entry, getattr(owner, last, None), package)
    if not inspect.isclass(owner) or hasattr(type(owner), "__unavailable__"):
        return False, ""
    if last == "__init__":
        if hasattr(owner.__init__, "__unavailable__"):
            return False, ""
        return _compare_call(entry, inspect.signature(owner))
    return _resolve_in_class(entry, owner, last)


def _resolve_in_module(entry: Entry, value: Any, package: str) -> tuple[bool, str]:
    if value is None:
        return False, ""
    if entry.kind == "function":
        return _compare_call(entry, inspect.signature(value))
    if hasattr(type(value), "__unavailable__"):
        return False, type(value).__unavailable__
    if entry.kind == "export":
        home, _, name = entry.of.rpartition(".")
        defined = getattr(import_if_present(f"{package}.{home}"), name, value)
        return (True, "") if defined is value else (False, f"is not the one of `{entry.of}`")
    if entry.kind == "class" and not inspect.isclass(value):
        return False, "is not a class"
    return True, ""


def _resolve_in_class(entry: Entry, owner: type, name: str) -> tuple[bool, str]:
    if entry.kind == "member" and issubclass(owner, enum.Enum):
        return name in owner.__members__, ""
    defining = [cls for cls in owner.__mro__ if name in vars(cls)]
    if not defining:
        annotated = any(name in inspect.get_annotations(cls) for cls in owner.__mro__)
        return annotated and entry.kind in ("property", "attribute"), ""
    value = vars(defining[0])[name]
    on_class = isinstance(value, classmethod | staticmethod)
    if entry.kind not in CALLABLE_KINDS:
        if entry.kind != "class" and (on_class or isinstance(value, FunctionType)):
            return False, f"is a method, not a {entry.kind}"
        return True, ""
    if not on_class and not isinstance(value, FunctionType):
        return False, "is not a method"
    if entry.kind != "method" and not on_class:
        return False, f"is a method of the object, not a {entry.kind}"
    signature = inspect.signature(getattr(owner, name)) if on_class else _without_first(value)
    return _compare_call(entry, signature)


def import_if_present(name: str) -> ModuleType | None:
    """The module, or None where its package has none of that name; other failures are raised."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if "." in (error.name or "") and f"{name}.".startswith(f"{error.name}."):
            return None
        raise


def _without_first(function: Any) -> inspect.Signature:
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


# --- parameters ----------------------------------------------------------------------------


def _is_jvm(text: str) -> bool:
    return text.lstrip("_").startswith(("j_", "java_"))


def _demands_jvm(entry: Entry) -> bool:
    return any(_is_jvm(text) and "=" not in text for text in entry.parameters)


def _compare_call(entry: Entry, ours: inspect.Signature) -> tuple[bool, str]:
    """Compare what Scurry takes with the entry's parameters, leaving out those for JVM objects."""
    if _demands_jvm(entry):
        return False, ""
    left_out = [text.removesuffix("=...") for text in entry.parameters if _is_jvm(text)]
    theirs = parse([text for text in entry.parameters if not _is_jvm(text)])
    difference = first_difference(theirs, list(ours.parameters.values()))
    if difference:
        return False, difference
    return True, "; ".join(f"without `{name}`, a JVM object" for name in left_out)


def parse(texts: Iterable[str]) -> list[Parameter]:
    """The parameters that stub texts stand for."""
    parameters = []
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    for text in texts:
        if text.startswith("**"):
            parameters.append(Parameter(text[2:], Parameter.VAR_KEYWORD))
        elif text.startswith("*"):
            kind = Parameter.KEYWORD_ONLY
            if text != "*":
                parameters.append(Parameter(text[1:], Parameter.VAR_POSITIONAL))
        else:
            default = ... if text.endswith("=...") else Parameter.empty
            parameters.append(Parameter(text.removesuffix("=..."), kind, default=default))
    return parameters


def first_difference(theirs: list[Parameter], ours: list[Parameter]) -> str:
    """What breaks first when a call written for `theirs` meets `ours`; empty if nothing does."""
    kinds = {parameter.kind for parameter in ours}
    positional = [p for p in ours if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = {p.name: p for p in ours if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    position = 0
    for parameter in theirs:
        if parameter.kind is Parameter.VAR_POSITIONAL:
            if parameter.kind not in kinds or len(positional) > position:
                return f"takes no `*{parameter.name}`"
        elif parameter.kind is Parameter.VAR_KEYWORD:
            if parameter.kind not in kinds:
                return f"takes no `**{parameter.name}`"
        elif parameter.name not in by_name:
            if Parameter.VAR_KEYWORD not in kinds or (
                parameter.kind is not Parameter.KEYWORD_ONLY and position < len(positional)
            ):
                return f"takes no `{parameter.name}`"
        elif by_name[parameter.name].default is Parameter.empty is not parameter.default:
            return f"demands `{parameter.name}`"
        if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            if position < len(positional):
                if positional[position].name != parameter.name:
                    return f"takes `{parameter.name}` in another position"
            elif Parameter.VAR_POSITIONAL not in kinds:
                return f"takes `{parameter.name}` by its name only"
            position += 1
    names = {parameter.name for parameter in theirs}
    for own in ours:
        variable = own.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if own.default is Parameter.empty and not variable and own.name not in names:
            return f"demands `{own.name}`"
    return ""


# --- page: the documentation ---------------------------------------------------------------

INTRODUCTION = """\
<!-- Written by scripts/pyflink_table.py from docs/reference/pyflink/*.toml; do not edit. -->

# PyFlink compatibility

A PyFlink program becomes a Scurry program when `pyflink` becomes `scurry` in its imports. This page
says how far that holds: it lists every public name of `pyflink.common`, `pyflink.datastream` and
`pyflink.table`, as PyFlink 2.3 defines them, and what Scurry makes of it.

| status | meaning |
|---|---|
| supported | the same path exists in Scurry and takes every call that PyFlink's takes |
| notimpl | planned; the note says what differs, if the name exists already |
| never | will not come; the note says why |

`...` stands for a default value. What a class inherits is listed with it. The table is held to
the code by a test, so an entry here is neither ahead of the code nor behind it.

Defaults, the classes that a class extends, operators and protocols, values of enumerations and what
a subclass has to implement are compared by `scripts/pyflink_classes.py`; what differs on purpose is
in `tests/contract/pyflink_differences.toml`, with reasons. Programs that PyFlink has run, and that
print the same here, are in `tests/pyflink/programs`.

## Summary

{left}
"""


def page(modules: list[Module]) -> str:
    """The whole documentation page."""
    parts = [INTRODUCTION.format(left=_left(modules)), _summary(modules), _reasons(modules)]
    parts += [_section(module) for module in modules]
    return "\n".join(parts)


def _summary(modules: list[Module]) -> str:
    lines = ["| module | supported | notimpl | never |", "|---|---:|---:|---:|"]
    for module in modules:
        anchor = module.name.replace(".", "")
        lines.append(f"| [`{module.name}`](#{anchor}) | {_counts(module.entries)} |")
    everything = [entry for module in modules for entry in module.entries]
    lines.append(f"| **all** | {_counts(everything)} |")
    return "\n".join(lines) + "\n"


def _left(modules: list[Module]) -> str:
    """How many names there are, and how many are left."""
    statuses = [entry.status for module in modules for entry in module.entries]
    missing = [
        (module, entry)
        for module in modules
        for entry in module.entries
        if entry.status != SUPPORTED and "." not in entry.name
    ]
    planned = sum(entry.status == NOTIMPL for _, entry in missing)
    return (
        f"Of {len(statuses)} names {statuses.count(SUPPORTED)} are supported. "
        f"{statuses.count(NOTIMPL)} are still to come and {statuses.count(NEVER)} never will. Of "
        f"those to come, {planned} are classes of planned connectors: they can be imported, and "
        "whoever uses one is told what to do meanwhile. Of those that never will, "
        f"{len(missing) - planned} are names of modules, inner parts that no program imports. The "
        "others are members of these, or of classes that are there."
    )


def _reasons(modules: list[Module]) -> str:
    """What is left and why, the most frequent reason first."""
    counts = collections.Counter(
        _why(module, entry)
        for module in modules
        for entry in module.entries
        if entry.status != SUPPORTED
    )
    lines = ["## What is left, and why", "", "| names | status | why |", "|---:|---|---|"]
    for (status, why), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"| {count} | {status} | {why} |")
    return "\n".join(lines) + "\n"


def _why(module: Module, entry: Entry) -> tuple[str, str]:
    if entry.status == NEVER:
        return NEVER, entry.reason
    home = entry.of.rpartition(".")[0] or module.name
    return NOTIMPL, entry.difference or f"to come, with `{home}`"


def _counts(entries: Iterable[Entry]) -> str:
    statuses = [entry.status for entry in entries]
    return " | ".join(str(statuses.count(status)) for status in STATUSES)


def _section(module: Module) -> str:
    lines = [f"## {module.name}", "", "| name | parameters | status | note |", "|---|---|---|---|"]
    for entry in module.entries:
        if entry.kind in CALLABLE_KINDS:
            parameters = f"`({', '.join(entry.parameters)})`"
        else:
            parameters = entry.kind
        target = f"`{entry.of}`" if entry.of else ""
        note = "; ".join(filter(None, (target, entry.reason, entry.difference)))
        lines.append(f"| `{entry.name}` | {parameters} | {entry.status} | {note} |")
    return "\n".join(lines) + "\n"


# --- the command ---------------------------------------------------------------------------


def contradictions(modules: list[Module]) -> list[str]:
    """Entries that people marked `never` and that exist all the same."""
    return [
        f"{module.name}.{entry.name}"
        for module in modules
        for entry in module.entries
        if entry.status == NEVER and resolve(module.name, entry)[0]
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run one step, or sync and page when none is named."""
    parser = argparse.ArgumentParser(description="Keep the PyFlink compatibility table.")
    parser.add_argument("step", nargs="?", choices=("dump", "sync", "page"))
    step = parser.parse_args(arguments).step
    if step == "dump":
        save(dump(load(DATA)), DATA)
        return 0
    modules = load(DATA)
    wrong: list[str] = []
    if step != "page":
        modules = sync(modules)
        save(modules, DATA)
        wrong = contradictions(modules)
    if step != "sync":
        PAGE.write_text(page(modules), encoding="utf-8")
    for path in wrong:
        print(
            f"scurry.{path} exists, but the table marks it never: delete that status and reason "
            f"in {DATA.relative_to(ROOT)}, or the name in the code",
            file=sys.stderr,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
