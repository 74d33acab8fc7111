"""What catalogs hold: databases, tables, views, partitions, functions.

All of them are plain values. Their options and properties are texts, so every catalog can keep
them, wherever it lies.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from scurry.common.errors import ProgramError
from scurry.table.schema import Schema

__all__ = [
    "CatalogBaseTable",
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTable",
    "CatalogView",
]

T = TypeVar("T", bound="_Described")
Texts = Mapping[str, str]


class _Described:
    """What all objects of catalogs have."""

    comment: str | None

    def get_comment(self) -> str:
        """What the object is for; empty if nobody said."""
        return self.comment or ""

    def get_description(self) -> str | None:
        """The same in short, None if nobody said."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """The same at length, None if nobody said."""
        return self.comment

    def copy(self: T) -> T:
        """An object of the same contents."""
        return copy.deepcopy(self)


@dataclass(frozen=True)
class CatalogDatabase(_Described):
    """A database: properties and a comment."""

    properties: Texts = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(properties: Texts, comment: str | None = None) -> CatalogDatabase:
        """A database of those properties."""
        return CatalogDatabase(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """The properties."""
        return dict(self.properties)


@dataclass(frozen=True)
class CatalogBaseTable(_Described):
    """A table or a view; made with :meth:`create_table` or :meth:`create_view`."""

    schema: Schema = field(default_factory=Schema)
    options: Texts = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_table(
        schema: Schema,
        partition_keys: Sequence[str] = (),
        properties: Texts | None = None,
        comment: str | None = None,
    ) -> CatalogTable:
        """A table behind the connector that the options name."""
        return CatalogTable(schema, dict(properties or {}), comment, tuple(partition_keys))

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: Schema,
        properties: Texts | None = None,
        comment: str | None = None,
    ) -> CatalogView:
        """A view: a query that has a name."""
        return CatalogView(schema, dict(properties or {}), comment, original_query, expanded_query)

    def get_options(self) -> dict[str, str]:
        """The options of the connector and its formats."""
        return dict(self.options)

    def get_unresolved_schema(self) -> Schema:
        """The schema as it was declared."""
        return self.schema

    @property
    def kind(self) -> str:
        """``TABLE`` or ``VIEW``."""
        return "VIEW" if isinstance(self, CatalogView) else "TABLE"


@dataclass(frozen=True)
class CatalogTable(CatalogBaseTable):
    """A table behind a connector."""

    partition_keys: tuple[str, ...] = ()

    def get_partition_keys(self) -> list[str]:
        """The columns that the table is partitioned by."""
        return list(self.partition_keys)

    def is_partitioned(self) -> bool:
        """Whether the table is partitioned."""
        return bool(self.partition_keys)


@dataclass(frozen=True)
class CatalogView(CatalogBaseTable):
    """A query with a name; names in ``expanded_query`` are whole ones."""

    original_query: str = ""
    expanded_query: str = ""

    def get_original_query(self) -> str:
        """The query as it was written."""
        return self.original_query

    def get_expanded_query(self) -> str:
        """The query with the whole names of what it reads."""
        return self.expanded_query


@dataclass(frozen=True)
class CatalogPartition(_Described):
    """A partition of a table: properties and a comment."""

    properties: Texts = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(properties: Texts, comment: str | None = None) -> CatalogPartition:
        """A partition of those properties."""
        return CatalogPartition(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """The properties."""
        return dict(self.properties)


class CatalogPartitionSpec:
    """Which partition: values, as texts, by partition column."""

    def __init__(self, partition_spec: Texts) -> None:
        self._values = {str(key): str(value) for key, value in dict(partition_spec).items()}

    def get_partition_spec(self) -> dict[str, str]:
        """The values by column."""
        return dict(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __str__(self) -> str:
        return f"CatalogPartitionSpec({self._values})"

    __repr__ = __str__


_LANGUAGES = ("PYTHON", "Python", "python")


@dataclass(frozen=True)
class CatalogFunction(_Described):
    """A function by the name of its class or object, ``module.name``."""

    class_name: str
    function_language: str = "PYTHON"
    options: Texts = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """A function; ``class_name`` is the module and the name in it, with a dot between."""
        if function_language not in _LANGUAGES:
            raise ProgramError(
                f"The function {class_name!r} is in {function_language}: Scurry runs functions "
                "in Python only. Write it in Python."
            )
        return CatalogFunction(class_name, function_language.upper())

    def get_class_name(self) -> str:
        """The module and the name in it."""
        return self.class_name

    def get_function_language(self) -> str:
        """The language, PYTHON."""
        return self.function_language

    def get_options(self) -> dict[str, str]:
        """The options of the function."""
        return dict(self.options)
