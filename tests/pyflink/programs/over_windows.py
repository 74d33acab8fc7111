from __future__ import annotations

import os
import tempfile

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import UNBOUNDED_RANGE, UNBOUNDED_ROW, col, lit, row_interval
from pyflink.table.window import Over

path = os.path.join(tempfile.mkdtemp(), "clicks.csv")
with open(path, "w") as file:
    file.write("2024-01-01 10:00:01.000,ann,3\n2024-01-01 10:00:04.000,bob,1\n")
    file.write("2024-01-01 10:00:06.000,ann,5\n2024-01-01 10:00:12.000,bob,2\n")
    file.write("2024-01-01 10:00:31.000,ann,9\n")
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql(
    f"""
    CREATE TABLE clicks (
        ts TIMESTAMP(3), name STRING, n INT, WATERMARK FOR ts AS ts
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
    """
)
clicks = t_env.from_path("clicks")
by_name = Over.partition_by(col("name")).order_by(col("ts"))
for window in (
    by_name.preceding(UNBOUNDED_RANGE).alias("w"),
    by_name.preceding(UNBOUNDED_ROW).alias("w"),
    by_name.preceding(row_interval(1)).alias("w"),
    by_name.preceding(lit(10).seconds).alias("w"),
):
    clicks.over_window(window).select(
        col("name"),
        col("n"),
        col("n").sum.over(col("w")).alias("s"),
        col("n").max.over(col("w")).alias("m"),
    ).execute().print()
clicks.over_window(Over.order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")).select(
    col("name"), col("n").count.over(col("w")).alias("c")
).execute().print()
