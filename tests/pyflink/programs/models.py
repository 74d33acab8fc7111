from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableEnvironment
from pyflink.table.catalog import ObjectPath
from pyflink.table.model_descriptor import ModelDescriptor
from pyflink.util.exceptions import ModelNotExistException

inputs = Schema.new_builder().column("text", DataTypes.STRING()).build()
outputs = Schema.new_builder().column("label", DataTypes.STRING()).build()
descriptor = (
    ModelDescriptor.for_provider("openai")
    .input_schema(inputs)
    .output_schema(outputs)
    .option("task", "classify")
    .comment("labels texts")
    .build()
)
print(sorted(dict(descriptor.get_options()).items()))
print(
    descriptor.get_input_schema() == inputs,
    descriptor.get_output_schema() == outputs,
    descriptor.get_comment(),
)
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.create_model("m", descriptor)
t_env.create_temporary_model("n", descriptor)
print(t_env.list_models(), t_env.list_temporary_models())
t_env.create_model("m", descriptor, True)
catalog = t_env.get_catalog("default_catalog")
path = ObjectPath("default_database", "m")
print(
    catalog.list_models("default_database"),
    catalog.model_exists(path),
    catalog.get_model(path).get_comment(),
)
print(
    t_env.drop_model("m"),
    t_env.drop_model("m"),
    t_env.drop_temporary_model("n"),
    t_env.list_models(),
)
try:
    catalog.get_model(path)
except ModelNotExistException:
    print("gone")
