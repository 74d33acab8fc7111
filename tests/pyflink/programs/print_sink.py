from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql(
    "CREATE TABLE src (id INT, d DECIMAL(5, 2), w AS id * 2) WITH ('connector' = 'datagen', 'number-of-rows' = '3', "
    "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '3')"
)
t_env.execute_sql(
    "CREATE TABLE out_table (id INT, n BIGINT, r ROW<a INT, b STRING>, l ARRAY<INT>) WITH ('connector' = 'print')"
)
t_env.execute_sql(
    "INSERT INTO out_table SELECT id, COUNT(*), ROW(id, 'x'), ARRAY[id, 0] FROM src GROUP BY id, w"
).wait()
t_env.execute_sql(
    "CREATE TABLE named (id INT) WITH ('connector' = 'print', 'print-identifier' = 'p')"
)
t_env.from_path("src").select(t_env.from_path("src").id).execute_insert("named").wait()
