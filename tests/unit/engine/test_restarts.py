"""When a failed job starts again, and when it gives up."""

from __future__ import annotations

import pytest

from scurry.common import Configuration, RestartStrategies
from scurry.common.errors import ConfigurationError, StateError
from scurry.engine.restarts import ExponentialDelay, FailureRate, restarts_of

FAILURE = RuntimeError("broken")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def configured(**options: str) -> Configuration:
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(f"restart-strategy.{key}".replace("_", "-"), value)
    return configuration


def test_without_a_strategy_the_first_failure_is_the_last() -> None:
    assert restarts_of(None, Configuration()).after(FAILURE) is None


def test_fixed_delay_counts_attempts() -> None:
    restarts = restarts_of(RestartStrategies.fixed_delay_restart(2, 300), Configuration())
    assert [restarts.after(FAILURE) for _ in range(3)] == [0.3, 0.3, None]


def test_the_configuration_names_a_strategy() -> None:
    configuration = configured(type="fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "1")
    configuration.set_string("restart-strategy.fixed-delay.delay", "2 s")
    restarts = restarts_of(RestartStrategies.fall_back_restart(), configuration)
    assert [restarts.after(FAILURE) for _ in range(2)] == [2.0, None]


def test_a_set_strategy_wins_over_the_configuration() -> None:
    restarts = restarts_of(RestartStrategies.no_restart(), configured(type="exponential-delay"))
    assert restarts.after(FAILURE) is None


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'often'.*one of none, fixed-delay"):
        restarts_of(None, configured(type="often"))


def test_failure_rate_forgets_old_failures() -> None:
    clock = Clock()
    restarts = FailureRate(2, 10.0, 0.5, clock)
    pauses = []
    for clock.now in (0, 1, 11, 12, 13):
        pauses.append(restarts.after(FAILURE))
    assert pauses == [0.5, 0.5, 0.5, 0.5, None]


def test_exponential_delay_grows_to_a_limit_and_starts_over() -> None:
    clock = Clock()
    restarts = ExponentialDelay(1.0, 5.0, 2.0, 60.0, 0.0, None, clock)
    assert [restarts.after(FAILURE) for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    clock.now = 100.0
    assert restarts.after(FAILURE) == 1.0


def test_exponential_delay_gives_up_after_its_attempts() -> None:
    restarts = ExponentialDelay(1.0, 5.0, 2.0, 60.0, 0.0, 2, Clock())
    assert [restarts.after(FAILURE) for _ in range(3)] == [1.0, 2.0, None]


def test_what_cannot_be_mended_is_not_tried_again() -> None:
    restarts = restarts_of(RestartStrategies.fixed_delay_restart(9, 0), Configuration())
    assert restarts.after(StateError("another parallelism")) is None
