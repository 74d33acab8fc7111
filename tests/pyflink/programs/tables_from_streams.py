from __future__ import annotations

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment
from pyflink.table.expressions import col

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
stream = env.from_collection(
    [(1, "x"), (2, "y")], type_info=Types.ROW([Types.INT(), Types.STRING()])
)
table = t_env.from_data_stream(stream)
table.print_schema()
table.execute().print()
named = t_env.from_data_stream(stream, col("id"), col("name"))
named.print_schema()
with_schema = t_env.from_data_stream(
    stream,
    Schema.new_builder().column("f0", DataTypes.BIGINT()).column("f1", DataTypes.STRING()).build(),
)
with_schema.print_schema()
rows = env.from_collection(
    [Row("ann", 1), Row("bob", 2)],
    type_info=Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()]),
)
t_env.create_temporary_view("people", rows)
t_env.sql_query("SELECT name, n * 2 AS twice FROM people").execute().print()
single = env.from_collection(["a", "b"], type_info=Types.STRING())
t_env.from_data_stream(single, col("word")).execute().print()
changes = env.from_collection(
    [
        Row.of_kind(RowKind.INSERT, "ann", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "ann", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "ann", 5),
        Row.of_kind(RowKind.INSERT, "bob", 2),
    ],
    type_info=Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()]),
)
t_env.from_changelog_stream(changes).select(col("n").sum.alias("s")).execute().print()
