from __future__ import annotations

from pyflink.table import AggregateFunction, DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udaf


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def mean_udaf(v):
    return v.mean()


class MaxAdd(AggregateFunction):
    def open(self, function_context):
        self.add = 1000

    def get_value(self, accumulator):
        return accumulator[0]

    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, *args):
        accumulator.append(max(args[0]) + args[1].sum() + self.add)

    def get_result_type(self):
        return DataTypes.BIGINT()


t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements(
    [("a", 1, 10), ("b", 2, 20), ("a", 4, 30), ("b", 6, 40), ("a", 5, 50)], ["k", "v", "w"]
)
max_add = udaf(MaxAdd(), result_type=DataTypes.BIGINT(), func_type="pandas")
grouped = table.group_by(col("k")).select(
    col("k"), mean_udaf(col("v")).alias("mean"), max_add(col("v"), col("w")).alias("most")
)
print(grouped.to_pandas().sort_values("k").reset_index(drop=True))
print(table.select(mean_udaf(col("v"))).to_pandas().iloc[0, 0])
