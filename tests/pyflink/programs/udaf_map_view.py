from __future__ import annotations

from pyflink.common import Row
from pyflink.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    MapView,
    TableEnvironment,
)
from pyflink.table.expressions import col
from pyflink.table.udf import udaf


class DistinctCount(AggregateFunction):
    """Counts the different values, of which some are taken back."""

    def create_accumulator(self):
        return Row(MapView(), 0)

    def get_value(self, accumulator):
        return accumulator[1]

    def accumulate(self, accumulator, value):
        seen = accumulator[0]
        if value in seen:
            seen[value] = seen[value] + 1
        else:
            seen.put(value, 1)
            accumulator[1] += 1

    def retract(self, accumulator, value):
        seen = accumulator[0]
        if seen.contains(value):
            left = seen.get(value) - 1
            if left:
                seen.put(value, left)
            else:
                seen.remove(value)
                accumulator[1] -= 1

    def get_accumulator_type(self):
        return (
            "ROW<seen MAP_VIEW<BIGINT, BIGINT>, n BIGINT>"
            if False
            else DataTypes.ROW(
                [
                    DataTypes.FIELD(
                        "seen", DataTypes.MAP_VIEW(DataTypes.BIGINT(), DataTypes.BIGINT())
                    ),
                    DataTypes.FIELD("n", DataTypes.BIGINT()),
                ]
            )
        )

    def get_result_type(self):
        return DataTypes.BIGINT()


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("python.fn-execution.bundle.size", "1")
table = t_env.from_elements(
    [("a", 1), ("b", 1), ("a", 2), ("c", 3), ("b", 2), ("a", 1)], ["k", "v"]
)
distinct = udaf(DistinctCount())
sums = table.group_by(col("k")).select(col("k"), col("v").sum.alias("s"))
sums.select(distinct(col("s")).alias("sums")).execute().print()
t_env.create_temporary_function("distinct_count", distinct)
t_env.create_temporary_view("t", table)
t_env.sql_query(
    "SELECT k, distinct_count(v) AS n, COUNT(DISTINCT v) AS same FROM t GROUP BY k"
).execute().print()
