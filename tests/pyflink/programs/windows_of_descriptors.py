from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.window import Over, Session, Slide, Tumble

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.execute_sql(
    "CREATE TABLE t (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen')"
)
t = t_env.from_path("t")
for window in (
    Tumble.over(lit(10).minutes).on(col("ts")).alias("w"),
    Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("ts")).alias("w"),
    Session.with_gap(lit(10).minutes).on(col("ts")).alias("w"),
):
    t.window(window).group_by(col("w"), col("a")).select(
        col("a"), col("w").start, col("w").end, col("w").rowtime, col("a").count
    ).drop_columns(col("EXPR$0"), col("EXPR$1"), col("EXPR$2")).print_schema()
t.over_window(Over.partition_by(col("a")).order_by(col("ts")).alias("w")).select(
    col("a"), col("a").sum.over(col("w")), col("a").count.over(col("w")).alias("n")
).print_schema()
