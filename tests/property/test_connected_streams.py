"""Connected streams of one source against plain Python, however the input is cut or crashed.

A source is split in two and connected again, so the order in which the function must see its
elements is the order of the source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Duration, WatermarkStrategy
from scurry.datastream import KeyedCoProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ListStateDescriptor, ValueStateDescriptor
from scurry.testing import collect_local

#: key, timestamp, which input
events = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(1, 2)),
    min_size=1,
    max_size=40,
)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=6)
troubles = st.lists(st.integers(0, 8), max_size=3)


class Ledger(KeyedCoProcessFunction):
    """Input 1 adds to a sum, input 2 to a list and sets a timer; both report what they see."""

    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))
        self.times = runtime_context.get_list_state(ListStateDescriptor("times"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.sum.update((self.sum.value() or 0) + value[1])
        yield value[0], 1, self.sum.value(), tuple(self.times.get())

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.times.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        yield value[0], 2, self.sum.value(), ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), "timer", timestamp, self.sum.value(), tuple(self.times.get())
        self.times.clear()


def run(data: list[Any], bound: int, parallelism: int, **how: Any) -> dict[str, list[Any]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    source = env.from_collection(data).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event[1])
    )
    one, two = source.filter(lambda e: e[2] == 1), source.filter(lambda e: e[2] == 2)
    joined = one.connect(two).key_by(lambda e: e[0], lambda e: e[0]).process(Ledger())
    by_key: dict[str, list[Any]] = defaultdict(list)
    for row in collect_local(joined, **how):
        by_key[row[0]].append(row)
    return dict(by_key)


def brute_force(data: list[Any], bound: int) -> dict[str, list[Any]]:
    """By definition. The running watermark is that of the source, as both inputs stem from it."""
    highest: int | None = None
    sums: dict[str, int | None] = defaultdict(lambda: None)
    times: dict[str, list[int]] = defaultdict(list)
    timers: set[tuple[int, str]] = set()
    out: dict[str, list[Any]] = defaultdict(list)

    current = -float("inf")

    def fire(watermark: float) -> None:
        nonlocal current
        if watermark <= current:
            return  # a timer set behind the watermark waits until it moves again
        current = watermark
        for time, key in sorted(t for t in timers if t[0] <= watermark):
            timers.discard((time, key))
            out[key].append((key, "timer", time, sums[key], tuple(times[key])))
            times[key].clear()

    watermark = -(1 << 63)
    for key, time, port in data:
        before, watermark = watermark, -(1 << 63) if highest is None else highest - bound - 1
        # a timer set at or below the watermark waits until that moves
        if watermark > before:
            fire(watermark)
        if port == 1:
            sums[key] = (sums[key] or 0) + time
            out[key].append((key, 1, sums[key], tuple(times[key])))
        else:
            times[key].append(time)
            timers.add((time + 10, key))
            out[key].append((key, 2, sums[key], watermark))
        highest = time if highest is None else max(highest, time)
    fire(float("inf"))
    return dict(out)


@given(events, st.integers(0, 20), cuts, troubles, troubles, st.integers(1, 3))
def test_two_inputs_in_the_order_of_their_source(
    data: list[Any],
    bound: int,
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    parallelism: int,
) -> None:
    expected = brute_force(data, bound)
    assert run(data, bound, parallelism) == expected
    assert run(data, bound, parallelism, cuts=sizes, crash=crash, restart=restart) == expected
