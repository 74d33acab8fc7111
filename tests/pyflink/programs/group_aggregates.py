from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
orders = t_env.from_elements(
    [("Jack", "FRANCE", 10), ("Rose", "ENGLAND", 30), ("Jack", "FRANCE", 20), ("Bill", None, 5)],
    ["name", "country", "revenue"],
)
result = orders.group_by(col("name"), col("country")).select(
    col("name"),
    col("country"),
    col("revenue").sum.alias("total"),
    col("revenue").avg.alias("mean"),
    col("revenue").max.alias("top"),
    col("revenue").min.alias("least"),
    col("revenue").count.alias("n"),
)
result.print_schema()
result.order_by(col("name")).execute().print()
orders.select(
    col("revenue").sum.alias("s"),
    col("revenue").stddev_pop.alias("dev"),
    col("name").count.distinct.alias("names"),
    lit(1).count.alias("rows"),
).execute().print()
orders.group_by((col("revenue") > 9).alias("much")).select(
    col("much"), col("revenue").sum.distinct.alias("s")
).order_by(col("much")).execute().print()
