"""Functions with result types as texts; decimals are rounded to the digits of their type."""

import datetime
from decimal import Decimal

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf, udtf

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
numbers = ["0.0005", "0.0015", "0.0025", "-0.0015", "1234567.8915", "9999999.9994", "1E+2"]
table = t_env.from_elements(list(enumerate(numbers, 1)), ["n", "s"])

functions = {
    "INT": udf(lambda n: n + 1, result_type="INT"),
    "ROW": udf(lambda n: Row(n, str(n)), result_type="ROW<a INT, b STRING>"),
    "ARRAY": udf(lambda n: [n, n], result_type="ARRAY<BIGINT>"),
    "MAP": udf(lambda n: {"k": n}, result_type="MAP<STRING, BIGINT>"),
    "DECIMAL": udf(lambda n: Decimal(n) / 3, result_type="DECIMAL(10, 3)"),
    "decimals": udf(lambda n: [Decimal(n) / 3], result_type="ARRAY<DECIMAL(10, 3)>"),
    "TIMESTAMP": udf(lambda n: datetime.datetime(2020, 1, n, 1, 2), result_type="TIMESTAMP(3)"),
    "DATE": udf(lambda n: datetime.date(2020, 1, n), result_type="DATE"),
    "TIME": udf(lambda n: datetime.time(n, 1, 2), result_type="TIME"),
    "BYTES": udf(lambda n: str(n).encode(), result_type="BYTES"),
    "BOOLEAN": udf(lambda n: n > 1, result_type="BOOLEAN"),
    "NOT NULL": udf(lambda n: n, result_type="BIGINT NOT NULL"),
    "NULL": udf(lambda n: None, result_type="INT"),
    "FLOAT": udf(lambda n: n + 0.5, result_type="FLOAT"),
}
for name, function in functions.items():
    with table.select(function(col("n"))).execute().collect() as rows:
        print(name, [row[0] for row in rows])

exact = udf(lambda s: Decimal(s), result_type="DECIMAL(10, 3)", name="exact")
with table.select(col("s"), exact(col("s"))).execute().collect() as rows:
    for row in rows:
        print(row[0], row[1])

pairs = udtf(lambda n: [(i, str(i)) for i in range(n)], result_types=["INT", "STRING"])
plain = udtf(lambda n: range(n), result_types=DataTypes.BIGINT())
for joined in (
    table.join_lateral(pairs(col("n")).alias("i", "j")).select(col("n"), col("i"), col("j")),
    table.left_outer_join_lateral(plain(col("n") - 1).alias("i")).select(col("n"), col("i")),
):
    with joined.execute().collect() as rows:
        print(sorted(str(row) for row in rows))
