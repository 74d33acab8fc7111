"""Catalogs: where tables, views and functions have their names.

``default_catalog`` is in memory. A catalog in a database file outlives the program:

    CREATE CATALOG shop WITH ('type' = 'database-file', 'path' = '/data/shop.db')
"""

from __future__ import annotations

from scurry.table.catalog.contract import Catalog
from scurry.table.catalog.database_file import DatabaseFileCatalog
from scurry.table.catalog.descriptor import CatalogDescriptor
from scurry.table.catalog.errors import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    ModelAlreadyExistException,
    ModelNotExistException,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)
from scurry.table.catalog.foreign import HiveCatalog, JdbcCatalog
from scurry.table.catalog.in_memory import GenericInMemoryCatalog
from scurry.table.catalog.models import CatalogModel, Procedure
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
    "CatalogException",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTable",
    "CatalogTableStatistics",
    "CatalogView",
    "Column",
    "ComputedColumn",
    "Constraint",
    "DatabaseAlreadyExistException",
    "DatabaseFileCatalog",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "GenericInMemoryCatalog",
    "HiveCatalog",
    "JdbcCatalog",
    "MetadataColumn",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "ObjectIdentifier",
    "ObjectPath",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PhysicalColumn",
    "Procedure",
    "ResolvedSchema",
    "TableAlreadyExistException",
    "TableNotExistException",
    "TableNotPartitionedException",
    "UniqueConstraint",
    "WatermarkSpec",
]
