"""The harness for functions of two inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common.errors import ProgramError
from scurry.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    MapFunction,
    OutputTag,
)
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.testing import TwoInputHarness

RULES = MapStateDescriptor("rules")
UNPAID = OutputTag("unpaid")


class Payments(KeyedCoProcessFunction):
    """An order waits 10 ms for its payment."""

    def open(self, runtime_context: Any) -> None:
        self.order = runtime_context.get_state(ValueStateDescriptor("order"))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.order.update(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        if self.order.value() is not None:
            yield self.order.value(), value
            self.order.clear()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        if self.order.value() is not None:
            yield UNPAID, self.order.value()


def test_a_keyed_function_with_state_timers_and_a_restart() -> None:
    with TwoInputHarness(Payments(), lambda o: o[0], lambda p: p["for"]) as harness:
        harness.process_element1(("a", 1), timestamp=100)
        harness.process_element1(("b", 2), timestamp=101)
        assert harness.timers() == [(110, "a"), (111, "b")]
        harness.checkpoint()
        harness.restart(lose_local_state=True)
        harness.process_element2({"for": "a"}, timestamp=105)
        assert harness.state("order") == {"b": ("b", 2)}
        harness.process_watermark(111)
        assert harness.output == [(("a", 1), {"for": "a"})]
        assert harness.side_output(UNPAID) == [("b", 2)]


class Rules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, list(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value, ctx.current_processing_time())


def test_broadcast_state_survives_a_restart() -> None:
    with TwoInputHarness(Rules(), broadcast_states=[RULES]) as harness:
        harness.process_broadcast_element("b")
        harness.checkpoint()
        harness.process_broadcast_element("lost")
        harness.restart()
        harness.process_broadcast_element("a")
        harness.process_element(1)
        assert harness.output == [(1, [("a", 0), ("b", 0)])]


class KeyedRules(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), ctx.get_broadcast_state(RULES).is_empty()

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put_all({value: 1})


def test_keyed_broadcast() -> None:
    with TwoInputHarness(KeyedRules(), lambda e: e % 2, broadcast_states=[RULES]) as harness:
        harness.process_element(3)
        harness.process_broadcast_element("x")
        harness.process_element(4)
        assert harness.output == [(1, True), (0, False)]


class Both(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield 1, value

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield 2, value


def test_without_keys() -> None:
    with TwoInputHarness(Both()) as harness:
        harness.process_element2("x", timestamp=7)
        harness.process_element1("y")
        assert harness.timestamped_output == [((2, "x"), 7), ((1, "y"), None)]


class Plain(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TwoInputHarness(Plain()), "functions of two inputs, not Plain"),
        (lambda: TwoInputHarness(Payments(), lambda e: e), "give the harness two key selectors"),
        (lambda: TwoInputHarness(KeyedRules()), "give the harness a key selector"),
    ],
)
def test_mistakes(build: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        build()
