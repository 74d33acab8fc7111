from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(3, "c"), (1, "a"), (5, "e"), (2, "b"), (4, "d")], ["x", "y"])
table.order_by(col("x").desc).fetch(2).execute().print()
t_env.create_temporary_view("items", table)
t_env.sql_query(
    """
    SELECT x, y FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY x > 2 ORDER BY y DESC) AS n FROM items
    ) WHERE n <= 1
    """
).execute().print()
