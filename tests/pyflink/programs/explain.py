from __future__ import annotations

from pyflink.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t = t_env.from_elements([(1, "a")], ["id", "name"])
t_env.create_temporary_view("t", t)
t_env.execute_sql("CREATE TABLE snk (id BIGINT) WITH ('connector' = 'blackhole')")
for text in (
    t.filter(col("id") > 0).explain(),
    t.explain(
        ExplainDetail.CHANGELOG_MODE,
        ExplainDetail.ESTIMATED_COST,
        ExplainDetail.JSON_EXECUTION_PLAN,
    ),
    t_env.explain_sql("SELECT * FROM t"),
    t_env.explain_sql("INSERT INTO snk SELECT id FROM t"),
):
    print(isinstance(text, str), len(text) > 0)
statements = t_env.create_statement_set()
statements.add_insert_sql("INSERT INTO snk SELECT id FROM t")
print(len(statements.explain()) > 0)
