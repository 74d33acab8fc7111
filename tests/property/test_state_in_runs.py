"""A job whose state lies in sorted files is right, however its input is cut and it is restarted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Configuration, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from scurry.state.tables import read_ahead
from scurry.testing.local import LocalJob
from scurry.testing.sinks import ListSink

AT = 1000


class CountUntil(KeyedProcessFunction):
    """Says the count of each event, and once more when time is up; then it forgets the key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: tuple[int, int], ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(AT)
        yield "event", value[0], count

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), self.count.value()
        self.count.clear()


@settings(max_examples=40, deadline=None)
@given(
    keys=st.lists(st.integers(0, 40), min_size=1, max_size=200),
    cuts=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    restarts=st.lists(
        st.sampled_from(["", "restart", "lose", "crash", "rescale"]), min_size=1, max_size=8
    ),
)
def test_counts_and_timers(keys: list[int], cuts: list[int], restarts: list[str]) -> None:
    found = run(CountUntil(), [(key, at) for at, key in enumerate(keys)], cuts, restarts, 100)
    seen: Counter[int] = Counter()
    expected: Counter[Any] = Counter()
    for key in keys:
        seen[key] += 1
        expected["event", key, seen[key]] += 1
    expected.update(("timer", key, count) for key, count in seen.items())
    assert Counter(found) == expected


def run(
    function: KeyedProcessFunction,
    events: list[tuple[int, ...]],
    cuts: list[int],
    restarts: list[str],
    cache: int,
) -> list[Any]:
    """What ``function`` says of events, whose first number is the key and whose second the time."""
    configuration = {"scurry.state.runs-above": "0", "state.backend.cache-size": str(cache)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(configuration))
    env.set_parallelism(2)
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_collection(events).assign_timestamps_and_watermarks(
        in_order.with_timestamp_assigner(lambda event, _: event[1])
    )
    sink = ListSink()
    stream.key_by(lambda event: event[0]).process(function).sink_to(sink)
    with LocalJob(env._compile("counts")) as job:
        number, parallelism = 0, 2
        while not job.done:
            what, size = restarts[number % len(restarts)], cuts[number % len(cuts)]
            number += 1
            if what == "crash":
                job.crash_step(size)
            elif what == "rescale":
                parallelism = parallelism % 3 + 1
                env.set_parallelism(parallelism)
                job.rescale(env._compile("counts"))
            elif what:
                job.restart(lose_local_state=what == "lose")
            job.step(size)
    return sink.values


class Collect(KeyedProcessFunction):
    """Keeps a map and a list for each key; says what is in them, before the event and at the end.

    What an event does is its third number: put an entry, remove one, append an element, clear."""

    def open(self, runtime_context: Any) -> None:
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))

    def process_element(self, value: tuple[int, ...], ctx: Any) -> Iterator[Any]:
        key, at, what, entry = value
        ctx.timer_service().register_event_time_timer(AT)
        yield key, at, self.map.get(entry), list(self.list.get()) if what == 1 else None
        if what < 3:
            self.map.put(entry, at)
        elif what == 3:
            self.map.remove(entry)
        elif what == 4:
            self.map.clear()
        elif what == 5:
            self.list.clear()
        elif what == 6:
            self.list.update([entry])
        if what != 5:
            self.list.add(at)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), AT, sorted(self.map.items()), list(self.list.get())
        self.map.clear()
        self.list.clear()


def collected(events: list[tuple[int, ...]]) -> Iterator[Any]:
    """What :class:`Collect` says, worked out with dicts and lists."""
    maps: dict[int, dict[int, int]] = {}
    lists: dict[int, list[int]] = {}
    for key, at, what, entry in events:
        held, elements = maps.setdefault(key, {}), lists.setdefault(key, [])
        yield key, at, held.get(entry), list(elements) if what == 1 else None
        if what < 3:
            held[entry] = at
        elif what == 3:
            held.pop(entry, None)
        elif what == 4:
            held.clear()
        elif what == 5:
            elements.clear()
        elif what == 6:
            elements[:] = [entry]
        if what != 5:
            elements.append(at)
    for key, held in maps.items():
        yield key, AT, sorted(held.items()), lists[key]


@settings(max_examples=40, deadline=None)
@given(
    events=st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 5)),
        min_size=1,
        max_size=150,
    ),
    cuts=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    restarts=st.lists(
        st.sampled_from(["", "restart", "lose", "crash", "rescale"]), min_size=1, max_size=8
    ),
    cache=st.sampled_from([0, 3, 100_000]),
    limits=st.sampled_from([(16_384, 64, 1 << 20), (1, 2, 0), (3, 1, 2), (100, 0, 10)]),
)
def test_maps_and_lists(
    events: list[tuple[int, int, int]],
    cuts: list[int],
    restarts: list[str],
    cache: int,
    limits: tuple[int, int, int],
) -> None:
    """Whatever is held in memory, and however much is read at a time."""
    timed = [(key, at, what, entry) for at, (key, what, entry) in enumerate(events)]
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in zip(("_KEYS", "_FEW", "_HELD"), limits, strict=True):
            patch.setattr(read_ahead, name, limit)
        found = run(Collect(), timed, cuts, restarts, cache)
    assert sorted(found, key=repr) == sorted(collected(timed), key=repr)
