from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment, TableSchema
from pyflink.table.catalog import (
    CatalogBaseTable,
    CatalogFunction,
    CatalogPartitionSpec,
    Column,
    ObjectIdentifier,
    ObjectPath,
    ResolvedSchema,
)
from pyflink.util.exceptions import FunctionNotExistException, TableAlreadyExistException

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
catalog = t_env.get_catalog("default_catalog")
schema = TableSchema(["a", "b"], [DataTypes.INT(), DataTypes.STRING()])
table = CatalogBaseTable.create_table(schema, ["b"], {"connector": "blackhole"}, "mine")
path = ObjectPath("default_database", "t")
catalog.create_table(path, table, False)
print(
    catalog.list_tables("default_database"),
    catalog.get_table(path).get_options(),
    catalog.get_table(path).get_comment(),
)
try:
    catalog.create_table(path, table, False)
except TableAlreadyExistException:
    print("already there")
catalog.create_table(path, table, True)
view = CatalogBaseTable.create_view(
    "SELECT a FROM t", "SELECT a FROM default_catalog.default_database.t", schema, {}, "a view"
)
catalog.create_table(ObjectPath("default_database", "v"), view, False)
print(
    catalog.list_views("default_database"),
    catalog.get_table(ObjectPath("default_database", "v")).get_comment(),
)
function = CatalogFunction.create_instance("functions.plus", "Python")
catalog.create_function(ObjectPath("default_database", "plus"), function, False)
print(
    catalog.list_functions("default_database"),
    catalog.function_exists(ObjectPath("default_database", "plus")),
)
print(catalog.get_function(ObjectPath("default_database", "plus")).get_class_name())
catalog.drop_function(ObjectPath("default_database", "plus"), False)
try:
    catalog.get_function(ObjectPath("default_database", "plus"))
except FunctionNotExistException:
    print("gone")
spec = CatalogPartitionSpec({"b": "x"})
print(spec.get_partition_spec())
identifier = ObjectIdentifier.of("c", "d", "o")
print(
    identifier.as_summary_string(),
    identifier.as_serializable_string(),
    identifier.get_catalog_name(),
    identifier.to_object_path(),
)
column = Column.physical("a", DataTypes.INT())
print(
    column,
    column.get_name(),
    column.get_data_type() is not None,
    column.is_physical(),
    column.is_persisted(),
    column.get_comment(),
)
print(column.rename("z"))
resolved = ResolvedSchema.of(
    [Column.physical("a", DataTypes.INT()), Column.physical("b", DataTypes.STRING())]
)
print(resolved, resolved.get_column_names())
