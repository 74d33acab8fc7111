from __future__ import annotations

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.window import Tumble


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set_local_timezone("UTC")
stream = env.from_collection(
    [("a", 1), ("b", 4), ("a", 12), ("a", 13)],
    type_info=Types.ROW_NAMED(["k", "s"], [Types.STRING(), Types.INT()]),
).assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
)
table = t_env.from_data_stream(
    stream,
    Schema.new_builder()
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .watermark("rowtime", "SOURCE_WATERMARK()")
    .build(),
)
table.print_schema()
counts = table.window(Tumble.over(lit(10).seconds).on(col("rowtime")).alias("w")).group_by(
    col("w"), col("k")
).select(col("k"), col("w").start.alias("start"), col("s").count.alias("n"))
with counts.execute().collect() as rows:
    print(sorted(str(row) for row in rows))
legacy = t_env.from_data_stream(stream, col("k"), col("s"), col("rowtime").rowtime)
legacy.print_schema()
