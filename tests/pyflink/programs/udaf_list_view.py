from __future__ import annotations

from pyflink.common import Row
from pyflink.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    ListView,
    TableEnvironment,
)
from pyflink.table.expressions import col
from pyflink.table.udf import udaf


class ListViewConcatAggregateFunction(AggregateFunction):
    def get_value(self, accumulator):
        return accumulator[1].join(accumulator[0])

    def create_accumulator(self):
        return Row(ListView(), "")

    def accumulate(self, accumulator, *args):
        accumulator[1] = args[1]
        accumulator[0].add(args[0])

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.LIST_VIEW(DataTypes.STRING())),
                DataTypes.FIELD("f1", DataTypes.BIGINT()),
            ]
        )

    def get_result_type(self):
        return DataTypes.STRING()


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("python.fn-execution.bundle.size", "1")
table = t_env.from_elements([("a", 1), ("b", 1), ("c", 2), ("d", 1)], ["name", "k"])
my_concat = udaf(ListViewConcatAggregateFunction())
table.group_by(col("k")).select(
    col("k"), my_concat(col("name"), ",").alias("all_"), col("name").count.alias("n")
).execute().print()
