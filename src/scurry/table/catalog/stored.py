"""A catalog over a store of objects, wherever that store lies.

The store is a flat map: each object lies under its kind, its database, its name and, for a
partition, the values of the partition columns. All rules are here: what must exist, what must not,
and what goes away together with something else.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeVar, cast

from scurry.table.catalog import errors
from scurry.table.catalog.contract import Catalog
from scurry.table.catalog.names import ObjectPath
from scurry.table.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
    CatalogView,
)
from scurry.table.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics
from scurry.table.catalog.stored_models import StoredModels

T = TypeVar("T")

DATABASE = "database"
TABLE = "table"
FUNCTION = "function"
PARTITION = "partition"
STATISTICS = "statistics"
COLUMN_STATISTICS = "column-statistics"
#: What belongs to a table and goes with it.
_OF_TABLES = (PARTITION, STATISTICS, COLUMN_STATISTICS)


class Key(NamedTuple):
    """Where an object lies; ``part`` is the JSON of a partition's values, else empty."""

    kind: str
    database: str
    name: str = ""
    part: str = ""


class ObjectStore(ABC):
    """A map from keys to objects."""

    def open(self) -> None:
        """Called before anything else."""

    def close(self) -> None:
        """Called after everything else."""

    @abstractmethod
    def get(self, key: Key) -> Any | None:
        """The object under a key."""

    @abstractmethod
    def put(self, key: Key, value: Any) -> None:
        """Set the object under a key."""

    @abstractmethod
    def delete(self, key: Key) -> None:
        """Forget what is under a key."""

    @abstractmethod
    def keys(self, kind: str, database: str | None = None, name: str | None = None) -> list[Key]:
        """The keys of a kind, of one database or of one name in it, in order."""


class StoredCatalog(StoredModels, Catalog):
    """A catalog whose objects lie in a store."""

    def __init__(self, name: str, store: ObjectStore, default_database: str = "default") -> None:
        self._name = name
        self._store = store
        self._default = default_database

    def open(self) -> None:
        self._store.open()
        self.create_database(self._default, CatalogDatabase(), ignore_if_exists=True)

    def close(self) -> None:
        self._store.close()

    def get_default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        return [key.database for key in self._store.keys(DATABASE)]

    def get_database(self, database_name: str) -> CatalogDatabase:
        found = self._store.get(Key(DATABASE, database_name))
        if found is None:
            raise errors.DatabaseNotExistException(
                f"There is no database {database_name!r} in the catalog {self._name!r}. "
                + errors.nearest(database_name, self.list_databases())
            )
        return cast(CatalogDatabase, found)

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if not self.database_exists(name):
            self._store.put(Key(DATABASE, name), database)
        elif not ignore_if_exists:
            raise errors.DatabaseAlreadyExistException(
                f"There is a database {name!r} in the catalog {self._name!r} already: choose "
                "another name, or say IF NOT EXISTS."
            )

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        if ignore_if_exists and not self.database_exists(name):
            return
        self.get_database(name)
        held = [key for kind in (TABLE, FUNCTION) for key in self._store.keys(kind, name)]
        if held and not cascade:
            raise errors.DatabaseNotEmptyException(
                f"The database {name!r} of the catalog {self._name!r} is not empty: it holds "
                f"{held[0].name!r}. Drop what it holds first, or say CASCADE."
            )
        for kind in (TABLE, FUNCTION, *_OF_TABLES):
            for key in self._store.keys(kind, name):
                self._store.delete(key)
        self._store.delete(Key(DATABASE, name))

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool
    ) -> None:
        if ignore_if_not_exists and not self.database_exists(name):
            return
        self.get_database(name)
        self._store.put(Key(DATABASE, name), new_database)

    def list_tables(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return [key.name for key in self._store.keys(TABLE, database_name)]

    def list_views(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        keys = self._store.keys(TABLE, database_name)
        return [key.name for key in keys if isinstance(self._store.get(key), CatalogView)]

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        found = self._store.get(_key(TABLE, table_path))
        if found is None:
            raise errors.TableNotExistException(
                f"There is no table or view {table_path} in the catalog {self._name!r}. "
                + errors.nearest(table_path.object_name, self.list_tables(table_path.database_name))
            )
        return cast(CatalogBaseTable, found)

    def table_exists(self, table_path: ObjectPath) -> bool:
        return self._store.get(_key(TABLE, table_path)) is not None

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self._absent(table_path, ignore_if_not_exists):
            return
        self._store.delete(_key(TABLE, table_path))
        for kind in _OF_TABLES:
            for key in self._store.keys(kind, *_names(table_path)):
                self._store.delete(key)

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool
    ) -> None:
        if self._absent(table_path, ignore_if_not_exists):
            return
        target = ObjectPath(table_path.database_name, new_table_name)
        if self.table_exists(target):
            raise self._table_exists(target)
        for kind in (TABLE, *_OF_TABLES):
            for key in self._store.keys(kind, *_names(table_path)):
                self._store.put(key._replace(name=new_table_name), self._store.get(key))
                self._store.delete(key)

    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool
    ) -> None:
        self.get_database(table_path.database_name)
        if not self.table_exists(table_path):
            self._store.put(_key(TABLE, table_path), table)
        elif not ignore_if_exists:
            raise self._table_exists(table_path)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        if self._absent(table_path, ignore_if_not_exists):
            return
        before = self.get_table(table_path)
        if before.kind != new_table.kind:
            raise errors.CatalogException(
                f"{table_path} is a {before.kind} and cannot become a {new_table.kind}: drop it, "
                "and create it anew."
            )
        self._store.put(_key(TABLE, table_path), new_table)

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        self._partitioned(table_path)
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        found = []
        for key in self._store.keys(PARTITION, *_names(table_path)):
            values: dict[str, str] = json.loads(key.part)
            if wanted.items() <= values.items():
                found.append(CatalogPartitionSpec(values))
        return found

    def get_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogPartition:
        table = self._partitioned(table_path)
        found = self._store.get(_key(PARTITION, table_path, _part(table, partition_spec)))
        if found is None:
            raise errors.PartitionNotExistException(
                f"{table_path} of the catalog {self._name!r} has no partition "
                f"{partition_spec.get_partition_spec()}; SHOW PARTITIONS lists those it has."
            )
        return cast(CatalogPartition, found)

    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        if not self.table_exists(table_path):
            return False
        table = self.get_table(table_path)
        if not isinstance(table, CatalogTable) or not table.is_partitioned():
            return False
        return (
            self._store.get(_key(PARTITION, table_path, _part(table, partition_spec))) is not None
        )

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        table = self._partitioned(table_path)
        if not self.partition_exists(table_path, partition_spec):
            self._store.put(_key(PARTITION, table_path, _part(table, partition_spec)), partition)
        elif not ignore_if_exists:
            raise errors.PartitionAlreadyExistsException(
                f"{table_path} has the partition {partition_spec.get_partition_spec()} already."
            )

    def drop_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        ignore_if_not_exists: bool,
    ) -> None:
        if ignore_if_not_exists and not self.partition_exists(table_path, partition_spec):
            return
        self.get_partition(table_path, partition_spec)
        part = _part(self._partitioned(table_path), partition_spec)
        for kind in _OF_TABLES:
            self._store.delete(_key(kind, table_path, part))

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        if ignore_if_not_exists and not self.partition_exists(table_path, partition_spec):
            return
        self.get_partition(table_path, partition_spec)
        part = _part(self._partitioned(table_path), partition_spec)
        self._store.put(_key(PARTITION, table_path, part), new_partition)

    def list_functions(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return [key.name for key in self._store.keys(FUNCTION, database_name)]

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        found = self._store.get(_function(function_path))
        if found is None:
            known = self._store.keys(FUNCTION, function_path.database_name)
            raise errors.FunctionNotExistException(
                f"There is no function {function_path} in the catalog {self._name!r}. "
                + errors.nearest(function_path.object_name.lower(), [key.name for key in known])
            )
        return cast(CatalogFunction, found)

    def function_exists(self, function_path: ObjectPath) -> bool:
        return self._store.get(_function(function_path)) is not None

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        self.get_database(function_path.database_name)
        if not self.function_exists(function_path):
            self._store.put(_function(function_path), function)
        elif not ignore_if_exists:
            raise errors.FunctionAlreadyExistException(
                f"There is a function {function_path} in the catalog {self._name!r} already: "
                "choose another name, or say IF NOT EXISTS."
            )

    def alter_function(
        self,
        function_path: ObjectPath,
        new_function: CatalogFunction,
        ignore_if_not_exists: bool,
    ) -> None:
        if ignore_if_not_exists and not self.function_exists(function_path):
            return
        self.get_function(function_path)
        self._store.put(_function(function_path), new_function)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if ignore_if_not_exists and not self.function_exists(function_path):
            return
        self.get_function(function_path)
        self._store.delete(_function(function_path))

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        return self._known(STATISTICS, table_path, None, CatalogTableStatistics())

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        return self._known(COLUMN_STATISTICS, table_path, None, CatalogColumnStatistics())

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        return self._known(STATISTICS, table_path, partition_spec, CatalogTableStatistics())

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        return self._known(COLUMN_STATISTICS, table_path, partition_spec, CatalogColumnStatistics())

    def alter_table_statistics(
        self,
        table_path: ObjectPath,
        table_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if not self._absent(table_path, ignore_if_not_exists):
            self._store.put(_key(STATISTICS, table_path), table_statistics)

    def alter_table_column_statistics(
        self,
        table_path: ObjectPath,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if not self._absent(table_path, ignore_if_not_exists):
            self._store.put(_key(COLUMN_STATISTICS, table_path), column_statistics)

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        self._say(
            STATISTICS, table_path, partition_spec, partition_statistics, ignore_if_not_exists
        )

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        self._say(
            COLUMN_STATISTICS, table_path, partition_spec, column_statistics, ignore_if_not_exists
        )

    def _known(
        self, kind: str, path: ObjectPath, spec: CatalogPartitionSpec | None, nothing: T
    ) -> T:
        self.get_table(path)
        if spec is not None:
            self.get_partition(path, spec)
        part = "" if spec is None else _part(self._partitioned(path), spec)
        found = self._store.get(_key(kind, path, part))
        return nothing if found is None else cast(T, found)

    def _say(
        self,
        kind: str,
        path: ObjectPath,
        spec: CatalogPartitionSpec,
        value: Any,
        ignore_if_not_exists: bool,
    ) -> None:
        if ignore_if_not_exists and not self.partition_exists(path, spec):
            return
        self.get_partition(path, spec)
        self._store.put(_key(kind, path, _part(self._partitioned(path), spec)), value)

    def _absent(self, path: ObjectPath, may_be: bool) -> bool:
        """Whether there is no such table and nothing is to be done; raises if there must be."""
        if may_be and not self.table_exists(path):
            return True
        self.get_table(path)
        return False

    def _table_exists(self, path: ObjectPath) -> errors.TableAlreadyExistException:
        return errors.TableAlreadyExistException(
            f"There is a table or view {path} in the catalog {self._name!r} already: choose "
            "another name, or say IF NOT EXISTS."
        )

    def _partitioned(self, path: ObjectPath) -> CatalogTable:
        table = self.get_table(path)
        if not isinstance(table, CatalogTable) or not table.is_partitioned():
            raise errors.TableNotPartitionedException(
                f"{path} of the catalog {self._name!r} is not partitioned: create it with "
                "PARTITIONED BY (...)."
            )
        return table


def _names(path: ObjectPath) -> tuple[str, str]:
    return path.database_name, path.object_name


def _key(kind: str, path: ObjectPath, part: str = "") -> Key:
    return Key(kind, path.database_name, path.object_name, part)


def _function(path: ObjectPath) -> Key:
    """Names of functions are the same in upper and lower case."""
    return Key(FUNCTION, path.database_name, path.object_name.lower())


def _part(table: CatalogTable, spec: CatalogPartitionSpec) -> str:
    values = spec.get_partition_spec()
    if set(values) != set(table.partition_keys):
        raise errors.CatalogException(
            f"A partition of this table has values for {', '.join(table.partition_keys)}, got "
            f"{values}."
        )
    return json.dumps({key: values[key] for key in table.partition_keys})
