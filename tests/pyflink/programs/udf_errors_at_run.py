from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf


@udf(result_type=DataTypes.BIGINT())
def fails(n):
    if n == 2:
        raise ValueError("two is not allowed")
    return n


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(1,), (2,)], ["n"])
try:
    with table.select(fails(col("n"))).execute().collect() as rows:
        print(len([row for row in rows]))
except Exception as error:
    print("failed", "two is not allowed" in str(error))
