from __future__ import annotations

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, ListView, TableEnvironment
from pyflink.table.expressions import call, col
from pyflink.table.udf import TableAggregateFunction, udtaf


class ListViewConcatTableAggregateFunction(TableAggregateFunction):
    def emit_value(self, accumulator):
        result = accumulator[1].join(accumulator[0])
        yield Row(result)
        yield Row(result)

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
        return DataTypes.ROW([DataTypes.FIELD("a", DataTypes.STRING())])


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("python.fn-execution.bundle.size", "1")
my_concat = udtaf(ListViewConcatTableAggregateFunction())
table = t_env.from_elements([("a", "x"), ("b", "x"), ("c", "y")], ["data", "key"])
table.group_by(col("key")).flat_aggregate(my_concat(table.data, ",").alias("joined")).select(
    col("key"), col("joined")
).execute().print()
t_env.create_temporary_function("concat_all", my_concat)
table.group_by(col("key")).flat_aggregate(call("concat_all", col("data"), "-").alias("j")).select(
    col("j"), col("key")
).execute().print()
