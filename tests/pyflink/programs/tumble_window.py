from __future__ import annotations

import os
import tempfile

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.window import Tumble

directory = tempfile.mkdtemp()
path = os.path.join(directory, "clicks.csv")
with open(path, "w") as file:
    file.write("2024-01-01 10:00:01.000,ann,3\n2024-01-01 10:00:04.000,bob,1\n")
    file.write("2024-01-01 10:00:03.000,ann,5\n2024-01-01 10:00:12.000,bob,2\n")
    file.write("2024-01-01 10:00:31.000,ann,9\n")
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.create_temporary_table(
    "clicks",
    TableDescriptor.for_connector("filesystem")
    .schema(
        Schema.new_builder()
        .column("ts", DataTypes.TIMESTAMP(3))
        .column("name", DataTypes.STRING())
        .column("n", DataTypes.INT())
        .watermark("ts", "ts - INTERVAL '5' SECOND")
        .build()
    )
    .option("path", path)
    .format("csv")
    .build(),
)
clicks = t_env.from_path("clicks")
clicks.print_schema()
clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w")).group_by(
    col("name"), col("w")
).select(
    col("name"),
    col("w").start.alias("start"),
    col("w").end.alias("end"),
    col("n").sum.alias("total"),
).execute().print()
clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w")).group_by(col("w")).select(
    col("w").rowtime.alias("at"), col("n").count.alias("rows")
).execute().print()
t_env.execute_sql(
    """
    SELECT window_start, window_end, SUM(n) AS total
    FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND))
    GROUP BY window_start, window_end
    """
).print()
