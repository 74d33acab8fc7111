from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
schema = (
    Schema.new_builder()
    .column("id", DataTypes.INT().not_null())
    .column("price", "DECIMAL(10, 2)")
    .column("ts", DataTypes.TIMESTAMP(3))
    .column_by_expression("twice", "price * 2")
    .column_by_expression("pt", "PROCTIME()")
    .watermark("ts", "ts - INTERVAL '5' SECOND")
    .primary_key("id")
    .build()
)
t_env.create_temporary_table(
    "orders", TableDescriptor.for_connector("datagen").schema(schema).build()
)
orders = t_env.from_path("orders")
orders.print_schema()
orders.select(col("id"), col("ts"), col("pt"), col("twice")).print_schema()
orders.filter(col("id") > 1).print_schema()
print(orders.get_resolved_schema().get_column_names())
t_env.execute_sql("CREATE TEMPORARY VIEW cheap AS SELECT id, price FROM orders WHERE price < 5")
t_env.from_path("cheap").print_schema()
t_env.execute_sql("CREATE TABLE noted (a INT COMMENT 'a number') WITH ('connector' = 'datagen')")
t_env.from_path("noted").print_schema()
