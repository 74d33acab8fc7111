from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
try:
    t_env.create_java_temporary_function("f", "com.example.NoSuchFunction")
    print("made")
except Exception:
    print("refused")
