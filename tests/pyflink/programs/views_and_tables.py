from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")


def named(names):
    return [name for name in names if not name.startswith("UnnamedTable")]


table = t_env.from_elements([(1, "a"), (2, "b")], ["id", "name"])
t_env.create_temporary_view("v", table)
print(
    named(t_env.list_tables()),
    named(t_env.list_views()),
    named(t_env.list_temporary_views()),
    named(t_env.list_temporary_tables()),
)
t_env.sql_query("SELECT id + 1 AS n FROM v WHERE name = 'b'").execute().print()
t_env.from_path("v").select(col("name")).execute().print()
t_env.sql_query(f"SELECT COUNT(*) AS c FROM {table}").execute().print()
t_env.create_temporary_table(
    "sink",
    TableDescriptor.for_connector("blackhole")
    .schema(
        Schema.new_builder()
        .column("id", DataTypes.BIGINT())
        .column("name", DataTypes.STRING())
        .build()
    )
    .build(),
)
print(named(t_env.list_temporary_tables()))
table.execute_insert("sink").wait()
print(t_env.drop_temporary_table("sink"), t_env.drop_temporary_table("sink"))
print(t_env.drop_temporary_view("v"), t_env.drop_temporary_view("v"))
t_env.execute_sql("CREATE TABLE src (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '2')")
t_env.execute_sql("CREATE VIEW w AS SELECT a FROM src")
print(named(t_env.list_tables()), named(t_env.list_views()))
print(t_env.drop_view("w"), t_env.drop_table("src"), named(t_env.list_tables()))
try:
    t_env.from_path("nothing")
except Exception as error:
    print("nothing" in str(error))
try:
    t_env.execute_sql("DROP TABLE nothing")
except Exception as error:
    print("nothing" in str(error))
t_env.execute_sql("DROP TABLE IF EXISTS nothing").print()
