"""Modules: where functions come from that belong to no catalog.

The module ``core`` has all built-in functions. A module of your own extends :class:`Module` and
gives functions by name; names are looked up in the modules that are in use, in their order, after
temporary system functions and before the functions of the current catalog.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scurry.common.errors import ProgramError
from scurry.common.unavailable import unavailable
from scurry.functions.builtin import BUILT_INS
from scurry.table.catalog.errors import nearest

__all__ = ["CoreModule", "HiveModule", "Module", "ModuleEntry", "Modules"]

CORE = "core"


class Module:
    """Functions by name."""

    def list_functions(self) -> set[str]:
        """The names of its functions, in upper case."""
        return set()

    def get_function_definition(self, name: str) -> Any | None:
        """The function of that name, None if there is none."""
        return None


class CoreModule(Module):
    """The built-in functions."""

    def list_functions(self) -> set[str]:
        return {entry.name for entry in BUILT_INS}


class HiveModule(Module):
    """Hive's functions, which are Java classes: they can be named, and not loaded."""

    __init__ = unavailable(
        "HiveModule", "Hive's functions are Java classes; write those you need with udf"
    )


@dataclass(frozen=True, order=True)
class ModuleEntry:
    """A module that is loaded, and whether it is in use."""

    _name: str
    _used: bool

    def __init__(self, name: str, used: bool) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_used", used)

    def name(self) -> str:
        """The module's name."""
        return self._name

    def used(self) -> bool:
        """Whether functions are looked up in it."""
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"


class Modules:
    """The modules of a table environment."""

    def __init__(self) -> None:
        self._loaded: dict[str, Module] = {CORE: CoreModule()}
        self._used: list[str] = [CORE]

    def load(self, name: str, module: Module) -> None:
        """Load a module and put it in use, behind the others."""
        if not isinstance(module, Module):
            raise ProgramError(f"load_module takes a Module, got {module!r}.")
        if name in self._loaded:
            raise ProgramError(f"A module {name!r} is loaded already: choose another name.")
        self._loaded[name] = module
        self._used.append(name)

    def unload(self, name: str) -> None:
        """Forget a module."""
        if name not in self._loaded:
            raise ProgramError(f"No module {name!r} is loaded. {nearest(name, self._loaded)}")
        del self._loaded[name]
        self._used = [one for one in self._used if one != name]

    def use(self, names: Sequence[str]) -> None:
        """Put just these modules in use, in this order."""
        if not names:
            raise ProgramError("use_modules needs the name of at least one module.")
        for name in names:
            if name not in self._loaded:
                raise ProgramError(f"No module {name!r} is loaded. {nearest(name, self._loaded)}")
        if len(set(names)) != len(names):
            raise ProgramError(f"use_modules names a module twice: {', '.join(names)}.")
        self._used = list(names)

    def used(self) -> list[str]:
        """The modules in use, in order."""
        return list(self._used)

    def entries(self) -> list[ModuleEntry]:
        """All modules that are loaded, those in use first."""
        idle = [name for name in self._loaded if name not in self._used]
        return [ModuleEntry(name, name in self._used) for name in (*self._used, *idle)]

    def functions(self) -> Iterable[str]:
        """The names of the functions of all modules in use."""
        return {name for used in self._used for name in self._loaded[used].list_functions()}

    def find(self, name: str) -> Any | None:
        """A function of a module of the user's, None if none has it."""
        for used in self._used:
            module = self._loaded[used]
            for given in (name, name.upper(), name.lower()):
                found = module.get_function_definition(given)
                if found is not None:
                    return found
        return None

    @property
    def core_in_use(self) -> bool:
        """Whether built-in functions can be called."""
        return CORE in self._used
