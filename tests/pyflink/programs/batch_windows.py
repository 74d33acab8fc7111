from __future__ import annotations

import os
import tempfile

from pyflink.table import EnvironmentSettings, TableEnvironment

path = os.path.join(tempfile.mkdtemp(), "clicks.csv")
with open(path, "w") as file:
    file.write(
        "2024-01-01 10:00:01.000,ann,3\n2024-01-01 10:00:14.000,bob,1\n2024-01-01 10:00:03.000,ann,5\n"
    )
t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql(
    f"CREATE TABLE clicks (ts TIMESTAMP(3), name STRING, n INT, WATERMARK FOR ts AS ts) "
    f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
)
t_env.sql_query(
    "SELECT window_start, name, SUM(n) AS s FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
    "GROUP BY window_start, window_end, name ORDER BY window_start, name"
).execute().print()
t_env.execute_sql("CREATE TABLE out_table (name STRING, s INT) WITH ('connector' = 'print')")
t_env.execute_sql(
    "INSERT INTO out_table SELECT name, SUM(n) FROM clicks GROUP BY name HAVING SUM(n) > 2"
).wait()
