from __future__ import annotations

from pyflink.common import Row
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import AggregateFunction, udaf


class CountAndSumAggregateFunction(AggregateFunction):
    def get_value(self, accumulator):
        return Row(accumulator[0], accumulator[1])

    def create_accumulator(self):
        return Row(0, 0)

    def accumulate(self, accumulator, row):
        accumulator[0] += 1
        accumulator[1] += row.b

    def retract(self, accumulator, row):
        accumulator[0] -= 1
        accumulator[1] -= row.b

    def merge(self, accumulator, accumulators):
        for other_acc in accumulators:
            accumulator[0] += other_acc[0]
            accumulator[1] += other_acc[1]

    def get_accumulator_type(self):
        return "ROW<a BIGINT, b BIGINT>"

    def get_result_type(self):
        return "ROW<a BIGINT, b BIGINT>"


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("python.fn-execution.bundle.size", "1")
function = CountAndSumAggregateFunction()
agg = udaf(
    function,
    result_type=function.get_result_type(),
    accumulator_type=function.get_accumulator_type(),
    name=str(function.__class__.__name__),
)
table = t_env.from_elements([(1, 2), (2, 1), (1, 3), (2, 4)], ["a", "b"])
result = (
    table.group_by(col("a")).aggregate(agg.alias("c", "d")).select(col("a"), col("c"), col("d"))
)
result.execute().print()
table.aggregate(agg.alias("c", "d")).select(col("c"), col("d")).execute().print()
result.group_by(col("c")).select(col("c"), col("d").sum).execute().print()
