from __future__ import annotations

import os
import tempfile

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.window import Session, Slide

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
clicks.window(Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("ts")).alias("w")).group_by(
    col("w"), col("name")
).select(col("name"), col("w").start, col("w").end, col("n").sum.alias("total")).execute().print()
clicks.window(Session.with_gap(lit(6).seconds).on(col("ts")).alias("w")).group_by(
    col("w"), col("name")
).select(
    col("name"), col("w").start.alias("s"), col("w").end.alias("e"), col("n").max.alias("top")
).execute().print()
