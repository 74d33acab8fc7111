"""What happens after a failure: how often, and how soon, a job is started again.

A strategy is pure data. Whoever supervises the job reads it and acts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from scurry.common.errors import ConfigurationError
from scurry.common.time import TimeSpan, milliseconds_of

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]

Span: TypeAlias = int | TimeSpan


def _interval(what: str, span: Span) -> timedelta:
    milliseconds = span if isinstance(span, int) else milliseconds_of(span)
    if milliseconds < 0:
        raise ConfigurationError(f"The {what} must be 0 ms or more, got {milliseconds} ms.")
    return timedelta(milliseconds=milliseconds)


def _count(what: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(
            f"The {what} must be a whole number from {least} on, got {value!r}."
        )
    return value


@dataclass(frozen=True, slots=True)
class RestartStrategyConfiguration:
    """What all strategies have in common; equal when they are of one sort with equal numbers."""

    def get_description(self) -> str:
        """The strategy in words."""
        return "no restart: the first failure ends the job"


class RestartStrategies:
    """The strategies to choose from; intervals are milliseconds or any length of time."""

    @dataclass(frozen=True, slots=True)
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A failure ends the job."""

    @dataclass(frozen=True, slots=True)
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The cluster's own setting decides."""

        def get_description(self) -> str:
            return "restart as the cluster is set up to"

    @dataclass(frozen=True, slots=True)
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A number of restarts, each after the same pause."""

        restart_attempts: int
        delay_between_attempts_interval: timedelta

        def get_restart_attempts(self) -> int:
            """How many restarts there are before the job fails for good."""
            return self.restart_attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """The pause before a restart."""
            return self.delay_between_attempts_interval

        def get_description(self) -> str:
            delay = milliseconds_of(self.delay_between_attempts_interval)
            return f"up to {self.restart_attempts} restarts, {delay} ms after each failure"

    @dataclass(frozen=True, slots=True)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as failures do not come too often."""

        max_failure_rate: int
        failure_interval: timedelta
        delay_between_attempts_interval: timedelta

        def get_max_failure_rate(self) -> int:
            """How many failures there may be within the interval."""
            return self.max_failure_rate

        def get_failure_interval(self) -> timedelta:
            """The interval over which failures are counted."""
            return self.failure_interval

        def get_delay_between_attempts_interval(self) -> timedelta:
            """The pause before a restart."""
            return self.delay_between_attempts_interval

        def get_description(self) -> str:
            delay = milliseconds_of(self.delay_between_attempts_interval)
            return (
                f"restart {delay} ms after each failure, up to {self.max_failure_rate} failures "
                f"in {milliseconds_of(self.failure_interval)} ms"
            )

    @staticmethod
    def no_restart() -> RestartStrategies.NoRestartStrategyConfiguration:
        """Fail the job at its first failure."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategies.FallbackRestartStrategyConfiguration:
        """Leave it to the cluster."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: Span
    ) -> RestartStrategies.FixedDelayRestartStrategyConfiguration:
        """Restart up to that many times, each time after that pause."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            _count("number of restart attempts", restart_attempts, 0),
            _interval("delay between restart attempts", delay_between_attempts),
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: Span, delay_interval: Span
    ) -> RestartStrategies.FailureRateRestartStrategyConfiguration:
        """Restart until there are more than `failure_rate` failures within the interval."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            _count("failure rate", failure_rate, 1),
            _interval("failure interval", failure_interval),
            _interval("delay between restart attempts", delay_interval),
        )
