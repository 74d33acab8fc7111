"""Generated records: the same for the same number, no faster than told."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from scurry.common import Types
from scurry.common.errors import ProgramError
from scurry.connectors.datagen import NumberEnumerator
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.datagen import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
    SeededGeneratorFunction,
)
from scurry.testing import collect_local


def run(source: DataGeneratorSource, cuts: int | None = None, crash: Any = ()) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
    return collect_local(env.from_source(source), cuts=cuts, crash=crash)


class Dice(SeededGeneratorFunction):
    def generate(self, rng: random.Random, value: int) -> Any:
        return value, rng.randint(1, 6)


class Squares(GeneratorFunction):
    def map(self, value: int) -> int:
        return value * value


def test_each_number_once_in_any_cut() -> None:
    source = DataGeneratorSource(Squares(), 100, type_info=Types.LONG())
    assert Counter(run(source, cuts=7, crash=[0, 3])) == Counter(n * n for n in range(100))
    assert run(DataGeneratorSource(lambda n: n, 0)) == []


def test_randomness_is_a_matter_of_seed_and_number() -> None:
    rolls = sorted(run(DataGeneratorSource(Dice(seed=1), 600)))
    assert sorted(run(DataGeneratorSource(Dice(seed=1), 600), cuts=50)) == rolls
    assert sorted(run(DataGeneratorSource(Dice(seed=2), 600))) != rolls
    assert all(60 < count < 140 for count in Counter(face for _, face in rolls).values())


def test_a_rate_is_kept_also_after_a_restart() -> None:
    now = [0.0]
    limit = RateLimiterStrategy.per_second(10)
    numbers = NumberEnumerator(100, 2, limit, lambda: now[0])
    assert numbers.plan(0, 1000).position == 0
    now[0] = 1.05
    plan = numbers.plan(0, 1000)
    assert (plan.position, [item.what for item in plan.ranges]) == (10, [[0, 10, 2], [1, 10, 2]])
    again = NumberEnumerator(100, 2, limit, lambda: now[0])
    assert again.plan(10, 1000).ranges == []
    now[0] = 1.35
    assert again.plan(10, 1000).position == 13
    now[0] = 100.0
    assert again.plan(13, 1000).finished


def test_so_many_a_batch() -> None:
    numbers = NumberEnumerator(25, 1, RateLimiterStrategy.per_checkpoint(10))
    assert [numbers.plan(at, 1000).position for at in (0, 10, 20)] == [10, 20, 25]


def test_what_is_left_is_told() -> None:
    """Without a rate all that has not been planned; with one, only what is due by now."""
    numbers = NumberEnumerator(25, 2, RateLimiterStrategy.no_op())
    numbers.plan(0, 10)
    assert numbers.gauges() == {"lag": 15}
    numbers.plan(10, 1000)
    assert numbers.gauges() == {"lag": 0}
    a_batch = NumberEnumerator(25, 2, RateLimiterStrategy.per_checkpoint(4))
    a_batch.plan(4, 1000)
    assert a_batch.gauges() == {"lag": 17}
    now = [0.0]
    at_a_rate = NumberEnumerator(25, 2, RateLimiterStrategy.per_second(10), lambda: now[0])
    at_a_rate.plan(0, 5)
    now[0] = 2.0
    at_a_rate.plan(0, 5)
    assert at_a_rate.gauges() == {"lag": 15}
    now[0] = 60.0
    at_a_rate.plan(5, 5)
    assert at_a_rate.gauges() == {"lag": 15}


def test_faults_are_said() -> None:
    with pytest.raises(ProgramError, match="got 'x'"):
        DataGeneratorSource("x", 1)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="must not be negative, got -1"):
        DataGeneratorSource(Squares(), -1)
    with pytest.raises(ProgramError, match="needs a positive rate, got 0"):
        RateLimiterStrategy.per_second(0)
    with pytest.raises(ProgramError, match="needs a positive number, got 0"):
        RateLimiterStrategy.per_checkpoint(0)
