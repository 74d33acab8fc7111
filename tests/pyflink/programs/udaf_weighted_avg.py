from __future__ import annotations

from pyflink.common import Row
from pyflink.table import AggregateFunction, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import call, col
from pyflink.table.udf import udaf


class WeightedAvg(AggregateFunction):
    def create_accumulator(self):
        return Row(0, 0)

    def get_value(self, accumulator):
        if accumulator[1] == 0:
            return None
        return accumulator[0] / accumulator[1]

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator, value, weight):
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def get_result_type(self):
        return "DOUBLE"

    def get_accumulator_type(self):
        return "ROW<f0 BIGINT, f1 BIGINT>"


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("python.fn-execution.bundle.size", "1")
weighted_avg = udaf(
    WeightedAvg(),
    result_type="DOUBLE",
    accumulator_type="ROW<f0 BIGINT, f1 BIGINT>",
    name="weighted",
)
table = t_env.from_elements(
    [(1, 2, "Lee"), (3, 4, "Jay"), (5, 6, "Jay"), (7, 8, "Lee")], ["value", "count", "name"]
)
t_env.create_temporary_function("weighted_avg", weighted_avg)
table.group_by(col("name")).select(
    col("name"), call("weighted_avg", col("value"), col("count")).alias("avg_")
).execute().print()
result = table.group_by(col("name")).select(weighted_avg(col("value"), col("count")).alias("avg"))
print(result.to_pandas().sort_values("avg").reset_index(drop=True))
