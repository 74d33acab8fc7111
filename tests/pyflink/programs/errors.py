from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udaf, udf, udtaf, udtf

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
table = t_env.from_elements([(1, "a")], ["id", "name"])


def check(what, kinds, action):
    try:
        action()
        print(what, "no error")
    except kinds:
        print(what, "refused")


class NoFunction:
    pass


check("not callable", TypeError, lambda: udf(NoFunction(), result_type=DataTypes.INT()))
check("class", TypeError, lambda: udf(NoFunction, result_type=DataTypes.INT()))
check("no result type", TypeError, lambda: udf(lambda i: i, input_types=[DataTypes.INT()]))
check("wrong result type", TypeError, lambda: udf(lambda i: i, result_type=int))
check(
    "wrong input type",
    TypeError,
    lambda: udf(lambda i: i, input_types=[int], result_type=DataTypes.INT()),
)
check(
    "func_type",
    ValueError,
    lambda: udf(lambda i: i, result_type=DataTypes.INT(), func_type="numpy"),
)
check(
    "udaf func_type",
    ValueError,
    lambda: udaf(lambda i: i, result_type=DataTypes.INT(), func_type="numpy"),
)
check(
    "udtaf func_type",
    ValueError,
    lambda: udtaf(lambda i: i, result_type=DataTypes.INT(), func_type="pandas"),
)
check("udtf types", TypeError, lambda: udtf(lambda i: i, result_types=[int]))
check("attribute", AttributeError, lambda: table.nothing)
check("settings", TypeError, lambda: TableEnvironment.create("batch"))
check("pandas", TypeError, lambda: t_env.from_pandas([1, 2]))
check("unknown column", Exception, lambda: table.select(col("nothing")))
check("syntax", Exception, lambda: t_env.sql_query("SELEC 1"))
check("types", Exception, lambda: t_env.sql_query("SELECT 1 + ARRAY[1]"))
check("no table", Exception, lambda: t_env.from_path("a.b.c"))
check("no catalog", Exception, lambda: t_env.use_catalog("nowhere"))
check("no database", Exception, lambda: t_env.use_database("nowhere"))
check(
    "twice",
    Exception,
    lambda: (t_env.create_temporary_view("v", table), t_env.create_temporary_view("v", table)),
)
check("rename", Exception, lambda: table.rename_columns(col("x").alias("y")))
check("add", Exception, lambda: table.add_columns(col("id")))
check(
    "verify",
    (TypeError, ValueError),
    lambda: t_env.from_elements([("a",)], DataTypes.ROW([DataTypes.FIELD("i", DataTypes.INT())])),
)
check("sink", Exception, lambda: table.execute_insert("nowhere"))
check("union", Exception, lambda: table.union_all(table.select(col("id"))))
