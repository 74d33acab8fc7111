from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, concat, lit

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
orders = t_env.from_elements(
    [("Jack", "FRANCE", 10), ("Rose", "ENGLAND", 30), ("Jack", "FRANCE", 20)],
    ["name", "country", "revenue"],
)
orders.select(col("name"), col("revenue") * 2 + 1).execute().print()
orders.select(orders.name, orders.revenue.alias("r")).where(col("r") > 15).execute().print()
orders.filter((col("country") == "FRANCE") & ~(col("revenue") < 15)).execute().print()
orders.select(
    concat(col("name"), "-", col("country")), lit("x"), lit(1).alias("one")
).execute().print()
orders.alias("n", "c", "r").print_schema()
orders.select(col("*")).execute().print()
orders.distinct().execute().print()
orders.select(
    col("name").upper_case, col("country").substring(1, 3), col("name").like("J%")
).execute().print()
