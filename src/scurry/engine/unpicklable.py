"""Pickling a job, and finding out what in it cannot be pickled.

Operators run in other processes, so everything that their functions use is pickled. A lock, a
socket, an open file or a database connection cannot be, and what pickle says of it names neither
the operator nor the variable. So if a job cannot be pickled, each operator is tried alone, and the
parts of the one that fails, down to the part that has no failing part of its own.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Iterator
from typing import Any

from scurry.common.errors import ProgramError, cause_to_show
from scurry.common.pickling import dumps_program
from scurry.common.program_classes import PickledProgram
from scurry.runtime.specs import JobSpec, OperatorSpec, SourceSpec

_DEPTH = 40
#: A part of something: what it is called, and the part itself.
_Part = tuple[str, Any]


def pickled(job: JobSpec) -> PickledProgram:
    """``job`` as bytes, with the classes it defines; raises :class:`ProgramError` that names what
    cannot be pickled."""
    try:
        content, classes = dumps_program(job)
    except Exception as failure:
        raise _refusal(job, failure) from cause_to_show(failure)
    return PickledProgram.of(content, classes)


def _refusal(job: JobSpec, failure: Exception) -> ProgramError:
    parts: list[OperatorSpec | SourceSpec] = [*job.operators.values(), *job.sources]
    for part in parts:
        if _fails(part):
            where = f", {part.location}" if isinstance(part, OperatorSpec) else ""
            return ProgramError(
                f"The operator {part.name!r} (uid {part.uid!r}{where}) cannot be sent to the "
                f"workers: {_culprit(part)}, which cannot be pickled. Make it in the function's "
                "open() method, or inside the function, so that each worker has its own."
            )
    return ProgramError(f"The job {job.name!r} cannot be sent to the workers: {failure}.")


def _culprit(part: Any) -> str:
    """What in ``part`` cannot be pickled, in words."""
    names: list[str] = []
    seen = {id(part)}
    for _ in range(_DEPTH):
        ahead = ((name, child) for name, child in _parts(part) if id(child) not in seen)
        found = next(((name, child) for name, child in ahead if _fails(child)), None)
        if found is None:
            break
        name, part = found
        seen.add(id(part))
        # an item of what only the engine holds is not the user's to look for
        if name and (names or not name.startswith("item ")):
            names.append(name)
    kind = type(part).__qualname__
    module = type(part).__module__
    shown = kind if module == "builtins" else f"{module}.{kind}"
    path = " of ".join(reversed(names))
    return f"the {path} is a {shown}" if path else f"it holds a {shown}"


def _fails(value: Any) -> bool:
    try:
        dumps_program(value)
    except Exception:
        return True
    return False


def _parts(value: Any) -> Iterator[_Part]:
    """What is pickled with ``value``; parts of the engine's own objects have no names."""
    if isinstance(value, types.FunctionType):
        yield from _used_by(value)
    elif isinstance(value, types.MethodType):
        yield from (("", value.__self__), ("", value.__func__))
    elif isinstance(value, functools.partial):
        parts = (value.func, *value.args, *value.keywords.values())
        yield from (("", part) for part in parts)
    elif isinstance(value, (list, tuple, set, frozenset)):
        own = hasattr(value, "_fields")
        yield from (("" if own else f"item {at}", part) for at, part in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"item {key!r}", part) for key, part in value.items())
    elif isinstance(value, type):
        methods = (part for part in vars(value).values() if isinstance(part, types.FunctionType))
        yield from (("", method) for method in methods)
    else:
        yield from _attributes(value)


def _used_by(function: types.FunctionType) -> Iterator[_Part]:
    """The variables of the surroundings that a function uses, and its defaults."""
    code = function.__code__
    where = f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        yield f"variable {name!r} of {where}", cell.cell_contents
    for name in sorted(set(_global_names(code))):
        if name in function.__globals__:
            yield f"variable {name!r} of {where}", function.__globals__[name]
    yield from ((f"default of {where}", default) for default in function.__defaults__ or ())


def _global_names(code: types.CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _attributes(value: Any) -> Iterator[_Part]:
    kind = type(value)
    ours = kind.__module__.startswith("scurry.")
    for name, part in getattr(value, "__dict__", {}).items():
        yield "" if ours else f"attribute {name!r} of {kind.__qualname__}", part
    yield "", kind
