from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
print(t_env.list_modules())
print(t_env.list_full_modules())
functions = t_env.list_functions()
print("sum" in functions, "upper" in functions, "nothing" in functions)
print(t_env.list_user_defined_functions())
t_env.unload_module("core")
print(t_env.list_modules())
