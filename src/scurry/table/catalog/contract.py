"""What a catalog is: databases with tables, views, functions, partitions and statistics.

A catalog names things for many programs; what only one program needs is a temporary object of its
table environment. The methods are those of PyFlink's ``Catalog``. A catalog of your own extends
this class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from scurry.table.catalog.models import ModelContract
from scurry.table.catalog.names import ObjectPath
from scurry.table.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
)
from scurry.table.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics

__all__ = ["Catalog"]


class Catalog(ModelContract, ABC):
    """Holds databases and what is in them."""

    def open(self) -> None:
        """Called when the catalog is registered."""

    def close(self) -> None:
        """Called when the catalog is dropped."""

    @abstractmethod
    def get_default_database(self) -> str:
        """The database that ``USE CATALOG`` goes to."""

    @abstractmethod
    def list_databases(self) -> list[str]:
        """The names of all databases."""

    @abstractmethod
    def get_database(self, database_name: str) -> CatalogDatabase:
        """A database; raises DatabaseNotExistException."""

    def database_exists(self, database_name: str) -> bool:
        """Whether there is a database of that name."""
        return database_name in self.list_databases()

    @abstractmethod
    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Make a database; raises DatabaseAlreadyExistException."""

    @abstractmethod
    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        """Remove a database; raises DatabaseNotExistException, and DatabaseNotEmptyException unless
        what it holds shall go with it."""

    @abstractmethod
    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool
    ) -> None:
        """Replace the properties of a database; raises DatabaseNotExistException."""

    @abstractmethod
    def list_tables(self, database_name: str) -> list[str]:
        """The names of all tables and views of a database."""

    @abstractmethod
    def list_views(self, database_name: str) -> list[str]:
        """The names of all views of a database."""

    @abstractmethod
    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """A table or view; raises TableNotExistException."""

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether there is a table or view of that name."""
        return self.database_exists(
            table_path.database_name
        ) and table_path.object_name in self.list_tables(table_path.database_name)

    @abstractmethod
    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a table or view; raises TableNotExistException."""

    @abstractmethod
    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Rename a table or view within its database; raises TableNotExistException and
        TableAlreadyExistException."""

    @abstractmethod
    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool
    ) -> None:
        """Make a table or view; raises TableAlreadyExistException."""

    @abstractmethod
    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        """Replace a table by a table, or a view by a view; raises TableNotExistException."""

    @abstractmethod
    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """The partitions of a table, those that begin with ``partition_spec`` if it is given;
        raises TableNotPartitionedException."""

    @abstractmethod
    def get_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogPartition:
        """A partition; raises PartitionNotExistException."""

    @abstractmethod
    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        """Whether a table has that partition."""

    @abstractmethod
    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Add a partition; raises PartitionAlreadyExistsException."""

    @abstractmethod
    def drop_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        ignore_if_not_exists: bool,
    ) -> None:
        """Remove a partition; raises PartitionNotExistException."""

    @abstractmethod
    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the properties of a partition; raises PartitionNotExistException."""

    @abstractmethod
    def list_functions(self, database_name: str) -> list[str]:
        """The names of all functions of a database, in lower case."""

    @abstractmethod
    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """A function, whatever the case of its name; raises FunctionNotExistException."""

    @abstractmethod
    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether there is a function of that name."""

    @abstractmethod
    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        """Add a function; raises FunctionAlreadyExistException."""

    @abstractmethod
    def alter_function(
        self,
        function_path: ObjectPath,
        new_function: CatalogFunction,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace a function; raises FunctionNotExistException."""

    @abstractmethod
    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a function; raises FunctionNotExistException."""

    @abstractmethod
    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """What is known of a table; numbers that nobody knows are -1."""

    @abstractmethod
    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """What is known of a table's columns."""

    @abstractmethod
    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """What is known of a partition."""

    @abstractmethod
    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """What is known of a partition's columns."""

    @abstractmethod
    def alter_table_statistics(
        self,
        table_path: ObjectPath,
        table_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say what is known of a table."""

    @abstractmethod
    def alter_table_column_statistics(
        self,
        table_path: ObjectPath,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say what is known of a table's columns."""

    @abstractmethod
    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say what is known of a partition."""

    @abstractmethod
    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say what is known of a partition's columns."""

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: Sequence[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """What is known of several partitions."""
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: Sequence[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """What is known of the columns of several partitions."""
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Always empty: there are no materialized tables."""
        self.get_database(database_name)
        return []

    def list_procedures(self, database_name: str) -> list[str]:
        """Always empty: there are no procedures."""
        self.get_database(database_name)
        return []

    def list_models(self, database_name: str) -> list[str]:
        """The names of the models of a database; none unless the catalog keeps models."""
        self.get_database(database_name)
        return []
