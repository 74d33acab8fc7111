"""Names of what catalogs hold.

Within a catalog an object has a path, ``database.object``; across catalogs an identifier,
``catalog.database.object``.
"""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.errors import ProgramError

__all__ = ["ObjectIdentifier", "ObjectPath"]


@dataclass(frozen=True, order=True)
class ObjectPath:
    """The name of an object within a catalog."""

    database_name: str = ""
    object_name: str = ""

    def __post_init__(self) -> None:
        for name in (self.database_name, self.object_name):
            if not isinstance(name, str) or not name:
                raise ProgramError(
                    f"An ObjectPath has the name of a database and that of an object, got "
                    f"{self.database_name!r} and {self.object_name!r}."
                )

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path written as ``database.object``."""
        parts = full_name.split(".") if isinstance(full_name, str) else []
        if len(parts) != 2:
            raise ProgramError(f"A path is written as 'database.object', got {full_name!r}.")
        return ObjectPath(*parts)

    def compare_to(self, other: ObjectPath) -> int:
        """Below, at or above 0 as this path comes before, with or behind the other, by database
        and name."""
        mine, theirs = (str(self), str(other))
        return (mine > theirs) - (mine < theirs)

    def get_database_name(self) -> str:
        """The name of the database."""
        return self.database_name

    def get_object_name(self) -> str:
        """The name of the object in it."""
        return self.object_name

    def get_full_name(self) -> str:
        """``database.object``."""
        return f"{self.database_name}.{self.object_name}"

    def __str__(self) -> str:
        return self.get_full_name()


@dataclass(frozen=True)
class ObjectIdentifier:
    """The whole name of an object."""

    catalog_name: str
    database_name: str
    object_name: str

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The identifier of those three names."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The name of the catalog."""
        return self.catalog_name

    def get_database_name(self) -> str:
        """The name of the database."""
        return self.database_name

    def get_object_name(self) -> str:
        """The name of the object."""
        return self.object_name

    def to_object_path(self) -> ObjectPath:
        """The path within the catalog."""
        return ObjectPath(self.database_name, self.object_name)

    def to_list(self) -> list[str]:
        """The three names."""
        return [self.catalog_name, self.database_name, self.object_name]

    def as_serializable_string(self) -> str:
        """The names, each between backticks."""
        return ".".join(map(quoted, self.to_list()))

    def as_summary_string(self) -> str:
        """The names with dots between them."""
        return ".".join(self.to_list())

    def __str__(self) -> str:
        return self.as_serializable_string()


def quoted(name: str) -> str:
    """A name between backticks, as SQL reads it whatever it holds."""
    return "`" + name.replace("`", "``") + "`"
