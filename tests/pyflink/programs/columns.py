from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import (
    col,
    concat,
    range_,
    with_all_columns,
    with_columns,
    without_columns,
)

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(1, "x", 2.0), (2, "y", 4.0)], ["a", "b", "c"])
table.add_columns(concat(col("b"), "!").alias("d")).execute().print()
table.add_or_replace_columns(concat(col("b"), "!").alias("b")).execute().print()
table.drop_columns(col("a"), col("c")).execute().print()
table.rename_columns(col("a").alias("a2"), col("b").alias("b2")).print_schema()
table.select(with_columns(range_("a", "b"))).print_schema()
table.select(with_columns(range_(2, 3))).print_schema()
table.select(without_columns(col("b"))).print_schema()
table.select(with_all_columns(), (col("a") + 1).alias("next")).execute().print()
