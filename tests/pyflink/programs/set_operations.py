from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
left = t_env.from_elements([(1, "a"), (1, "a"), (2, "b"), (3, "c")], ["x", "y"])
right = t_env.from_elements([(1, "a"), (3, "c"), (3, "c"), (4, "d")], ["x", "y"])
for made in (
    left.union(right),
    left.union_all(right),
    left.intersect(right),
    left.intersect_all(right),
    left.minus(right),
    left.minus_all(right),
):
    made.order_by(col("x")).execute().print()
left.where(col("x").in_(right.select(col("x")))).order_by(col("x")).execute().print()
left.where(col("x").in_(2, 3)).order_by(col("x")).execute().print()
