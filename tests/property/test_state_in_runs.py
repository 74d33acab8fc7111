"""A job whose state lies in sorted files is right, however its input is cut and it is restarted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Configuration, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
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
    configuration = Configuration.of({"scurry.state.runs-above": "0"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    events = [(key, at) for at, key in enumerate(keys)]
    stream = env.from_collection(events).assign_timestamps_and_watermarks(
        in_order.with_timestamp_assigner(lambda event, _: event[1])
    )
    sink = ListSink()
    stream.key_by(lambda event: event[0]).process(CountUntil()).sink_to(sink)
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
    seen: Counter[int] = Counter()
    expected: Counter[Any] = Counter()
    for key in keys:
        seen[key] += 1
        expected["event", key, seen[key]] += 1
    expected.update(("timer", key, count) for key, count in seen.items())
    assert Counter(sink.values) == expected
