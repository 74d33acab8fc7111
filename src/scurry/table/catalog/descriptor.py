"""Catalogs by their options: what ``CREATE CATALOG ... WITH (...)`` makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.table.catalog.contract import Catalog
from scurry.table.catalog.database_file import DatabaseFileCatalog
from scurry.table.catalog.errors import nearest
from scurry.table.catalog.in_memory import GenericInMemoryCatalog

__all__ = ["CatalogDescriptor", "make_catalog"]


@dataclass(frozen=True)
class CatalogDescriptor:
    """A catalog's name and options; made with :meth:`of`."""

    catalog_name: str
    configuration: Configuration = field(default_factory=Configuration)
    comment: str | None = None

    @staticmethod
    def of(
        catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> CatalogDescriptor:
        """A catalog of that name and those options."""
        return CatalogDescriptor(catalog_name, configuration, comment)


@dataclass(frozen=True)
class _Kind:
    """How catalogs of one type are made: which options they need, and which they may have."""

    make: Callable[[str, Mapping[str, str]], Catalog]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ("default-database",)


_KINDS: dict[str, _Kind] = {
    "generic_in_memory": _Kind(
        lambda name, options: GenericInMemoryCatalog(
            name, options.get("default-database", "default")
        )
    ),
    "database-file": _Kind(
        lambda name, options: DatabaseFileCatalog(
            name, options["path"], options.get("default-database", "default")
        ),
        required=("path",),
    ),
}


def make_catalog(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog that options describe; refuses what they do not fit."""
    kind = _KINDS.get(options.get("type", ""))
    if kind is None:
        given = options.get("type")
        said = "has no option 'type'" if given is None else f"is of type {given!r}"
        raise ConfigurationError(f"The catalog {name!r} {said}. {nearest(given or '', _KINDS)}")
    known = {"type", *kind.required, *kind.optional}
    for key in options:
        if key not in known:
            raise ConfigurationError(
                f"The catalog {name!r} has the option {key!r}, which a catalog of type "
                f"{options['type']!r} does not know. {nearest(key, known)}"
            )
    for key in kind.required:
        if key not in options:
            raise ConfigurationError(f"The catalog {name!r} needs the option {key!r}.")
    return kind.make(name, options)
