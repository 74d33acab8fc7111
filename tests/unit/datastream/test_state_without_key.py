"""Keyed state where no key is being processed: an error, never the state of nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scurry.common import Time, WatermarkStrategy
from scurry.common.errors import FunctionError
from scurry.datastream import (
    KeyedProcessFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from scurry.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from scurry.testing.local import collect_local

Use = Callable[[Any], Any]


def expiring(name: str) -> ValueStateDescriptor:
    descriptor = ValueStateDescriptor(name)
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    return descriptor


#: what is done with which state, and how the error names it
USES: dict[str, tuple[Use, str]] = {
    "update": (lambda c: c.get_state(ValueStateDescriptor("s")).update(0), "update()"),
    "value": (lambda c: c.get_state(ValueStateDescriptor("s")).value(), "value()"),
    "clear": (lambda c: c.get_state(ValueStateDescriptor("s")).clear(), "clear()"),
    "ttl": (lambda c: c.get_state(expiring("s")).update(0), "update()"),
    "list": (lambda c: c.get_list_state(ListStateDescriptor("s")).add(0), "add()"),
    "replaced": (lambda c: c.get_list_state(ListStateDescriptor("s")).update([]), "update()"),
    "map": (lambda c: c.get_map_state(MapStateDescriptor("s")).put("a", 0), "put()"),
    "keys": (lambda c: list(c.get_map_state(MapStateDescriptor("s")).keys()), "keys()"),
    "reduced": (lambda c: c.get_reducing_state(ReducingStateDescriptor("s", max)).add(0), "add()"),
}


class Early(KeyedProcessFunction):
    """Uses state in ``open``."""

    def __init__(self, use: Use) -> None:
        self.use = use

    def open(self, runtime_context: Any) -> None:
        self.use(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def numbers(count: int = 3) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    return env.from_collection(list(range(count)))


def by_zero(stream: Any) -> Any:
    return stream.key_by(lambda value: None)


@pytest.mark.parametrize("use", USES)
def test_state_used_in_open_is_an_error(use: str) -> None:
    call, method = USES[use]
    stream = by_zero(numbers()).process(Early(call)).name("early")
    with pytest.raises(FunctionError) as caught:
        collect_local(stream)
    said = str(caught.value)
    assert f"{method} of state 's' was called in open" in said
    assert "no key is being processed" in said
    assert "Use it where an element or a timer is handled" in said
    assert "in operator 'early'" in said
    assert "test_state_without_key.py" in said, "the user's own line"


class Late(KeyedProcessFunction, CheckpointedFunction):
    """Uses state when elements come, which is right, and at one of the moments where it is not."""

    def __init__(self, when: str) -> None:
        self.when = when

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("s"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.state.update((self.state.value() or 0) + 1)
        yield ctx.get_current_key(), self.state.value()

    def initialize_state(self, context: Any) -> None:
        if self.when == "initialize_state":
            store = context.get_keyed_state_store()
            store.get_state(ValueStateDescriptor("s")).update(1)

    def snapshot_state(self, context: Any) -> None:
        if self.when == "snapshot_state":
            self.state.update(7)

    def close(self) -> None:
        if self.when == "close":
            self.state.value()


@pytest.mark.parametrize("when", ["initialize_state", "snapshot_state", "close"])
def test_state_used_before_or_after_elements_is_an_error(when: str) -> None:
    with pytest.raises(FunctionError, match=f"of state 's' was called in .*{when}"):
        collect_local(by_zero(numbers()).process(Late(when)))


def test_none_is_a_key() -> None:
    found = collect_local(by_zero(numbers()).process(Late("never")), cuts=1)
    assert found == [(None, 1), (None, 2), (None, 3)]


class Numbered(ReduceFunction):
    """The sum, and how many were added, which it keeps itself, for each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def reduce(self, one: Any, other: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return one[0], one[1] + other[1], self.count.value()


@pytest.mark.parametrize("cuts", [None, 1])
def test_a_reduce_function_has_the_state_of_its_key(cuts: int | None) -> None:
    pairs = numbers(6).map(lambda value: (value % 2, value, 0))
    found = collect_local(pairs.key_by(lambda pair: pair[0]).reduce(Numbered()), cuts=cuts)
    assert found == [(0, 0, 0), (1, 1, 0), (0, 2, 1), (1, 4, 1), (0, 6, 2), (1, 9, 2)]


@pytest.mark.parametrize(
    "windows",
    [
        TumblingEventTimeWindows.of(Time.milliseconds(2)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(1)),
    ],
    ids=["tumbling", "session"],
)
def test_what_windows_combine_with_has_no_key(windows: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value[1] - value[1] % 2
    )
    pairs = numbers(6).map(lambda value: (0, value, 0)).assign_timestamps_and_watermarks(strategy)
    stream = pairs.key_by(lambda pair: pair[0]).window(windows).reduce(Numbered())
    with pytest.raises(FunctionError, match="a function that only combines values"):
        collect_local(stream)
