from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment, TableSchema

schema = TableSchema.Builder().field("a", DataTypes.INT()).field("b", DataTypes.STRING()).build()
print(schema)
print(schema.get_field_names(), schema.get_field_data_types(), schema.get_field_count())
print(schema.get_field_name(0), repr(schema.get_field_data_type("b")), repr(schema.to_row_data_type()))
print(schema == TableSchema(["a", "b"], [DataTypes.INT(), DataTypes.STRING()]))
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
table = t_env.from_elements([(1, "x")], ["a", "b"])
print(table.get_schema())
resolved = table.get_resolved_schema()
print(resolved)
print(resolved.get_column_count(), resolved.get_column_names(), resolved.get_column_data_types())
print(
    resolved.get_column("a"),
    resolved.get_column(1),
    resolved.get_primary_key(),
    resolved.get_watermark_specs(),
)
print(repr(resolved.to_physical_row_data_type()))
print([str(column) for column in resolved.get_columns()])
