from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
left = t_env.from_elements([(1, "one"), (2, "two"), (3, "three")], ["a", "b"])
right = t_env.from_elements([(2, "zwei"), (3, "drei"), (4, "vier")], ["c", "d"])
frame = left.join(right, col("a") == col("c")).to_pandas().sort_values("a").reset_index(drop=True)
print(frame)
frame = left.left_outer_join(right, col("a") == col("c")).to_pandas()
print(frame.sort_values("a").reset_index(drop=True))
try:
    left.join(left, col("a") == col("a"))
except Exception as error:
    print("join:", "ambiguous" in str(error).lower() or "both tables" in str(error).lower())
