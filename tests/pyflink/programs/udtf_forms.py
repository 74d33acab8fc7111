from __future__ import annotations

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import TableFunction, udtf


class Numbers(TableFunction):
    def eval(self, n):
        for i in range(n):
            yield i, "x" * i


@udtf(result_types=["INT", "STRING"])
def rows(n):
    return [Row(n, "one"), Row(n + 1, "two")]


@udtf(result_types=DataTypes.INT())
def single(n):
    return range(n)


@udtf(result_types=[DataTypes.INT()])
def nothing(n):
    return None if n > 1 else [n]


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(2,), (1,)], DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())]))
numbers = udtf(Numbers(), result_types=[DataTypes.INT(), DataTypes.STRING()])
table.join_lateral(numbers(col("n")).alias("i", "s")).join_lateral(
    single(col("n")).alias("k")
).select(col("n"), col("i"), col("s"), col("k")).execute().print()
table.join_lateral(rows(col("n")).alias("a", "b")).left_outer_join_lateral(
    nothing(col("n")).alias("z")
).execute().print()
