from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
orders = t_env.from_elements(
    [("Jack", 10), ("Rose", 30), ("Jack", 20), ("Rose", 5), ("Jack", 1)], ["name", "revenue"]
)
totals = orders.group_by(col("name")).select(
    col("name"), col("revenue").sum.alias("total"), col("revenue").max.alias("top")
)
totals.execute().print()
totals.group_by((col("total") > 30).alias("rich")).select(
    col("rich"), col("name").count.alias("n")
).execute().print()
with totals.execute().collect() as rows:
    for row in rows:
        print(row.get_row_kind(), row, row[1])
