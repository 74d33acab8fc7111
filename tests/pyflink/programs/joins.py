from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
left = t_env.from_elements([(1, "one"), (2, "two"), (3, "three")], ["a", "b"])
right = t_env.from_elements([(2, "zwei"), (3, "drei"), (4, "vier")], ["c", "d"])
left.join(right).where(col("a") == col("c")).select(col("b"), col("d")).order_by(
    col("b")
).execute().print()
left.join(right, col("a") == col("c")).order_by(col("a")).execute().print()
left.left_outer_join(right, col("a") == col("c")).order_by(col("a")).execute().print()
left.right_outer_join(right, col("a") == col("c")).order_by(col("c")).execute().print()
left.full_outer_join(right, (col("a") == col("c")) & (col("a") > 2)).order_by(
    col("a"), col("c")
).execute().print()
