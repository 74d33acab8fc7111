from __future__ import annotations

import functools

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import call, col
from pyflink.table.udf import ScalarFunction, udf


class HashCode(ScalarFunction):
    def __init__(self):
        self.factor = 12

    def eval(self, s):
        return len(s) * self.factor


class Add:
    def __call__(self, i, j):
        return i + j


def partial_func(a, b, k):
    return a + b + k


@udf(input_types=[DataTypes.BIGINT(), DataTypes.BIGINT()], result_type=DataTypes.BIGINT())
def add(i, j):
    return i + j


@udf(result_type="STRING", name="shout")
def loud(s):
    return s.upper() + "!"


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
hash_code = udf(HashCode(), result_type=DataTypes.BIGINT())
by_lambda = udf(lambda i, j: i - j, input_types=["BIGINT", "BIGINT"], result_type="BIGINT")
by_object = udf(Add(), result_type=DataTypes.BIGINT())
by_partial = udf(functools.partial(partial_func, k=100), result_type=DataTypes.BIGINT())
none = udf(lambda s: None, result_type=DataTypes.STRING())
table = t_env.from_elements([(1, 2, "ab"), (3, 4, "cde")], ["a", "b", "s"])
t_env.create_temporary_system_function("h", HashCode()) if False else None
t_env.create_temporary_function("hash_code", hash_code)
t_env.create_temporary_system_function("add", add)
table.select(
    hash_code(col("s")).alias("h"),
    add(col("a"), col("b")).alias("sum_"),
    by_lambda(col("a"), col("b")).alias("minus"),
    by_object(col("a"), col("b")).alias("obj"),
    by_partial(col("a"), col("b")).alias("part"),
    loud(col("s")).alias("loud"),
    none(col("s")).alias("none"),
    call("hash_code", col("s")).alias("called"),
    call(add, col("a"), 1).alias("plus"),
).execute().print()
t_env.create_temporary_view("t", table)
t_env.sql_query(
    "SELECT add(a, b) AS x, hash_code(s) AS y FROM t WHERE add(a, 1) > 2"
).execute().print()
print(sorted(t_env.list_user_defined_functions()))
print(t_env.drop_temporary_function("hash_code"), t_env.drop_temporary_system_function("add"))
