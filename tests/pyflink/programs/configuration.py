from __future__ import annotations

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, SqlDialect, TableConfig, TableEnvironment

settings = (
    EnvironmentSettings.new_instance()
    .in_batch_mode()
    .with_built_in_catalog_name("cat")
    .with_built_in_database_name("base")
    .build()
)
print(
    settings.is_streaming_mode(),
    settings.get_built_in_catalog_name(),
    settings.get_built_in_database_name(),
)
print(EnvironmentSettings.in_streaming_mode().is_streaming_mode())
t_env = TableEnvironment.create(settings)
print(t_env.get_current_catalog(), t_env.get_current_database())
config = t_env.get_config()
config.set("parallelism.default", "4").set("pipeline.name", "job")
print(
    config.get("parallelism.default", ""),
    config.get("pipeline.name", ""),
    config.get("no.such.key", "default"),
)
config.set_local_timezone("Europe/Berlin")
print(config.get_local_timezone())
print(config.get_sql_dialect() == SqlDialect.DEFAULT, config.get_max_generated_code_length())
configuration = Configuration()
configuration.set_string("table.exec.state.ttl", "2 h")
configuration.set_integer("a.b", 3)
config.add_configuration(configuration)
print(
    config.get("table.exec.state.ttl", ""),
    config.get_configuration().get_string("table.exec.state.ttl", ""),
)
print(config.get_idle_state_retention())
own = TableConfig.get_default()
own.set("x", "y")
print(own.get("x", "z"))
from_configuration = TableEnvironment.create(
    EnvironmentSettings.new_instance().with_configuration(configuration).build()
)
print(from_configuration.get_config().get("table.exec.state.ttl", ""))
