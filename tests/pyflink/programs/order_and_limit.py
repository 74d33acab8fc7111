from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(3, "c"), (1, "a"), (5, "e"), (2, "b"), (4, "d")], ["x", "y"])
table.order_by(col("x").desc).execute().print()
table.order_by(col("x").asc).offset(1).fetch(2).execute().print()
table.order_by(col("y")).fetch(3).execute().print()
table.order_by(col("x")).limit(2, 3).execute().print()
table.order_by(col("x") % 2, col("x").desc).execute().print()
