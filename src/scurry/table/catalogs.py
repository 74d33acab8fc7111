"""The catalogs of a table environment: which there are, which is current, and what is temporary.

A name of one part is looked up in the current database, of two parts in the current catalog. At
each place temporary objects hide those of the catalog. Temporary objects end with the environment.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scurry.common.errors import ProgramError
from scurry.table.catalog.contract import Catalog
from scurry.table.catalog.errors import (
    CatalogException,
    FunctionNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
    nearest,
)
from scurry.table.catalog.in_memory import GenericInMemoryCatalog
from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.catalog.objects import CatalogBaseTable, CatalogFunction
from scurry.table.module import Modules

__all__ = ["Catalogs", "FoundTable"]


@dataclass(frozen=True)
class FoundTable:
    """A table or view with its whole name."""

    identifier: ObjectIdentifier
    table: CatalogBaseTable
    temporary: bool = False


class Catalogs:
    """Finds, makes and drops what has a name."""

    def __init__(self, catalog: str, database: str) -> None:
        self._catalogs: dict[str, Catalog] = {catalog: GenericInMemoryCatalog(catalog, database)}
        self._options: dict[str, dict[str, str]] = {}
        self._comments: dict[str, str | None] = {}
        self._temporary: dict[ObjectIdentifier, CatalogBaseTable] = {}
        self._functions: dict[ObjectIdentifier, Any] = {}
        self._system_functions: dict[str, Any] = {}
        self.modules = Modules()
        self.builtin_catalog = catalog
        self.current_catalog: str | None = catalog
        self.current_database: str | None = database

    # --- catalogs and databases

    def register(
        self,
        name: str,
        catalog: Catalog,
        options: dict[str, str] | None = None,
        comment: str | None = None,
    ) -> None:
        """Add a catalog."""
        if not isinstance(catalog, Catalog):
            raise ProgramError(f"register_catalog takes a Catalog, got {catalog!r}.")
        if name in self._catalogs:
            raise CatalogException(f"There is a catalog {name!r} already: choose another name.")
        catalog.open()
        self._catalogs[name] = catalog
        self._options[name], self._comments[name] = dict(options or {}), comment

    def set_catalog(
        self, name: str, catalog: Catalog, options: dict[str, str], comment: str | None
    ) -> None:
        """Put a catalog in the place of one, or change what is known of it."""
        held = self.catalog(name)
        if catalog is not held:
            catalog.open()
            held.close()
        self._catalogs[name] = catalog
        self._options[name], self._comments[name] = options, comment

    def drop_catalog(self, name: str, ignore_if_not_exists: bool) -> None:
        """Close a catalog and forget it; what it keeps elsewhere stays."""
        if name not in self._catalogs and ignore_if_not_exists:
            return
        catalog = self.catalog(name)
        if name == self.current_catalog:
            raise CatalogException(
                f"The catalog {name!r} is the current one and cannot be dropped: USE another first."
            )
        catalog.close()
        del self._catalogs[name]

    def catalog(self, name: str) -> Catalog:
        """A catalog by name; raises if there is none."""
        found = self._catalogs.get(name)
        if found is None:
            raise CatalogException(f"There is no catalog {name!r}. {nearest(name, self._catalogs)}")
        return found

    def find_catalog(self, name: str) -> Catalog | None:
        """A catalog by name, None if there is none."""
        return self._catalogs.get(name)

    def catalog_options(self, name: str) -> dict[str, str]:
        """The options that a catalog was created with."""
        self.catalog(name)
        return dict(self._options.get(name, {}))

    def catalog_comment(self, name: str) -> str | None:
        """The comment that a catalog was created with."""
        return self._comments.get(name)

    def list_catalogs(self) -> list[str]:
        """The names of all catalogs."""
        return sorted(self._catalogs)

    def use_catalog(self, name: str) -> None:
        """Make a catalog the current one, with its default database; if it is so already, the
        current database stays."""
        catalog = self.catalog(name)
        if name != self.current_catalog:
            self.current_database = catalog.get_default_database()
        self.current_catalog = name

    def use_database(self, *names: str) -> None:
        """Make a database the current one: of the current catalog, or ``catalog.database``."""
        catalog = names[0] if len(names) == 2 else self._current()[0]
        self.catalog(catalog).get_database(names[-1])
        self.current_catalog, self.current_database = catalog, names[-1]

    def _current(self) -> tuple[str, str]:
        if self.current_catalog is None or self.current_database is None:
            raise CatalogException("There is no current database: USE one first.")
        return self.current_catalog, self.current_database

    def qualify(self, names: Sequence[str]) -> ObjectIdentifier:
        """The whole name of an object."""
        if not 1 <= len(names) <= 3 or not all(names):
            raise ProgramError(
                f"The name of an object has one to three parts, got {'.'.join(names)!r}."
            )
        missing = 3 - len(names)
        front = self._current()[:missing] if missing else ()
        return ObjectIdentifier(*front, *names)

    def database_names(self, names: Sequence[str]) -> tuple[str, str]:
        """The catalog and database of a name of one or two parts; the current ones for none."""
        catalog, database = self._current()
        if not names:
            return catalog, database
        return (names[0], names[1]) if len(names) == 2 else (catalog, names[0])

    # --- tables and views

    def find_table(self, names: Sequence[str]) -> FoundTable | None:
        """A table or view, None if there is none."""
        identifier = self.qualify(names)
        if identifier in self._temporary:
            return FoundTable(identifier, self._temporary[identifier], temporary=True)
        catalog = self._catalogs.get(identifier.catalog_name)
        path = identifier.to_object_path()
        if catalog is None or not catalog.database_exists(path.database_name):
            return None
        if not catalog.table_exists(path):
            return None
        return FoundTable(identifier, catalog.get_table(path))

    def table(self, names: Sequence[str]) -> FoundTable:
        """A table or view; raises, with the nearest names, if there is none."""
        found = self.find_table(names)
        if found is None:
            raise TableNotExistException(
                f"There is no table or view {'.'.join(names)!r}. "
                + nearest(names[-1], self.known_tables(names))
            )
        return found

    def known_tables(self, names: Sequence[str]) -> list[str]:
        """The tables and views of the database that a name is about."""
        identifier = self.qualify(names)
        catalog = self._catalogs.get(identifier.catalog_name)
        if catalog is None or not catalog.database_exists(identifier.database_name):
            return []
        return self.list_tables(identifier.catalog_name, identifier.database_name)

    def create_table(
        self,
        identifier: ObjectIdentifier,
        table: CatalogBaseTable,
        temporary: bool = False,
        ignore_if_exists: bool = False,
    ) -> bool:
        """Make a table or view; False if there is one already and that is all right."""
        if not temporary:
            catalog = self.catalog(identifier.catalog_name)
            there = catalog.table_exists(identifier.to_object_path())
            catalog.create_table(identifier.to_object_path(), table, ignore_if_exists)
            return not there
        if identifier in self._temporary:
            if ignore_if_exists:
                return False
            raise TableAlreadyExistException(
                f"There is a temporary table or view {identifier.as_summary_string()} already: "
                "drop it, or choose another name."
            )
        self._temporary[identifier] = table
        return True

    def alter_table(self, identifier: ObjectIdentifier, table: CatalogBaseTable) -> None:
        """Replace a table or view, temporary or not."""
        if identifier in self._temporary:
            self._temporary[identifier] = table
        else:
            path = identifier.to_object_path()
            self.catalog(identifier.catalog_name).alter_table(path, table, False)

    def rename_table(self, identifier: ObjectIdentifier, name: str) -> None:
        """Rename a table or view within its database."""
        target = ObjectIdentifier(identifier.catalog_name, identifier.database_name, name)
        if identifier in self._temporary:
            self.create_table(target, self._temporary[identifier], temporary=True)
            del self._temporary[identifier]
        else:
            path = identifier.to_object_path()
            self.catalog(identifier.catalog_name).rename_table(path, name, False)

    def drop_temporary(self, names: Sequence[str], kind: str) -> bool:
        """Drop a temporary table or view; False if there is none."""
        identifier = self.qualify(names)
        found = self._temporary.get(identifier)
        if found is None or found.kind != kind:
            return False
        del self._temporary[identifier]
        return True

    def drop_table(self, names: Sequence[str], kind: str, ignore_if_not_exists: bool) -> bool:
        """Drop a table or view of a catalog; False if there is none and that is all right."""
        identifier = self.qualify(names)
        if identifier in self._temporary:
            raise CatalogException(
                f"There is a temporary {self._temporary[identifier].kind.lower()} "
                f"{identifier.as_summary_string()}, which hides that of the catalog: DROP "
                f"TEMPORARY {kind} it first."
            )
        found = self.find_table(names)
        if found is None or found.table.kind != kind:
            if ignore_if_not_exists:
                return False
            what = (
                f"It is a {found.table.kind}."
                if found
                else nearest(names[-1], self.known_tables(names))
            )
            raise TableNotExistException(f"There is no {kind.lower()} {'.'.join(names)!r}. {what}")
        path = identifier.to_object_path()
        self.catalog(identifier.catalog_name).drop_table(path, False)
        return True

    def list_tables(self, catalog: str, database: str) -> list[str]:
        """The names of all tables and views of a database, temporary ones included."""
        names = set(self.catalog(catalog).list_tables(database))
        return sorted(names | set(self.list_temporary(catalog, database)))

    def list_views(self, catalog: str, database: str) -> list[str]:
        """The names of all views of a database, temporary ones included."""
        names = set(self.catalog(catalog).list_views(database))
        return sorted(names | set(self.list_temporary(catalog, database, "VIEW")))

    def list_temporary(self, catalog: str, database: str, kind: str | None = None) -> list[str]:
        """The names of the temporary tables and views of a database."""
        return sorted(
            identifier.object_name
            for identifier, table in self._temporary.items()
            if (identifier.catalog_name, identifier.database_name) == (catalog, database)
            and kind in (None, table.kind)
            and not identifier.object_name.startswith("UnnamedTable$")
        )

    # --- functions

    def create_system_function(self, name: str, function: Any, ignore: bool = False) -> None:
        """Register a function of the user's under a name of one part."""
        if name.lower() in self._system_functions and not ignore:
            raise CatalogException(f"There is a temporary system function {name!r} already.")
        self._system_functions[name.lower()] = function

    def drop_system_function(self, name: str) -> bool:
        """Forget such a function; False if there is none."""
        return self._system_functions.pop(name.lower(), None) is not None

    def create_temporary_function(
        self, names: Sequence[str], function: Any, ignore: bool = False
    ) -> None:
        """Register a function of the user's in a database, for as long as the environment lives."""
        identifier = self._function_name(names)
        if identifier in self._functions and not ignore:
            raise CatalogException(f"There is a temporary function {'.'.join(names)!r} already.")
        self._functions[identifier] = function

    def drop_temporary_function(self, names: Sequence[str]) -> bool:
        """Forget such a function; False if there is none."""
        return self._functions.pop(self._function_name(names), None) is not None

    def create_function(
        self, names: Sequence[str], function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        """Add a function to a catalog."""
        identifier = self._function_name(names)
        load_function(function)
        path = identifier.to_object_path()
        self.catalog(identifier.catalog_name).create_function(path, function, ignore_if_exists)

    def drop_function(self, names: Sequence[str], ignore_if_not_exists: bool) -> bool:
        """Remove a function of a catalog; False if there is none and that is all right."""
        identifier = self._function_name(names)
        if identifier in self._functions:
            raise CatalogException(
                f"There is a temporary function {'.'.join(names)!r}, which hides that of the "
                "catalog: DROP TEMPORARY FUNCTION it first."
            )
        catalog = self.catalog(identifier.catalog_name)
        path = identifier.to_object_path()
        if not catalog.function_exists(path):
            if ignore_if_not_exists:
                return False
            raise FunctionNotExistException(
                f"There is no function {'.'.join(names)!r}. "
                + nearest(names[-1].lower(), self.user_functions())
            )
        catalog.drop_function(path, False)
        return True

    def find_function(self, names: Sequence[str]) -> Any | None:
        """A function of the user's, None if there is none: temporary system functions first, then
        those of modules, then temporary ones of the database, then those of its catalog."""
        if len(names) == 1:
            found = self._system_functions.get(names[0].lower()) or self.modules.find(names[0])
            if found is not None:
                return found
        identifier = self._function_name(names)
        if identifier in self._functions:
            return self._functions[identifier]
        catalog = self._catalogs.get(identifier.catalog_name)
        path = identifier.to_object_path()
        if catalog is None or not catalog.function_exists(path):
            return None
        return load_function(catalog.get_function(path))

    def user_functions(self, place: tuple[str, str] | None = None) -> list[str]:
        """The names of all functions of the user's that a name of one part finds in a database,
        the current one unless ``place`` names another."""
        catalog, database = place or self._current()
        names = set(self._system_functions)
        names |= set(self.catalog(catalog).list_functions(database))
        names |= {
            one.object_name
            for one in self._functions
            if (one.catalog_name, one.database_name) == (catalog, database)
        }
        return sorted(names)

    def all_functions(self, place: tuple[str, str] | None = None) -> list[str]:
        """The names of all functions, built-in ones included."""
        own = self.user_functions(place)
        return sorted({name.lower() for name in self.modules.functions()} | set(own))

    def _function_name(self, names: Sequence[str]) -> ObjectIdentifier:
        found = self.qualify(names)
        return ObjectIdentifier(found.catalog_name, found.database_name, found.object_name.lower())


def load_function(function: CatalogFunction) -> Any:
    """The Python object that a function of a catalog names."""
    module, _, name = function.class_name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as failure:
        raise ProgramError(
            f"The function {function.class_name!r} cannot be loaded: {failure}. It is written as "
            "'module.name', and the module must be importable here and on every worker."
        ) from None
    return found() if isinstance(found, type) else found
