"""How awaited functions are called is a matter of the session's configuration."""

from __future__ import annotations

from scurry.functions.expressions import AsyncSettings
from scurry.table import EnvironmentSettings, TableEnvironment
from scurry.table.planner_options import options_of


def test_the_settings_of_awaited_functions() -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    assert options_of(environment).asynchronous == AsyncSettings(10, 180_000, 3, 100)
    config = environment.get_config()
    config.set("table.exec.async-scalar.max-concurrent-operations", "4")
    config.set("table.exec.async-scalar.timeout", "2 s")
    config.set("table.exec.async-scalar.retry-delay", "5 ms")
    config.set("table.exec.async-scalar.max-attempts", "7")
    assert options_of(environment).asynchronous == AsyncSettings(4, 2000, 7, 5)
    config.set("table.exec.async-scalar.retry-strategy", "NO_RETRY")
    assert options_of(environment).asynchronous.attempts == 1
