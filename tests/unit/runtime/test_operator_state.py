"""Operator state: given back to whoever comes next, in the ingress, in stages and in sinks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import WatermarkStrategy
from scurry.common.errors import FunctionError
from scurry.connectors.memory import DriverSink
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import (
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from scurry.state.operator_state import (
    BROADCAST,
    SPLIT,
    UNION,
    decode_state,
    encode_state,
    redistribute,
)
from scurry.testing import ListSink, collect_local
from scurry.testing.local import LocalJob


class Buffer(ProcessFunction, CheckpointedFunction):
    """Lets elements go in threes; what waits is operator state."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(
            ListStateDescriptor("waiting")
        )
        self.waiting: list[Any] = list(self.state.get()) if context.is_restored() else []
        self.opened = False

    def open(self, runtime_context: Any) -> None:
        self.opened = True

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        assert self.opened
        self.waiting.append(value)
        if len(self.waiting) == 3:
            yield tuple(self.waiting)
            self.waiting.clear()

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.waiting)


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


@pytest.mark.parametrize("stage", [False, True])
@given(
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    crash=st.lists(st.integers(0, 9), max_size=4),
    restart=st.lists(st.integers(0, 9), max_size=4),
)
def test_a_buffer_loses_and_repeats_nothing(
    stage: bool, cuts: list[int], crash: list[int], restart: list[int]
) -> None:
    env = environment()
    stream = env.from_collection(list(range(20)))
    if stage:
        stream = stream.rebalance()
    buffered = stream.process(Buffer()).set_parallelism(1)
    found = collect_local(buffered, cuts=cuts, crash=crash, restart=restart)
    assert found == [(i, i + 1, i + 2) for i in range(0, 18, 3)]


def test_a_map_on_a_keyed_stream_may_have_both_kinds_of_state() -> None:
    class Number(MapFunction, CheckpointedFunction):
        def initialize_state(self, context: Any) -> None:
            self.calls = context.get_operator_state_store().get_list_state(
                ListStateDescriptor("calls")
            )
            self.count = context.get_keyed_state_store().get_state(ValueStateDescriptor("count"))

        def map(self, value: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            self.calls.update([sum(self.calls.get()) + 1])
            return value, self.count.value(), self.calls.get()[0]

        def snapshot_state(self, context: Any) -> None:
            assert context.get_checkpoint_id() >= 0
            assert context.get_checkpoint_timestamp() == 0

    env = environment(1)
    stream = env.from_collection(list("abab")).key_by(lambda e: e).map(Number())
    found = collect_local(stream, cuts=1, restart=[1, 2, 3], crash=[2])
    assert found == [("a", 1, 1), ("b", 1, 2), ("a", 2, 3), ("b", 2, 4)]


class Roll(ProcessFunction, CheckpointedFunction):
    """Each instance knows its own elements; restored, it is told those of all."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.union = store.get_union_list_state(ListStateDescriptor("all"))
        self.rules = store.get_broadcast_state(MapStateDescriptor("rules"))
        self.everyone = sorted(self.union.get())
        self.mine: list[Any] = []

    def open(self, runtime_context: Any) -> None:
        self.place = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.mine.append(value)
        self.rules.put("last", 1 + (self.rules.get("last") or 0))
        yield value, self.place, self.everyone, self.rules.get("last")

    def snapshot_state(self, context: Any) -> None:
        self.union.update(self.mine)


def test_union_lists_come_back_whole_in_stages() -> None:
    env = environment(2)
    stream = env.from_collection([0, 1, 2, 3]).rebalance().process(Roll())
    sink = ListSink()
    stream.sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        job.step(2)
        job.restart(lose_local_state=True)
        job.step(2)
    assert {place for _, place, *_ in sink.values} == {0, 1}
    before = [everyone for value, _, everyone, _ in sink.values if value < 2]
    after = [everyone for value, _, everyone, _ in sink.values if value >= 2]
    assert before == [[], []]
    assert after == [[0, 1], [0, 1]]
    assert sorted(calls for *_, calls in sink.values) == [1, 1, 2, 2]


def test_union_lists_come_back_whole_in_the_ingress() -> None:
    env = environment(2)
    source = env.from_source(
        NumberSequenceSource(0, 7), WatermarkStrategy.no_watermarks(), "numbers"
    )
    sink = ListSink()
    source.process(Roll()).sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        job.step(4)
        seen = sorted(value for value, *_ in sink.values)
        job.restart()
        job.step(4)
    assert seen
    assert all(everyone == seen for value, _, everyone, _ in sink.values if value not in seen)


class CountingSink(DriverSink):
    """Numbers what each writer writes, across restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_seen": -1, "values": []}

    def create_writer(self, context: Any) -> Any:
        outer = super().create_writer(context)

        class Writer(type(outer), CheckpointedFunction):  # type: ignore[misc]
            def initialize_state(self, context: Any) -> None:
                self.state = context.get_operator_state_store().get_list_state(
                    ListStateDescriptor("written")
                )
                self.number = sum(self.state.get())

            def write(self, rows: list[Any]) -> None:
                numbered = [(self.number + at, row) for at, row in enumerate(rows)]
                self.number += len(rows)
                super().write(numbered)

            def snapshot_state(self, context: Any) -> None:
                self.state.update([self.number])

        outer.__class__ = Writer
        return outer

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        self.values.extend(rows)


def test_writers_of_sinks_have_operator_state() -> None:
    env = environment(1)
    sink = CountingSink()
    env.from_collection(list("abcdef")).key_by(lambda e: 0).process(Echo()).sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        while not job.done:
            job.crash_step(2)
            job.restart(lose_local_state=True)
    assert sink.values == list(enumerate("abcdef"))


class Echo(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class Wrong(MapFunction, CheckpointedFunction):
    def __init__(self, ask: Any) -> None:
        self.ask = ask

    def initialize_state(self, context: Any) -> None:
        self.ask(context)

    def map(self, value: Any) -> Any:
        return value

    def snapshot_state(self, context: Any) -> None:
        raise ValueError("cannot snapshot")


def _both(context: Any) -> None:
    store = context.get_operator_state_store()
    store.get_list_state(ListStateDescriptor("x"))
    store.get_union_list_state(ListStateDescriptor("x"))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda c: c.get_keyed_state_store(), "'Map' asked for keyed state, but does not run"),
        (
            lambda c: c.get_operator_state_store().get_list_state(MapStateDescriptor("x")),
            r"MapStateDescriptor\('x'\) where a ListStateDescriptor is needed",
        ),
        (_both, "operator state 'x' as union, but it is kept as split"),
        (lambda c: None, "cannot snapshot"),
    ],
)
def test_mistakes(ask: Any, message: str) -> None:
    env = environment()
    with pytest.raises(FunctionError, match=message):
        collect_local(env.from_collection([1]).map(Wrong(ask)))


def test_redistribution() -> None:
    instances = [
        {
            "l": encode_state(SPLIT, [1, 2, 3]),
            "u": encode_state(UNION, ["a"]),
            "b": encode_state(BROADCAST, {"k": 1}),
        },
        {"l": encode_state(SPLIT, [4]), "u": encode_state(UNION, ["b"])},
        {"l": encode_state(SPLIT, [5, 6])},
    ]
    shown = [
        {name: decode_state(data)[1] for name, data in instance.items()}
        for instance in redistribute(instances, 2)
    ]
    assert shown == [
        {"l": [1, 3, 5], "u": ["a", "b"], "b": {"k": 1}},
        {"l": [2, 4, 6], "u": ["a", "b"], "b": {"k": 1}},
    ]


@given(st.lists(st.lists(st.integers(), max_size=6), min_size=1, max_size=6), st.integers(1, 8))
def test_redistribution_keeps_every_element_once(lists: list[Any], parallelism: int) -> None:
    dealt = redistribute([{"l": encode_state(SPLIT, values)} for values in lists], parallelism)
    shares = [decode_state(instance["l"])[1] for instance in dealt]
    assert len(shares) == parallelism
    assert sorted(x for share in shares for x in share) == sorted(x for v in lists for x in v)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_fewer_tasks_in_the_ingress_take_over_all_lists() -> None:
    env = environment(4)
    source = env.from_source(
        NumberSequenceSource(0, 7), WatermarkStrategy.no_watermarks(), "numbers"
    )
    source.process(Buffer()).uid("buffer").sink_to(ListSink())
    with LocalJob(env._compile(None)) as job:
        job.step(4)
        states = job.epoch().operators

    def waiting() -> list[Any]:
        found = states.states["buffer"].values()
        return [value for held in found for value in decode_state(held["waiting"])[1]]

    before = waiting()
    assert len(states.states["buffer"]) == 4
    states.fit(2)
    assert len(states.states["buffer"]) == 2
    assert sorted(waiting()) == sorted(before)
    assert states.of_task(1)["buffer"]
