from __future__ import annotations

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import TableAggregateFunction, udtaf


class Top2(TableAggregateFunction):
    def emit_value(self, accumulator):
        yield Row(accumulator[0])
        yield Row(accumulator[1])

    def create_accumulator(self):
        return [None, None]

    def accumulate(self, accumulator, row):
        if row.a is not None:
            if accumulator[0] is None or row.a > accumulator[0]:
                accumulator[1] = accumulator[0]
                accumulator[0] = row.a
            elif accumulator[1] is None or row.a > accumulator[1]:
                accumulator[1] = row.a

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT())])


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("python.fn-execution.bundle.size", "1")
top2 = udtaf(Top2())
table = t_env.from_elements(
    [(1, "Hi", "Hello"), (3, "Hi", "hi"), (5, "Hi2", "hi"), (7, "Hi", "Hello"), (2, "Hi", "x")],
    ["a", "b", "c"],
)
result = table.group_by(col("b")).flat_aggregate(top2).select(col("b"), col("a"))
result.execute().print()
result = table.group_by(col("b")).flat_aggregate(top2.alias("top")).select(col("b"), col("top"))
result.execute().print()
table.flat_aggregate(top2.alias("top")).select(col("top")).execute().print()
result.group_by(col("b")).select(col("b"), col("top").sum.alias("s")).execute().print()
