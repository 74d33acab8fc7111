"""`DataGeneratorSource`: records made up by a function of their number.

The function gets 0, 1, 2, ... and must give the same record for the same number every time; then a
repeated micro-batch has the same records. For randomness take a generator seeded by the number:
:class:`SeededGeneratorFunction` does. Numbers are dealt out to as many partitions as the source has
tasks, in turn, so each partition has an even share of the rate.
"""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from scurry.common.copies import take
from scurry.common.errors import ProgramError
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.functions.source import (
    LAG,
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

_READ_ROWS = 16_384
#: The first multiplier of a well-known family of generators; spreads neighbouring numbers.
_SPREAD = 0x9E3779B97F4A7C15


class GeneratorFunction(ABC):
    """Makes the record of a number."""

    @abstractmethod
    def map(self, value: int) -> Any:
        """The record with number ``value``, the same every time."""


class SeededGeneratorFunction(GeneratorFunction):
    """Makes random records that are the same every time."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def map(self, value: int) -> Any:
        spread = (value + 1) * _SPREAD & 0xFFFFFFFFFFFFFFFF
        return self.generate(random.Random(spread ^ self._seed), value)

    @abstractmethod
    def generate(self, rng: random.Random, value: int) -> Any:
        """The record with number ``value``; all randomness comes from ``rng``."""


class _Lambda(GeneratorFunction):
    def __init__(self, function: Callable[[int], Any]) -> None:
        self._function = function

    def map(self, value: int) -> Any:
        return self._function(value)


@dataclass(frozen=True)
class RateLimiterStrategy:
    """How fast records come."""

    records_per_second: float | None = None
    records_per_batch: int | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """So many records a second, over all tasks."""
        if records_per_second <= 0:
            raise ProgramError(f"per_second needs a positive rate, got {records_per_second}.")
        return RateLimiterStrategy(records_per_second=records_per_second)

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """So many records in each micro-batch, over all tasks."""
        if records_per_checkpoint < 1:
            raise ProgramError(
                f"per_checkpoint needs a positive number, got {records_per_checkpoint}."
            )
        return RateLimiterStrategy(records_per_batch=records_per_checkpoint)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """As fast as they are taken."""
        return RateLimiterStrategy()


class DataGeneratorSource(Source):
    """``count`` records, made by ``generator_function`` of their numbers."""

    def __init__(
        self,
        generator_function: GeneratorFunction | Callable[[int], Any],
        count: int,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        type_info: TypeInformation | type | None = None,
    ) -> None:
        if not isinstance(generator_function, GeneratorFunction):
            if not callable(generator_function):
                raise ProgramError(
                    f"DataGeneratorSource needs a GeneratorFunction or a function of a number, "
                    f"got {generator_function!r}."
                )
            generator_function = _Lambda(generator_function)
        if count < 0:
            raise ProgramError(f"DataGeneratorSource: count must not be negative, got {count}.")
        if type_info is not None and not isinstance(type_info, TypeInformation):
            type_info = Types.of(type_info)
        self._function = generator_function
        self._count = count
        self._limit = rate_limiter_strategy or RateLimiterStrategy.no_op()
        self._type = type_info

    @property
    def type_info(self) -> TypeInformation | None:
        return self._type

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return NumberEnumerator(self._count, parallelism, self._limit)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        start, end, step = what
        numbers = range(start, end, step)
        for at in range(0, len(numbers), _READ_ROWS):
            rows: list[Any] = []
            take(rows, (self._function.map(one) for one in numbers[at : at + _READ_ROWS]))
            yield SourceBatch(rows=rows)


class NumberEnumerator(SourceEnumerator):
    """Numbers up to ``count``, no faster than the limit."""

    def __init__(
        self,
        count: int,
        lanes: int,
        limit: RateLimiterStrategy,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._count = count
        self._lanes = lanes
        self._limit = limit
        self._clock = clock
        self._began: float | None = None
        self._first = 0
        self._left = 0

    def partitions(self) -> list[str]:
        return [str(lane) for lane in range(self._lanes)]

    def initial_position(self) -> Json:
        return 0

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        allowed = min(self._count, self._allowed(position))
        end = min(allowed, position + max_records)
        # what a batch may have says nothing of how much there is, what the rate allows does
        there = self._count if self._limit.records_per_batch is not None else allowed
        self._left = max(0, there - max(end, position))
        ranges = []
        for lane in range(self._lanes):
            # the first number from the position on that is this lane's
            start = position + (lane - position) % self._lanes
            if start < end:
                ranges.append(ReadRange(str(lane), [start, end, self._lanes]))
        return ReadPlan(max(end, position), ranges, finished=end >= self._count)

    def _allowed(self, position: int) -> int:
        """Up to which number the limit lets us go now."""
        if self._limit.records_per_batch is not None:
            return position + self._limit.records_per_batch
        if self._limit.records_per_second is None:
            return self._count
        now = self._clock()
        if self._began is None:
            self._began, self._first = now, position
        return self._first + int((now - self._began) * self._limit.records_per_second)

    def gauges(self) -> dict[str, int]:
        """With a rate, the numbers behind it: those it would have had planned by now."""
        return {LAG: self._left}
