from __future__ import annotations

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udtf

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(1, "Hi,Flink"), (2, "Hello"), (3, "")], ["id", "data"])


@udtf(result_types=[DataTypes.INT(), DataTypes.STRING()])
def split(row: Row) -> Row:
    for s in row.data.split(","):
        yield row.id, s


table.flat_map(split).execute().print()
table.flat_map(split).alias("i", "s").execute().print()


@udtf(result_types=[DataTypes.STRING()])
def words(text):
    return text.split(",")


table.flat_map(words(col("data"))).alias("w").execute().print()
table.join_lateral(split.alias("a", "b")).execute().print()
table.left_outer_join_lateral(split.alias("a", "b")).select(col("id"), col("b")).execute().print()
