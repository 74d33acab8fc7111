"""Asynchronous functions: order, capacity, time limits, retries, failures."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Duration, Types, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.common.time import Time
from scurry.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.state import ValueStateDescriptor
from scurry.runtime.async_calls import AsyncCalls, Flight
from scurry.testing import ListSink, collect_local
from scurry.testing.local import LocalJob

PLENTY = Time.seconds(60)


def numbers(count: int, parallelism: int = 1) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    return env.from_collection(list(range(count)))


class Sleepy(AsyncFunction):
    """Sleeps as long as ``pause(value)`` says, then gives the value and its square."""

    def __init__(self, pause: Callable[[int], float]) -> None:
        self.pause = pause

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(self.pause(value))
        return [value, value * value]


def test_ordered_results_keep_the_order_of_their_elements() -> None:
    slow_first = Sleepy(lambda value: 0.001 * (value % 5 == 0) + 0.0001 * (40 - value))
    found = collect_local(AsyncDataStream.ordered_wait(numbers(40), slow_first, PLENTY, 7))
    assert found == [result for value in range(40) for result in (value, value * value)]


def test_unordered_results_come_as_calls_end() -> None:
    backwards = Sleepy(lambda value: 0.03 * (5 - value))
    found = collect_local(AsyncDataStream.unordered_wait(numbers(5), backwards, PLENTY, 5))
    assert found == [4, 16, 3, 9, 2, 4, 1, 1, 0, 0]


class Watched(ProcessFunction):
    """Each element beside its timestamp and the watermark in force."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


class KeyedWatched(KeyedProcessFunction):
    """The same on a keyed stream."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


@pytest.mark.parametrize("cuts", [None, 4])
def test_unordered_results_do_not_overtake_watermarks(cuts: int | None) -> None:
    stamps = [10, 10, 5, 7, 20, 20, 12, 11, 30, 21, 22, 23]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: stamps[value]
    )

    def stream() -> DataStream:
        return numbers(len(stamps)).assign_timestamps_and_watermarks(strategy)

    shuffled = Sleepy(lambda value: 0.002 * (value * 7 % 12))
    waited = AsyncDataStream.unordered_wait(stream(), shuffled, PLENTY, 12)
    found = [row for row in collect_local(waited.process(Watched()), cuts) if row[0] < len(stamps)]
    expected = collect_local(stream().process(Watched()), cuts)
    squares = {value * value for value in range(len(stamps))}
    assert sorted({row for row in found if row[0] not in squares}) == sorted(
        row for row in expected if row[0] not in squares
    )
    marks = [mark for _, _, mark in found]
    assert marks == sorted(marks)


class Counting(AsyncFunction):
    """Notes how many calls are under way."""

    def __init__(self, slow: int = -1) -> None:
        self.slow = slow
        self.now = self.most = 0

    async def async_invoke(self, value: int) -> list[Any]:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.3 if value == self.slow else 0.002)
        self.now -= 1
        return [(value, self.most)]


@pytest.mark.parametrize("capacity", [1, 3, 10])
def test_the_capacity_is_used_and_not_exceeded(capacity: int) -> None:
    stream = AsyncDataStream.ordered_wait(numbers(40), Counting(), PLENTY, capacity)
    assert max(most for _, most in collect_local(stream)) == capacity


class Waiting(AsyncFunction):
    """The call for 0 does not end before the one for another element."""

    def __init__(self, other: int) -> None:
        self.other = other

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        self.asked = asyncio.Event()

    async def async_invoke(self, value: int) -> list[Any]:
        if value == self.other:
            self.asked.set()
        elif value == 0:
            await self.asked.wait()
        return [value]


def test_one_slow_call_does_not_hold_up_the_others() -> None:
    found = collect_local(AsyncDataStream.unordered_wait(numbers(200), Waiting(199), PLENTY, 2))
    assert found[-2:] == [199, 0]
    found = collect_local(AsyncDataStream.ordered_wait(numbers(200), Waiting(199), PLENTY, 2))
    assert found == list(range(200))


def test_calls_stay_under_way_from_batch_to_batch() -> None:
    function = Counting(slow=0)
    calls = AsyncCalls(function, 10, 0, AsyncRetryStrategy.no_restart())
    first, second = Flight([0]), Flight(list(range(1, 30)))
    calls.submit(first)
    calls.submit(second)
    calls.complete()
    calls.close()
    assert first.done == [0]
    assert sorted(second.done) == list(range(29))
    assert function.most == 10


class Partitioned(NumberSequenceSource):
    """Several partitions, all read by one task."""

    max_tasks = 1

    def enumerator(self, parallelism: int) -> Any:
        return super().enumerator(4)


@pytest.mark.parametrize("cuts", [None, 7])
def test_partitions_share_the_capacity_and_keep_their_order_and_watermarks(
    cuts: int | None,
) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )

    def stream() -> DataStream:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        return env.from_source(Partitioned(0, 39), strategy, "numbers")

    def seen(values: DataStream) -> list[Any]:
        return collect_local(values.key_by(lambda v: v % 3).process(KeyedWatched()), cuts)

    slow = Sleepy(lambda value: 0.05 if value in (0, 10) else 0.001)
    asked = AsyncDataStream.ordered_wait(stream(), slow, PLENTY, 4)
    both = AsyncDataStream.ordered_wait(asked, Sleepy(lambda value: 0.001), PLENTY, 4)
    expected = seen(stream().flat_map(lambda v: [v, v * v, v * v, v**4]))
    assert sorted(seen(both)) == sorted(expected)


def test_a_slow_call_does_not_hold_up_other_partitions() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_source(Partitioned(0, 39), None, "numbers")
    found = collect_local(AsyncDataStream.ordered_wait(stream, Waiting(39), PLENTY, 2))
    assert sorted(found) == list(range(40))


def test_two_asynchronous_functions_in_a_chain() -> None:
    first = AsyncDataStream.ordered_wait(numbers(50), Sleepy(lambda v: 0.001), PLENTY, 3)
    second = AsyncDataStream.ordered_wait(first, Sleepy(lambda v: 0.001 * (v % 3)), PLENTY, 4)
    expected = [r for v in range(50) for w in (v, v * v) for r in (w, w * w)]
    assert collect_local(second, cuts=20) == expected


def test_branches_that_meet_again_in_the_chain() -> None:
    stream = numbers(20)
    left = AsyncDataStream.ordered_wait(stream, Sleepy(lambda v: 0.001), PLENTY)
    right = AsyncDataStream.ordered_wait(stream, Sleepy(lambda v: 0.005), PLENTY)
    both = AsyncDataStream.unordered_wait(left.union(right), Sleepy(lambda v: 0.001), PLENTY)
    expected = [r for v in range(20) for w in (v, v * v) for r in (w, w * w)] * 2
    assert sorted(collect_local(both)) == sorted(expected)


def test_on_a_keyed_stream_and_after_one() -> None:
    keyed = numbers(30, parallelism=2).key_by(lambda v: v % 3)
    waited = AsyncDataStream.ordered_wait(keyed, Sleepy(lambda v: 0.001), PLENTY)
    summed = waited.key_by(lambda v: v % 2).reduce(lambda a, b: a + b)
    after = AsyncDataStream.unordered_wait(summed, Sleepy(lambda v: 0.001), PLENTY)
    results = [r for v in range(30) for r in (v, v * v)]
    totals = [sum(r for r in results if r % 2 == rest) for rest in (0, 1)]
    found = collect_local(after, cuts=7)
    assert len(found) == 2 * len(results)
    assert set(totals) <= set(found)


class Stuck(AsyncFunction):
    """Never answers multiples of five."""

    async def async_invoke(self, value: int) -> list[Any]:
        if value % 5 == 0:
            await asyncio.Event().wait()
        return [value]


class Resigned(Stuck):
    def timeout(self, value: int) -> list[Any]:
        return [("late", value)]


class ResignedInTime(Stuck):
    async def timeout(self, value: int) -> list[Any]:  # type: ignore[override]
        await asyncio.sleep(0.001)
        return [("late", value)]


class Stubborn(Resigned):
    """Does not let itself be cancelled."""

    async def async_invoke(self, value: int) -> list[Any]:
        try:
            return await super().async_invoke(value)
        except asyncio.CancelledError:
            return ["cancelled"]


@pytest.mark.parametrize("kind", [Resigned, ResignedInTime, Stubborn])
def test_the_timeout_handler_answers_for_calls_that_took_too_long(kind: Any) -> None:
    stream = AsyncDataStream.ordered_wait(numbers(12), kind(), Duration.of_millis(30), 4)
    expected = [("late", value) if value % 5 == 0 else value for value in range(12)]
    assert collect_local(stream) == expected


def test_a_call_that_takes_too_long_fails_the_job_by_default() -> None:
    stream = AsyncDataStream.ordered_wait(numbers(3), Stuck(), Time.milliseconds(20))
    with pytest.raises(FunctionError) as caught:
        collect_local(stream.name("ask"))
    assert caught.value.element == "0"
    assert caught.value.operator == "ask"
    assert "TimeoutError: the call did not end in time; allow it more" in str(caught.value)


class Shaky(AsyncFunction):
    """Fails, or answers with nothing, until it has been asked so often about an element."""

    def __init__(self, good_from: int, failure: Exception | None) -> None:
        self.good_from = good_from
        self.failure = failure
        self.asked: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[Any]:
        self.asked[value] = asked = self.asked.get(value, 0) + 1
        if asked < self.good_from:
            if self.failure is not None:
                raise type(self.failure)(*self.failure.args)
            return []
        return [(value, asked)]


EMPTY: Any = (empty_result_predicate, None)
FAILED: Any = (None, has_exception_predicate)


@pytest.mark.parametrize(
    ("failure", "predicates"), [(None, EMPTY), (ConnectionError("gone"), FAILED)]
)
@pytest.mark.parametrize(
    "make",
    [
        lambda *p: AsyncRetryStrategy.fixed_delay(3, 1, *p),
        lambda *p: AsyncRetryStrategy.exponential_backoff(3, 1, 4, 2.0, *p),
    ],
)
def test_calls_are_repeated(make: Any, failure: Exception | None, predicates: Any) -> None:
    for wait in (
        AsyncDataStream.ordered_wait_with_retry,
        AsyncDataStream.unordered_wait_with_retry,
    ):
        stream = wait(numbers(5), Shaky(4, failure), PLENTY, make(*predicates))
        assert sorted(collect_local(stream)) == [(value, 4) for value in range(5)]


def test_after_the_last_attempt_the_outcome_stands() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 1, *EMPTY)
    stream = AsyncDataStream.ordered_wait_with_retry(numbers(5), Shaky(4, None), PLENTY, strategy)
    assert collect_local(stream) == []
    strategy = AsyncRetryStrategy.fixed_delay(2, 1, *FAILED)
    failing = Shaky(4, ConnectionError("the service is gone"))
    stream = AsyncDataStream.ordered_wait_with_retry(numbers(1), failing, PLENTY, strategy)
    with pytest.raises(FunctionError, match="ConnectionError: the service is gone"):
        collect_local(stream)


def test_only_chosen_failures_are_repeated() -> None:
    chosen = partial(exception_type_predicate, expected_error_type=TimeoutError)
    strategy = AsyncRetryStrategy.fixed_delay(9, 1, None, chosen)
    patient = Shaky(3, TimeoutError())
    stream = AsyncDataStream.ordered_wait_with_retry(numbers(1), patient, PLENTY, strategy)
    assert collect_local(stream) == [(0, 3)]
    hasty = Shaky(3, ValueError("no such thing"))
    stream = AsyncDataStream.ordered_wait_with_retry(numbers(1), hasty, PLENTY, strategy)
    with pytest.raises(FunctionError, match="no such thing"):
        collect_local(stream)


def test_the_time_limit_covers_all_attempts() -> None:
    class Late(Shaky):
        def timeout(self, value: int) -> list[Any]:
            return ["late"]

    strategy = AsyncRetryStrategy.fixed_delay(1000, 10, *FAILED)
    function = Late(1000, ConnectionError())
    limit = Time.milliseconds(60)
    began = time.monotonic()
    stream = AsyncDataStream.ordered_wait_with_retry(numbers(1), function, limit, strategy)
    assert collect_local(stream) == ["late"]
    assert time.monotonic() - began < 2


def test_pauses_grow_up_to_their_limit_whatever_other_elements_do() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(5, 100, 1000, 2.0, None, None)
    assert [strategy.get_backoff_time_millis(n) for n in (1, 5, 2, 3, 4)] == [
        100,
        1000,
        200,
        400,
        800,
    ]
    assert strategy.can_retry(5)
    assert not strategy.can_retry(6)


def test_metrics_count_timeouts_and_retries_once() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(3, 1, *FAILED)
    stream = AsyncDataStream.ordered_wait_with_retry(
        numbers(6), Shaky(3, ConnectionError()), PLENTY, strategy, capacity=2
    ).name("shaky")
    late = AsyncDataStream.ordered_wait(stream.map(lambda r: r[0]), Resigned(), "20 ms").name("l")
    late.sink_to(ListSink())
    with LocalJob(stream.get_execution_environment()._compile(None)) as job:
        while not job.done:
            job.crash_step(4)
        assert job.metrics["shaky"]["async.retries"] == 12
        assert job.metrics["shaky"]["async.timeouts"] == 0
        assert job.metrics["shaky"]["async.most_at_once"] in (0, 1, 2)
        assert job.metrics["l"]["async.timeouts"] == 2


class Opened(AsyncFunction):
    """Its connection is bound to a loop; what happens to it is noted in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, what: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{what}\n")

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        self.loop = asyncio.get_running_loop()
        self.index = runtime_context.get_index_of_this_subtask()
        self.note("open")

    async def async_invoke(self, value: int) -> list[Any]:
        assert asyncio.get_running_loop() is self.loop
        if value < 0:
            raise ValueError("negative")
        return [value]

    async def close(self) -> None:  # type: ignore[override]
        assert asyncio.get_running_loop() is self.loop
        self.note("close")


def loops() -> set[int | None]:
    return {thread.ident for thread in threading.enumerate() if thread.name == "scurry-async"}


def eventually(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 5
    while not condition() and time.monotonic() < until:
        gc.collect()
        time.sleep(0.01)
    return condition()


def test_functions_are_opened_and_closed_once_in_their_loop(tmp_path: Path) -> None:
    notes, before = tmp_path / "notes", loops()
    stream = AsyncDataStream.ordered_wait(numbers(9), Opened(notes), PLENTY)
    assert collect_local(stream, cuts=2) == list(range(9))
    assert notes.read_text().split() == ["open", "close"]
    assert eventually(lambda: loops() <= before)


def test_what_is_dropped_after_a_failure_is_closed_too(tmp_path: Path) -> None:
    notes, before = tmp_path / "notes", loops()
    stream = numbers(9).map(lambda v: 3 - v)
    with pytest.raises(FunctionError, match="ValueError: negative"):
        collect_local(AsyncDataStream.ordered_wait(stream, Opened(notes), PLENTY))
    assert eventually(lambda: notes.read_text().split() == ["open", "close"])
    dropped = AsyncDataStream.ordered_wait(numbers(9), Opened(notes), PLENTY)
    collect_local(dropped, cuts=3, restart=[1])
    assert eventually(lambda: notes.read_text().split().count("close") == 3)
    assert eventually(lambda: loops() <= before)


class Broken(AsyncFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    async def async_invoke(self, value: int) -> Any:
        return self.result


@pytest.mark.parametrize("result", [None, 7, "text"])
def test_results_must_be_lists(result: Any) -> None:
    stream = AsyncDataStream.ordered_wait(numbers(1), Broken(result), PLENTY)
    with pytest.raises(FunctionError, match="async_invoke and timeout must return a list"):
        collect_local(stream)


def test_results_may_be_any_iterable_and_conform_to_the_declared_type() -> None:
    stream = AsyncDataStream.ordered_wait(numbers(1), Broken((1, 2)), PLENTY)
    assert collect_local(stream) == [1, 2]
    typed = AsyncDataStream.ordered_wait(
        numbers(1), Broken(["a"]), PLENTY, output_type=Types.LONG()
    )
    with pytest.raises(FunctionError, match="declared as"):
        collect_local(typed)


def test_a_failing_call_names_its_element_and_ends_the_others() -> None:
    class Failing(AsyncFunction):
        async def async_invoke(self, value: int) -> list[Any]:
            if value == 3:
                raise KeyError("three")
            await asyncio.sleep(60)
            return []

    began = time.monotonic()
    with pytest.raises(FunctionError) as caught:
        collect_local(AsyncDataStream.ordered_wait(numbers(10), Failing(), PLENTY))
    assert caught.value.element == "3"
    assert "KeyError: 'three'" in caught.value.exception
    assert "test_async_io.py" in caught.value.traceback
    assert time.monotonic() - began < 5


def test_a_failure_in_open_is_told() -> None:
    class Closed(Broken):
        async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
            raise ConnectionRefusedError("no database")

    with pytest.raises(FunctionError, match="ConnectionRefusedError: no database"):
        collect_local(AsyncDataStream.ordered_wait(numbers(1), Closed([]), PLENTY))


def test_keyed_state_is_refused() -> None:
    class Stateful(Broken):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("count"))

    keyed = numbers(1).key_by(lambda v: v)
    with pytest.raises(FunctionError, match="an AsyncFunction, where no key is being processed"):
        collect_local(AsyncDataStream.ordered_wait(keyed, Stateful([]), PLENTY))


class Plain(AsyncFunction):
    def async_invoke(self, value: Any) -> Any:  # type: ignore[override]
        return [value]


class NoPredicate(AsyncRetryStrategy):
    def can_retry(self, current_attempts: int) -> bool:
        return True

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return 1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Plain(), PLENTY), "Plain.async_invoke is not declared with `async def`"),
        ((Broken, PLENTY), "given the class Broken itself; pass an instance"),
        ((len, PLENTY), "AsyncDataStream needs an AsyncFunction, got <built-in function len>"),
        ((Broken([]), PLENTY, 0), "The capacity of Broken is 0; it must be a whole number"),
    ],
)
def test_mistakes_are_told_when_the_program_is_built(arguments: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        AsyncDataStream.ordered_wait(numbers(1), *arguments)
    with pytest.raises(ProgramError, match="AsyncDataStream needs a DataStream, got 7"):
        AsyncDataStream.ordered_wait(7, *arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("timeout", "strategy", "message"),
    [
        (PLENTY, None, "None is not an AsyncRetryStrategy; make one with"),
        (Time.seconds(0), AsyncRetryStrategy.fixed_delay(1, 1, None, None), "needs a timeout"),
        (PLENTY, NoPredicate(), r"NoPredicate.get_retry_predicate\(\) returned None"),
    ],
)
def test_strategies_are_checked(timeout: Any, strategy: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        AsyncDataStream.unordered_wait_with_retry(numbers(1), Broken([]), timeout, strategy)


def test_the_figures_of_strategies_are_checked() -> None:
    with pytest.raises(ProgramError, match="max_attempts of a retry strategy must be a number"):
        AsyncRetryStrategy.fixed_delay(0, 1, None, None)
    with pytest.raises(ProgramError, match=r"multiplier of a retry strategy must be .* got -1"):
        AsyncRetryStrategy.exponential_backoff(1, 1, 1, -1, None, None)
    with pytest.raises(ProgramError, match="A retry predicate must be callable, got 7"):
        AsyncRetryStrategy.fixed_delay(1, 1, 7, None)  # type: ignore[arg-type]
