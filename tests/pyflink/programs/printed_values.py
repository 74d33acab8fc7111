from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set_local_timezone("UTC")
t_env.sql_query(
    """
    SELECT CAST(NULL AS INT) AS n, TRUE AS b, CAST(1.5 AS FLOAT) AS f, CAST(1E10 AS DOUBLE) AS d,
        CAST(12.5 AS DECIMAL(6, 3)) AS dec6, 'text' AS s, X'0aff' AS y
    """
).execute().print()
t_env.sql_query(
    """
    SELECT DATE '2024-02-29' AS d, TIME '10:11:12' AS t, TIMESTAMP '2024-02-29 10:11:12.5' AS ts,
        TO_TIMESTAMP_LTZ(0, 3) AS ltz, INTERVAL '3' DAY AS i, INTERVAL '2' MONTH AS m
    """
).execute().print()
t_env.sql_query(
    "SELECT ARRAY[1, 2, NULL] AS a, MAP['k', 1] AS m, ROW(1, 'x') AS r, ARRAY['a'] AS s"
).execute().print()
t_env.sql_query(
    "SELECT 'a text that is longer than thirty characters, so it is cut' AS s, 'ü中' AS wide"
).execute().print()
with (
    t_env.sql_query(
        """
    SELECT DATE '2024-02-29' AS d, TIME '10:11:12' AS t, TIMESTAMP '2024-02-29 10:11:12.5' AS ts,
        TO_TIMESTAMP_LTZ(0, 3) AS ltz, ARRAY[1, 2] AS a, MAP['k', 1] AS m, ROW(1, 'x') AS r,
        CAST(12.5 AS DECIMAL(6, 3)) AS dec6, X'0aff' AS y, INTERVAL '3' DAY AS i
    """
    )
    .execute()
    .collect() as rows
):
    for row in rows:
        print(row)
        print([type(value).__name__ for value in row])
