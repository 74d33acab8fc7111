"""Catalogs: where tables, views and functions have their names.

``default_catalog`` is in memory. A catalog in a database file outlives the program:

    CREATE CATALOG shop WITH ('type' = 'database-file', 'path' = '/data/shop.db')
"""

from __future__ import annotations

from scurry.table.catalog.contract import Catalog
from scurry.table.catalog.database_file import DatabaseFileCatalog
from scurry.table.catalog.descriptor import CatalogDescriptor
from scurry.table.catalog.errors import (
    CatalogError,
    DatabaseAlreadyExistError,
    DatabaseNotEmptyError,
    DatabaseNotExistError,
    FunctionAlreadyExistError,
    FunctionNotExistError,
    PartitionAlreadyExistsError,
    PartitionNotExistError,
    TableAlreadyExistError,
    TableNotExistError,
    TableNotPartitionedError,
)
from scurry.table.catalog.in_memory import GenericInMemoryCatalog
from scurry.table.catalog.names import ObjectIdentifier, ObjectPath
from scurry.table.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
    CatalogView,
)
from scurry.table.catalog.resolved_schema import (
    Column,
    ComputedColumn,
    Constraint,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from scurry.table.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogError",
    "CatalogFunction",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTable",
    "CatalogTableStatistics",
    "CatalogView",
    "Column",
    "ComputedColumn",
    "Constraint",
    "DatabaseAlreadyExistError",
    "DatabaseFileCatalog",
    "DatabaseNotEmptyError",
    "DatabaseNotExistError",
    "FunctionAlreadyExistError",
    "FunctionNotExistError",
    "GenericInMemoryCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PartitionAlreadyExistsError",
    "PartitionNotExistError",
    "PhysicalColumn",
    "ResolvedSchema",
    "TableAlreadyExistError",
    "TableNotExistError",
    "TableNotPartitionedError",
    "UniqueConstraint",
    "WatermarkSpec",
]
