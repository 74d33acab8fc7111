from __future__ import annotations

import pandas as pd
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import ScalarFunction, udf


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def add(i, j):
    return i + j


class Scale(ScalarFunction):
    def open(self, function_context):
        self.factor = 10

    def eval(self, v):
        return v * self.factor


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(1, 2, "a", 0.5), (3, 4, None, None)], ["a", "b", "s", "f"])
scale = udf(Scale(), result_type=DataTypes.DOUBLE(), func_type="pandas")
upper = udf(lambda s: s.str.upper(), result_type=DataTypes.STRING(), func_type="pandas")
table.select(
    add(col("a"), col("b")).alias("sum_"),
    scale(col("f")).alias("scaled"),
    upper(col("s")).alias("upper"),
    (add(col("a"), 1) + 1).alias("plus"),
).execute().print()


@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
    ),
    func_type="pandas",
)
def both(frame):
    return pd.concat([frame.a * 2, frame.b * 3], axis=1)


table.select(col("a"), col("b")).map(both).alias("x", "y").execute().print()
