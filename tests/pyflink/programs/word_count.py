from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udtf

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
lines = t_env.from_elements(
    [("to be or not to be",), ("that is the question",), ("to be",)],
    DataTypes.ROW([DataTypes.FIELD("line", DataTypes.STRING())]),
)


@udtf(result_types=[DataTypes.STRING()])
def split(line):
    for word in line.split():
        yield word


counted = (
    lines.flat_map(split(col("line")))
    .alias("word")
    .group_by(col("word"))
    .select(col("word"), lit(1).count.alias("count"))
)
counted.print_schema()
counted.execute().print()
