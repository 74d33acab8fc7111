from __future__ import annotations

import asyncio

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import AsyncScalarFunction, udf


class Lookup(AsyncScalarFunction):
    async def eval(self, key):
        await asyncio.sleep(0.01)
        return f"value of {key}"


@udf(result_type=DataTypes.BIGINT())
async def plus_one(n):
    await asyncio.sleep(0)
    return n + 1


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
lookup = udf(Lookup(), result_type=DataTypes.STRING())
# one row: PyFlink gives rows that wait for a function at the same time the values of the last
table = t_env.from_elements([(1,)], ["id"])
table.select(col("id"), lookup(col("id")).alias("v")).execute().print()
table.select(plus_one(col("id")).alias("p")).execute().print()
