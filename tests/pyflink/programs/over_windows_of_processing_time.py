from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import CURRENT_ROW, UNBOUNDED_ROW, col, row_interval
from pyflink.table.udf import udaf
from pyflink.table.window import Over

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql(
    "CREATE TEMPORARY VIEW clicks AS SELECT name, n, PROCTIME() AS pt FROM (VALUES "
    "('ann', 3), ('bob', 1), ('ann', 5), ('bob', 2), ('ann', 9)) AS t (name, n)"
)
clicks = t_env.from_path("clicks")
clicks.print_schema()
two = Over.partition_by(col("name")).order_by(col("pt")).preceding(row_interval(1))
clicks.over_window(two.following(CURRENT_ROW).alias("w")).select(
    col("name"),
    col("n").sum.over(col("w")).alias("s"),
    col("n").avg.over(col("w")).alias("a"),
    col("n").min.over(col("w")).alias("m"),
).execute().print()
so_far = Over.order_by(col("pt")).preceding(UNBOUNDED_ROW).alias("w")
clicks.over_window(so_far).select(
    col("n"),
    col("n").count.over(col("w")).alias("c"),
    col("n").max.over(col("w")).alias("most"),
    (col("n").sum.over(col("w")) * 10).alias("tens"),
).execute().print()


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def mean(v):
    return float(v.mean())


clicks.over_window(two.alias("w")).select(
    col("name"), mean(col("n")).over(col("w")).alias("mean")
).execute().print()
