"""Asynchronous functions on Spark: in the ingress and in a stage, whatever the micro-batches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from scurry.common.errors import FunctionError
from scurry.common.time import Time
from scurry.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    DataStream,
    StreamExecutionEnvironment,
)
from scurry.datastream.async_retry_predicates import has_exception_predicate
from scurry.testing.spark import collect_on_spark


class Shaky(AsyncFunction):
    """Fails the first time it is asked about an element."""

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        self.asked: set[Any] = set()

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.002 * (value % 3))
        if value not in self.asked:
            self.asked.add(value)
            raise ConnectionError(f"no answer about {value}")
        return [value, -value]


RETRY = AsyncRetryStrategy.fixed_delay(2, 1, None, has_exception_predicate)


@pytest.mark.parametrize("max_records", [None, 17])
def test_before_and_after_a_shuffle(max_records: int | None) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        first = AsyncDataStream.ordered_wait_with_retry(
            env.from_collection(list(range(60))), Shaky(), Time.seconds(30), RETRY
        )
        sums = first.key_by(lambda v: v % 4).reduce(lambda a, b: a + b)
        return AsyncDataStream.unordered_wait_with_retry(sums, Shaky(), Time.seconds(30), RETRY)

    sums: dict[int, int] = {}
    expected: list[int] = []
    for value in (v for n in range(60) for v in (n, -n)):
        sums[value % 4] = total = sums.get(value % 4, 0) + value
        expected += [total, -total]
    assert sorted(collect_on_spark(build, max_records)) == sorted(expected)


def test_a_call_that_takes_too_long_is_told() -> None:
    class Stuck(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            await asyncio.sleep(3600)
            return []

    def build(env: StreamExecutionEnvironment) -> DataStream:
        return AsyncDataStream.ordered_wait(
            env.from_collection(["order-7"]), Stuck(), Time.milliseconds(50)
        ).name("ask the service")

    with pytest.raises(FunctionError) as caught:
        collect_on_spark(build)
    assert caught.value.element == "'order-7'"
    assert caught.value.operator == "ask the service"
    assert "the call did not end in time" in str(caught.value)
