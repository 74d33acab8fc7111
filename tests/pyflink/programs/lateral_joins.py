from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import call, col
from pyflink.table.udf import TableFunction, udtf


class Split(TableFunction):
    def eval(self, text):
        for word in text.split("|"):
            if word:
                yield word, len(word)


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
table = t_env.from_elements([(1, "a|bb"), (2, ""), (3, "ccc")], ["id", "line"])
split = udtf(Split(), result_types=[DataTypes.STRING(), DataTypes.INT()])
table.join_lateral(split(col("line")).alias("word", "length")).execute().print()
table.left_outer_join_lateral(split(col("line")).alias("word", "length")).select(
    col("id"), col("word"), col("length")
).execute().print()
t_env.create_temporary_system_function("split", split)
table.join_lateral(call("split", table.line).alias("word", "length")).select(
    col("id"), col("word")
).execute().print()
t_env.create_temporary_view("lines", table)
t_env.sql_query(
    "SELECT id, word, len FROM lines, LATERAL TABLE(split(line)) AS T(word, len)"
).execute().print()
t_env.sql_query(
    "SELECT id, word, len FROM lines LEFT JOIN LATERAL TABLE(split(line)) AS T(word, len) ON TRUE"
).execute().print()
