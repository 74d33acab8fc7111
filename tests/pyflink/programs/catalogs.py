from __future__ import annotations

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.catalog import CatalogDatabase, CatalogDescriptor, ObjectPath
from pyflink.util.exceptions import DatabaseNotExistException, TableNotExistException

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
print(
    t_env.get_current_catalog(),
    t_env.get_current_database(),
    t_env.list_catalogs(),
    t_env.list_databases(),
)
catalog = t_env.get_catalog("default_catalog")
catalog.create_database("db1", CatalogDatabase.create_instance({"k": "v"}, "a comment"), False)
print(catalog.list_databases(), catalog.database_exists("db1"), catalog.database_exists("db2"))
database = catalog.get_database("db1")
print(database.get_properties(), database.get_comment(), database.get_description())
t_env.use_database("db1")
t_env.execute_sql("CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'blackhole')")
print(t_env.list_tables(), catalog.list_tables("db1"), catalog.list_views("db1"))
path = ObjectPath("db1", "t")
print(path, path.get_full_name(), path.get_database_name(), path.get_object_name())
print(ObjectPath.from_string("x.y") == ObjectPath("x", "y"))
table = catalog.get_table(path)
print(table.get_options(), table.get_comment(), table.get_unresolved_schema())
print(catalog.table_exists(path), catalog.table_exists(ObjectPath("db1", "u")))
catalog.rename_table(path, "u", False)
print(catalog.list_tables("db1"))
try:
    catalog.get_table(path)
except TableNotExistException as error:
    print(type(error).__name__)
try:
    catalog.get_database("nowhere")
except DatabaseNotExistException as error:
    print(type(error).__name__)
catalog.drop_table(ObjectPath("db1", "u"), False)
t_env.use_database("default_database")
catalog.drop_database("db1", False)
print(catalog.list_databases())
t_env.create_catalog(
    "mine", CatalogDescriptor.of("mine", Configuration().set_string("type", "generic_in_memory"))
)
t_env.use_catalog("mine")
print(sorted(t_env.list_catalogs()), t_env.get_current_catalog(), t_env.get_current_database())
t_env.execute_sql("CREATE DATABASE d2")
t_env.execute_sql("USE d2")
print(t_env.get_current_database(), t_env.list_databases())
t_env.execute_sql("SHOW DATABASES").print()
t_env.execute_sql("SHOW CURRENT CATALOG").print()
t_env.use_catalog("default_catalog")
t_env.execute_sql("DROP CATALOG mine")
print(t_env.list_catalogs())
