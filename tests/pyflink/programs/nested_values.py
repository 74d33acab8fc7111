from __future__ import annotations

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
person = DataTypes.ROW(
    [DataTypes.FIELD("name", DataTypes.STRING()), DataTypes.FIELD("age", DataTypes.INT())]
)
t = t_env.from_elements(
    [(1, Row("ann", 30), [1, 2], {"x": 1}), (2, None, None, None)],
    DataTypes.ROW(
        [
            DataTypes.FIELD("id", DataTypes.INT()),
            DataTypes.FIELD("p", person),
            DataTypes.FIELD("l", DataTypes.ARRAY(DataTypes.INT())),
            DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
        ]
    ),
)
t.select(col("id"), col("p").get("name"), col("p").get(1)).execute().print()
t.select(col("p").flatten).execute().print()
t.select(col("l").at(1), col("l").cardinality, col("m").at("x"), col("l").element).print_schema()
t.select(col("l").at(1).alias("first"), col("m").at("x").alias("x")).execute().print()
t_env.create_temporary_view("t", t)
t_env.sql_query("SELECT id, t.p.name, t.p.age + 1 AS older FROM t").execute().print()
t_env.sql_query("SELECT id, e FROM t CROSS JOIN UNNEST(l) AS u(e)").execute().print()
with t.execute().collect() as rows:
    for row in rows:
        print(row[1], row[2], row[3])
