from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit, row_interval
from pyflink.table.window import Slide, Tumble

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql(
    "CREATE TEMPORARY VIEW clicks AS SELECT name, n, PROCTIME() AS pt FROM (VALUES "
    "('ann', 1), ('bob', 10), ('ann', 2), ('ann', 3), ('bob', 20), ('ann', 4), ('ann', 5), "
    "('bob', 30), ('ann', 6), ('ann', 7)) AS t (name, n)"
)
clicks = t_env.from_path("clicks")
pairs = clicks.window(Tumble.over(row_interval(2)).on(col("pt")).alias("w"))
pairs.group_by(col("w"), col("name")).select(
    col("name"), col("n").sum.alias("total"), col("n").max.alias("most"), lit(1).count.alias("rows")
).execute().print()
fours = clicks.window(Tumble.over(row_interval(4)).on(col("pt")).alias("w"))
fours.group_by(col("w")).select(
    col("n").avg.alias("mean"), col("name").count.distinct.alias("names"), col("n").sum + 1
).execute().print()
moving = clicks.window(Slide.over(row_interval(3)).every(row_interval(2)).on(col("pt")).alias("w"))
moving.group_by(col("w"), col("name")).select(
    col("name"), col("n").min.alias("least"), col("n").sum.alias("total")
).execute().print()
gaps = clicks.window(Slide.over(row_interval(1)).every(row_interval(3)).on(col("pt")).alias("w"))
gaps.group_by(col("w")).select(col("n").sum.alias("total")).execute().print()
