from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.execute_sql(
    """
    CREATE TABLE orders (
        id INT COMMENT 'the number', price DECIMAL(10, 2), ts TIMESTAMP(3), info ROW<a INT>,
        twice AS price * 2, pt AS PROCTIME(),
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED
    ) WITH ('connector' = 'datagen')
    """
)
orders = t_env.from_path("orders")
orders.print_schema()
orders.select(col("id"), col("ts"), col("pt"), col("twice")).print_schema()
orders.filter(col("id") > 1).print_schema()
t_env.sql_query("SELECT * FROM orders").print_schema()
schema = orders.get_resolved_schema()
print(schema.get_column_names())
t_env.execute_sql("CREATE TEMPORARY VIEW cheap AS SELECT id, price FROM orders WHERE price < 5")
t_env.from_path("cheap").print_schema()
