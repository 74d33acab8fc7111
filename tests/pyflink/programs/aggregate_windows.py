from __future__ import annotations

import os
import tempfile

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import AggregateFunction, udaf
from pyflink.table.window import Session, Tumble


class WeightedAvg(AggregateFunction):
    def create_accumulator(self):
        return [0, 0]

    def get_value(self, accumulator):
        return None if accumulator[1] == 0 else accumulator[0] / accumulator[1]

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def merge(self, accumulator, accumulators):
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_result_type(self):
        return DataTypes.DOUBLE()

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())


path = os.path.join(tempfile.mkdtemp(), "clicks.csv")
with open(path, "w") as file:
    file.write("2024-01-01 10:00:01.000,3,1\n2024-01-01 10:00:04.000,1,2\n")
    file.write("2024-01-01 10:00:06.000,5,3\n2024-01-01 10:00:12.000,2,4\n")
    file.write("2024-01-01 10:00:31.000,9,5\n")
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql(
    f"""
    CREATE TABLE clicks (
        ts TIMESTAMP(3), v INT, w INT, WATERMARK FOR ts AS ts
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
    """
)
clicks = t_env.from_path("clicks")
mean = udaf(WeightedAvg())
clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("x")).group_by(col("x")).select(
    col("x").start.alias("s"), mean(col("v"), col("w")).alias("mean"), col("v").sum.alias("total")
).execute().print()
clicks.window(Session.with_gap(lit(5).seconds).on(col("ts")).alias("x")).group_by(col("x")).select(
    col("x").start.alias("s"), col("x").end.alias("e"), mean(col("v"), col("w")).alias("mean")
).execute().print()
clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("x")).group_by(col("x")).aggregate(
    mean(col("v"), col("w")).alias("mean")
).select(col("x").start, col("mean")).execute().print()
