from __future__ import annotations

from pyflink.table import EnvironmentSettings, ResultKind, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
result = t_env.execute_sql("SELECT * FROM (VALUES (1, 'a'), (2, CAST(NULL AS STRING))) AS t(x, y)")
print(result.get_result_kind(), result.get_result_kind() == ResultKind.SUCCESS_WITH_CONTENT)
print(result.get_resolved_schema())
print(result.get_table_schema())
result.wait()
with result.collect() as rows:
    for row in rows:
        print(row, len(row), row.get_row_kind())
t_env.execute_sql("CREATE TABLE sink (x INT) WITH ('connector' = 'blackhole')")
result = t_env.execute_sql("INSERT INTO sink VALUES (1), (2)")
print(result.get_job_client() is not None, result.get_resolved_schema())
result.wait()
print([row for row in result.collect()])
t_env.execute_sql("INSERT INTO sink VALUES (3)").print()
rows = t_env.execute_sql("SELECT 1 AS x").collect()
print(next(rows))
try:
    next(rows)
except StopIteration:
    print("no more")
