from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.window import Tumble

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("table.local-time-zone", "UTC")
t_env.execute_sql(
    "CREATE TEMPORARY VIEW clicks AS SELECT name, n, CAST(ts AS TIMESTAMP(3)) AS ts, "
    "CAST(n * 1500 AS BIGINT) AS ms FROM (VALUES ('ann', 1, '2024-01-01 10:00:01'), "
    "('bob', 10, '2024-01-01 10:00:04'), ('ann', 2, '2024-01-01 10:00:11'), "
    "('ann', 4, '2024-01-01 10:00:03')) AS t (name, n, ts)"
)
clicks = t_env.from_path("clicks")
clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w")).group_by(
    col("w"), col("name")
).select(
    col("name"), col("w").start.alias("s"), col("w").end.alias("e"), col("n").sum.alias("total")
).order_by(col("s"), col("name")).execute().print()
clicks.window(Tumble.over(lit(10).seconds).on(col("ms")).alias("w")).group_by(
    col("w"), col("name")
).select(
    col("name"), col("w").start.alias("s"), col("n").max.alias("most"), col("n").count.alias("n")
).order_by(col("s"), col("name")).execute().print()
t_env.sql_query(
    "SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, SUM(n) AS total FROM clicks "
    "GROUP BY TUMBLE(ts, INTERVAL '10' SECOND) ORDER BY s"
).execute().print()
t_env.sql_query(
    "SELECT window_start, window_end, COUNT(*) AS c FROM "
    "HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND) "
    "GROUP BY window_start, window_end ORDER BY window_start"
).execute().print()
t_env.sql_query(
    "SELECT window_start, name, SUM(n) AS total FROM "
    "CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND) "
    "GROUP BY window_start, window_end, name ORDER BY window_start, name, total"
).execute().print()
