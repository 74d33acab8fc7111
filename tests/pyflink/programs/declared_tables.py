"""Schemas and declarations of tables, as they are shown in streaming and in batch mode."""

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment

DECLARATION = """
CREATE TABLE s (
  a INT NOT NULL,
  b STRING,
  `my col` ROW<x INT, `y z` STRING>,
  c AS a + 1 COMMENT 'computed',
  place STRING METADATA FROM 'file.path' VIRTUAL,
  ts TIMESTAMP(3),
  ltz TIMESTAMP_LTZ(3),
  p AS PROCTIME(),
  d AS UPPER(b) || '-x',
  e AS CAST(b AS INT),
  f AS CASE WHEN a > 1 THEN 'x' ELSE 'y' END,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  PRIMARY KEY (a) NOT ENFORCED
) COMMENT 'hello' PARTITIONED BY (b)
WITH ('connector' = 'filesystem', 'path' = '/tmp/nowhere', 'format' = 'json')
"""
for settings in (EnvironmentSettings.in_streaming_mode(), EnvironmentSettings.in_batch_mode()):
    environment = TableEnvironment.create(settings)
    environment.execute_sql(DECLARATION)
    table = environment.from_path("s")
    table.print_schema()
    print(table.get_schema())
    environment.execute_sql("DESCRIBE s").print()
    with environment.execute_sql("SHOW CREATE TABLE s").collect() as rows:
        print(next(iter(rows))[0])
    try:
        table.select(table.a, table.a)
    except Exception:
        print("no column twice")
    schema = (
        Schema.new_builder()
        .column("a", DataTypes.INT().not_null())
        .column("ts", DataTypes.TIMESTAMP(3))
        .column_by_expression("b", "a * 2")
        .column_by_metadata("m", DataTypes.STRING(), "file.name", True)
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .primary_key("a")
        .build()
    )
    print(schema)
    descriptor = TableDescriptor.for_connector("blackhole").schema(
        Schema.new_builder().column("a", DataTypes.INT()).build()
    )
    print(environment.create_table("t", descriptor.build()))
    print(environment.create_table("t", descriptor.build(), True))
    print(environment.create_temporary_table("t", descriptor.build()))
