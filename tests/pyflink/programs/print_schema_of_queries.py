from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, concat, lit
from pyflink.table.udf import udf, udtf

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t = t_env.from_elements(
    [(1, "a", None)],
    DataTypes.ROW(
        [
            DataTypes.FIELD("i", DataTypes.INT()),
            DataTypes.FIELD("s", DataTypes.STRING()),
            DataTypes.FIELD("d", DataTypes.DECIMAL(10, 2)),
        ]
    ),
)
f = udf(lambda x: x, result_type=DataTypes.DOUBLE())
g = udtf(lambda x: [x], result_types=[DataTypes.STRING(), DataTypes.INT()])
t.select(col("i") + 1, col("s"), col("d") * 2, f(col("i")), concat(col("s"), "x")).print_schema()
t.select(col("i") + 1, col("s").alias("x"), col("i") + 2).print_schema()
t.group_by(col("s")).select(
    col("s"), col("i").sum, col("i").avg, col("d").sum, col("d").avg, col("i").count
).print_schema()
t.select(col("i").max, lit(1), col("i").count.alias("c")).print_schema()
t.join_lateral(g(col("s")).alias("a", "b")).print_schema()
t.left_outer_join_lateral(g(col("s")).alias("a", "b")).print_schema()
t.flat_map(g(col("s"))).print_schema()
t.map(f(col("i"))).print_schema()
t.union_all(t).print_schema()
t.select(lit("x"), lit(1.5), lit(True), lit(2).cast(DataTypes.BIGINT())).print_schema()
