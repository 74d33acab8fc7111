"""Restarting a job after a failure: the strategies of Flink, applied.

A strategy is asked after each failure how long to wait before the next attempt, and answers None
when there shall be none. Failures that another attempt cannot mend, such as a checkpoint that does
not fit the program, are never retried.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError, ProgramError, StateError
from scurry.common.options import restarts as options
from scurry.common.options.option import Option
from scurry.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration

_HOPELESS = (ConfigurationError, ProgramError, StateError, KeyboardInterrupt, SystemExit)


class Restarts:
    """No restarts at all, and what the other strategies have in common."""

    def after(self, failure: BaseException) -> float | None:
        """Seconds to wait before the next attempt, None to give up."""
        return None if isinstance(failure, _HOPELESS) else self._pause()

    def _pause(self) -> float | None:
        return None


class FixedDelay(Restarts):
    """Up to ``attempts`` restarts, each after ``delay`` seconds."""

    def __init__(self, attempts: int, delay: float) -> None:
        self._left = attempts
        self._delay = delay

    def _pause(self) -> float | None:
        self._left -= 1
        return None if self._left < 0 else self._delay


class FailureRate(Restarts):
    """Restarts until there are more than ``most`` failures within ``interval`` seconds."""

    def __init__(
        self, most: int, interval: float, delay: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._interval = interval
        self._delay = delay
        self._clock = clock
        self._failures: deque[float] = deque()

    def _pause(self) -> float | None:
        now = self._clock()
        self._failures.append(now)
        while self._failures[0] <= now - self._interval:
            self._failures.popleft()
        return None if len(self._failures) > self._most else self._delay


class ExponentialDelay(Restarts):
    """Restarts after a pause that grows with each failure, and shrinks back to ``first`` once the
    job has run for ``reset_after`` seconds without one."""

    def __init__(
        self,
        first: float,
        longest: float,
        factor: float,
        reset_after: float,
        jitter: float,
        attempts: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first = self._next = first
        self._longest = longest
        self._factor = factor
        self._reset_after = reset_after
        self._jitter = jitter
        self._attempts = attempts
        self._count = 0
        self._clock = clock
        self._resumed = float("-inf")

    def _pause(self) -> float | None:
        now = self._clock()
        if now - self._resumed >= self._reset_after:
            self._next, self._count = self._first, 0
        self._count += 1
        if self._attempts is not None and self._count > self._attempts:
            return None
        spread = self._next * self._jitter
        pause = min(self._longest, max(0.0, self._next + random.uniform(-spread, spread)))
        self._next = min(self._longest, self._next * self._factor)
        self._resumed = now + pause
        return pause


def restarts_of(
    strategy: RestartStrategyConfiguration | None, configuration: Configuration
) -> Restarts:
    """What the program's ``set_restart_strategy`` says, or else the configuration."""
    if isinstance(strategy, RestartStrategies.FixedDelayRestartStrategyConfiguration):
        return FixedDelay(
            strategy.restart_attempts, strategy.delay_between_attempts_interval.total_seconds()
        )
    if isinstance(strategy, RestartStrategies.FailureRateRestartStrategyConfiguration):
        return FailureRate(
            strategy.max_failure_rate,
            strategy.failure_interval.total_seconds(),
            strategy.delay_between_attempts_interval.total_seconds(),
        )
    if isinstance(strategy, RestartStrategies.NoRestartStrategyConfiguration):
        return Restarts()
    return _configured(configuration)


def _configured(configuration: Configuration) -> Restarts:
    kind = options.RESTART_STRATEGY.read(configuration)

    def seconds(option: Option[int]) -> float:
        return option.read(configuration) / 1000

    if kind == "fixed-delay":
        return FixedDelay(options.FIXED_ATTEMPTS.read(configuration), seconds(options.FIXED_DELAY))
    if kind == "failure-rate":
        return FailureRate(
            options.FAILURES_PER_INTERVAL.read(configuration),
            seconds(options.FAILURE_INTERVAL),
            seconds(options.FAILURE_RATE_DELAY),
        )
    if kind == "exponential-delay":
        return ExponentialDelay(
            seconds(options.FIRST_BACKOFF),
            seconds(options.LONGEST_BACKOFF),
            options.BACKOFF_FACTOR.read(configuration),
            seconds(options.BACKOFF_RESET),
            options.BACKOFF_JITTER.read(configuration),
            options.BACKOFF_ATTEMPTS.read(configuration),
        )
    return Restarts()
