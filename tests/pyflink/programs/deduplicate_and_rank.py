from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.create_temporary_view(
    "sales",
    t_env.from_elements([("a", 3), ("b", 5), ("a", 9), ("b", 1), ("a", 4)], ["shop", "amount"]),
)
t_env.sql_query(
    "SELECT shop, amount, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY amount DESC) AS n FROM sales) "
    "WHERE n <= 2 ORDER BY shop, n"
).execute().print()
t_env.sql_query(
    "SELECT shop, SUM(amount) AS total FROM sales GROUP BY shop HAVING SUM(amount) > 6 ORDER BY shop"
).execute().print()
