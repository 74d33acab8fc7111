"""A job that is restarted with another parallelism gives the results of one that never was.

Programs with all kinds of state run over random input, cut at random, and are restarted with other
parallelisms at random places, some of them in the middle of a micro-batch that has to be run again.
The results are compared with those of an uninterrupted run, and where that is easy with a
plain-Python computation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Configuration, Duration, Time, Types, WatermarkStrategy
from scurry.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream import aggregates as agg
from scurry.datastream.data_stream import DataStream
from scurry.datastream.functions import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
)
from scurry.datastream.state import (
    AggregatingStateDescriptor,
    BagStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SetStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from scurry.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.testing import collect_local

LATE = OutputTag("late")
RULES = MapStateDescriptor("rules")
#: keys of several types; the long one is stored as a digest
KEYS = ["a", "b", 3, -4, 5.5, ("t", 6), "long " * 200, None]

events = st.lists(
    st.tuples(st.sampled_from(range(len(KEYS))), st.integers(0, 90)), min_size=4, max_size=40
)
cuts = st.lists(st.integers(1, 6), min_size=1, max_size=6)
crashes = st.lists(st.integers(0, 8), max_size=2)
moves = st.dictionaries(st.integers(0, 9), st.integers(1, 5), min_size=1, max_size=4)
Program = Callable[[StreamExecutionEnvironment, list[Any]], DataStream]


def environment(parallelism: int) -> StreamExecutionEnvironment:
    configuration = Configuration.of({"state.backend": "memory"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(parallelism)


def timed(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
    rows = [(KEYS[key], time, number) for number, (key, time) in enumerate(data)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(12)
    ).with_timestamp_assigner(lambda event, _: event[1])
    return env.from_collection(rows).assign_timestamps_and_watermarks(strategy)


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, one: Any, other: Any) -> Any:
        return (one[0] + other[0], one[1] + other[1])


@dataclass
class Last:
    number: int
    time: int


class EveryKind(KeyedProcessFunction):
    """Keeps something in every kind of state, and timers of event time."""

    def open(self, runtime_context: Any) -> None:
        ctx = runtime_context
        brief = ValueStateDescriptor("brief")
        brief.enable_time_to_live(
            StateTtlConfig.new_builder(Time.milliseconds(20))
            .set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.EventTime)
            .build()
        )
        self.brief = ctx.get_state(brief)
        self.last = ctx.get_state(ValueStateDescriptor("last"))
        self.typed = ctx.get_state(ValueStateDescriptor("typed", Types.LONG()))
        self.numbers = ctx.get_list_state(ListStateDescriptor("numbers"))
        self.by_time = ctx.get_map_state(MapStateDescriptor("by time"))
        self.times = ctx.get_set_state(SetStateDescriptor("times"))
        self.bag = ctx.get_bag_state(BagStateDescriptor("bag"))
        self.sum = ctx.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b))
        self.mean = ctx.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _, time, number = value
        timers = ctx.timer_service()
        if time <= timers.current_watermark():
            yield LATE, value
            return
        last = self.last.value()
        self.last.update(Last(number, time))
        self.typed.update((self.typed.value() or 0) + time)
        self.numbers.add(number)
        self.by_time.put(time, (self.by_time.get(time) or 0) + 1)
        self.times.add(time)
        self.bag.add(time % 3)
        self.sum.add(time)
        self.mean.add(time)
        timers.register_event_time_timer(time + 15)
        if number % 3 == 0:
            timers.delete_event_time_timer(time + 15)
        seen = self.brief.value()
        self.brief.update(number)
        yield "seen", value, last and (last.number, last.time), seen, self._all()

    def _all(self) -> Any:
        return (
            self.typed.value(),
            tuple(self.numbers.get()),
            tuple(self.by_time.items()),
            tuple(sorted(self.times)),
            tuple(sorted(self.bag)),
            self.sum.get(),
            self.mean.get(),
        )

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self._all()
        if timestamp % 2:
            self.numbers.clear()
            self.by_time.remove(timestamp - 15)


def every_kind(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
    return timed(env, data).key_by(lambda e: e[0]).process(EveryKind())


class Rows(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        yield key, window.start, window.end, tuple(number for _, _, number in elements)


def windows(assigner: Any, lateness: int = 0) -> Program:
    def build(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
        stream = timed(env, data).key_by(lambda e: e[0]).window(assigner)
        return stream.allowed_lateness(lateness).process(Rows())

    return build


def combined(assigner: Any) -> Program:
    def build(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
        stream = timed(env, data).key_by(lambda e: e[0]).window(assigner)
        return stream.reduce(lambda a, b: (a[0], a[1] + b[1], max(a[2], b[2])))

    return build


def counting(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
    windowed = timed(env, data).key_by(lambda e: e[0])
    hours = windowed.window(TumblingEventTimeWindows.of(Time.milliseconds(50)))
    return hours.trigger(CountTrigger.of(2)).process(Rows())


def two_levels(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
    """The second stage's channels are slots of the first, whose number changes."""
    first = every_kind(env, data).map(lambda row: (row[0], row[1]))
    counts = first.key_by(lambda row: row[0]).map(lambda row: (row[0], 1))
    tens = counts.key_by(lambda row: row[0]).window(
        SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10))
    )
    return tens.reduce(lambda a, b: (a[0], a[1] + b[1]))


def built_in(assigner: Any, lateness: int = 0, integers: bool = False) -> Program:
    """Aggregates whose state is kept in columns, many keys to a record."""

    def build(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
        stream = timed(env, data)
        if integers:
            stream = stream.map(lambda row: (hash(row[2] % 7), row[1], row[2]))
        windowed = stream.key_by(lambda e: e[0]).window(assigner).allowed_lateness(lateness)
        return windowed.aggregate(agg.count(), agg.sum(2), agg.min(2), agg.avg(1))

    return build


class Ruled(KeyedBroadcastProcessFunction):
    """Says for each event which rules are in force; how many there were is kept by key."""

    def open(self, runtime_context: Any) -> None:
        self.most = runtime_context.get_state(ValueStateDescriptor("most"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        rules = dict(ctx.get_broadcast_state(RULES).items())
        self.most.update(max(self.most.value() or 0, len(rules)))
        yield value, repr(sorted(rules.items())), self.most.value()

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        rules, (_, time, number) = ctx.get_broadcast_state(RULES), value
        if number % 2:
            rules.put(time % 4, [number])
        elif rules.contains(time % 4):
            rules.get(time % 4).append(number)
        else:
            rules.remove((time + 1) % 4)


def broadcast(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
    """Rules and events stem from one source, so the order between them is that of the input."""
    stream = timed(env, data)
    rules = stream.filter(lambda row: row[1] % 3 == 0).broadcast(RULES)
    return stream.key_by(lambda row: row[0]).connect(rules).process(Ruled())


def narrow(env: StreamExecutionEnvironment, data: list[Any]) -> DataStream:
    """Operators whose parallelism is their own stay as they are among others that change."""
    first = timed(env, data).key_by(lambda e: e[0]).process(EveryKind()).set_parallelism(2)
    seen = first.filter(lambda row: row[0] == "seen").map(lambda row: row[1])
    return seen.window_all(TumblingEventTimeWindows.of(Time.milliseconds(30))).reduce(
        lambda a, b: (0, a[1] + b[1], a[2] + b[2])
    )


PROGRAMS: dict[str, Program] = {
    "built-in, tumbling": built_in(TumblingEventTimeWindows.of(Time.milliseconds(20)), lateness=9),
    "built-in, sliding": built_in(
        SlidingEventTimeWindows.of(Time.milliseconds(40), Time.milliseconds(10)), integers=True
    ),
    "built-in, sessions": built_in(EventTimeSessionWindows.with_gap(Time.milliseconds(8)), 10),
    "built-in, sessions of integers": built_in(
        EventTimeSessionWindows.with_gap(Time.milliseconds(8)), integers=True
    ),
    "broadcast": broadcast,
    "narrow operators": narrow,
    "every kind of state": every_kind,
    "tumbling": windows(TumblingEventTimeWindows.of(Time.milliseconds(20)), lateness=15),
    "sliding": windows(SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(10))),
    "sessions": windows(EventTimeSessionWindows.with_gap(Time.milliseconds(8)), lateness=10),
    "tumbling, combined": combined(TumblingEventTimeWindows.of(Time.milliseconds(20))),
    "sliding, combined": combined(
        SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(10))
    ),
    "sessions, combined": combined(EventTimeSessionWindows.with_gap(Time.milliseconds(8))),
    "counting": counting,
    "two levels": two_levels,
}


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=20)
@given(data=events, sizes=cuts, crash=crashes, rescale=moves, parallelism=st.integers(1, 3))
def test_another_parallelism_changes_nothing(
    name: str,
    data: list[Any],
    sizes: list[int],
    crash: list[int],
    rescale: dict[int, int],
    parallelism: int,
) -> None:
    program = PROGRAMS[name]
    expected = collect_local(program(environment(parallelism), data))
    found = collect_local(
        program(environment(parallelism), data), cuts=sizes, crash=crash, rescale=rescale
    )
    assert Counter(map(repr, found)) == Counter(map(repr, expected))
