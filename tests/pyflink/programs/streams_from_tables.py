from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment
from pyflink.table.expressions import col

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
table = t_env.from_elements([(1, "a"), (2, "b"), (1, "c")], ["id", "name"])
stream = t_env.to_data_stream(table)
for row in stream.execute_and_collect():
    print(row)
counts = table.group_by(col("id")).select(col("id"), col("name").count.alias("n"))
for row in t_env.to_changelog_stream(counts).execute_and_collect():
    print(row.get_row_kind(), row)
typed = t_env.to_append_stream(table, Types.ROW([Types.LONG(), Types.STRING()]))
for row in typed.map(lambda r: r[1] + "!", output_type=Types.STRING()).execute_and_collect():
    print(row)
for flag in t_env.to_retract_stream(
    counts, Types.ROW([Types.LONG(), Types.LONG()])
).execute_and_collect():
    print(flag)
