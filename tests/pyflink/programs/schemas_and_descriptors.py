from __future__ import annotations

from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    Schema,
    TableDescriptor,
    TableEnvironment,
)
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
schema = (
    Schema.new_builder()
    .column("id", DataTypes.INT().not_null())
    .column("price", "DECIMAL(10, 2)")
    .column("ts", DataTypes.TIMESTAMP(3))
    .column_by_expression("twice", "price * 2")
    .column_by_metadata("origin", DataTypes.STRING(), "from", True)
    .watermark("ts", "ts - INTERVAL '5' SECOND")
    .primary_key("id")
    .build()
)
again = Schema.new_builder().from_schema(schema).column("more", DataTypes.STRING()).build()
print(again == schema, Schema.new_builder().from_schema(schema).build() == schema)
fields = Schema.new_builder().from_fields(["a", "b"], [DataTypes.INT(), DataTypes.STRING()]).build()
print(fields)
row = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.DATE())])
print(Schema.new_builder().from_row_data_type(row).build())
form = FormatDescriptor.for_format("json").option("ignore-parse-errors", "true").build()
print(form, form.get_format(), form.get_options())
descriptor = (
    TableDescriptor.for_connector("datagen")
    .schema(fields)
    .option("number-of-rows", "3")
    .option("fields.a.kind", "sequence")
    .option("fields.a.start", "1")
    .option("fields.a.end", "3")
    .option("fields.b.length", "2")
    .comment("numbers")
    .build()
)
print(descriptor.get_options()["connector"], descriptor.get_comment(), descriptor.get_partition_keys())
t_env.create_temporary_table("numbers", descriptor)
t_env.from_path("numbers").print_schema()
t_env.from_path("numbers").select(col("a"), col("b").char_length.alias("n")).execute().print()
t_env.from_descriptor(descriptor).select(col("a").sum.alias("s")).execute().print()
t_env.create_table("kept", descriptor)
t_env.create_table("kept", descriptor, True)
print("kept" in t_env.list_tables())
partitioned = (
    TableDescriptor.for_connector("filesystem")
    .schema(fields)
    .partitioned_by("b")
    .format(form)
    .option("path", "/tmp/nowhere")
    .build()
)
print(partitioned.get_partition_keys(), partitioned.get_options()["format"])
