from __future__ import annotations

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(1, "Hi"), (2, "Hello")], ["id", "data"])


@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("data", DataTypes.STRING())]
    )
)
def func1(id: int, data: str) -> Row:
    return Row(id, data * 2)


table.map(func1(col("id"), col("data"))).execute().print()
table.map(func1(col("id"), col("data"))).alias("a", "b").execute().print()


@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("data", DataTypes.STRING())]
    )
)
def func2(data: Row) -> Row:
    return Row(data.id, data.data * 2)


table.map(func2).execute().print()
table.map(func2).alias("x", "y").select(col("x") + 1, col("y")).execute().print()
add = udf(lambda x: x + 1, result_type=DataTypes.BIGINT())
table.map(add(col("id"))).execute().print()
table.map(add(col("id"))).print_schema()
