"""The testing kit, used as its users would."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, TimeDomain
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing import OperatorHarness

ODD = OutputTag("odd")


class Session(KeyedProcessFunction):
    """Counts events per user; reports 100 ms of event time after the last one."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.ends = runtime_context.get_state(ValueStateDescriptor("ends"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value[1] % 2:
            yield ODD, value
        timers = ctx.timer_service()
        if self.ends.value() is not None:
            timers.delete_event_time_timer(self.ends.value())
        self.ends.update(ctx.timestamp() + 100)
        timers.register_event_time_timer(self.ends.value())
        timers.register_event_time_timer(self.ends.value())
        self.count.update((self.count.value() or 0) + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        assert ctx.timer_service().current_watermark() >= timestamp
        yield ctx.get_current_key(), self.count.value(), timestamp
        self.count.clear()
        self.ends.clear()


def harness() -> OperatorHarness:
    return OperatorHarness(Session(), key_selector=lambda event: event[0])


def test_elements_watermarks_timers_and_state() -> None:
    with harness() as h:
        h.process_element(("ann", 0), 10)
        h.process_element(("bob", 1), 20)
        h.process_element(("ann", 2), 50)
        assert h.output == []
        assert h.state("count") == {"ann": 2, "bob": 1}
        assert h.timers() == [(120, "bob"), (150, "ann")]
        h.process_watermark(119)
        assert h.output == []
        h.process_watermark(150)
        assert h.timestamped_output == [(("bob", 1, 120), 120), (("ann", 2, 150), 150)]
        assert h.side_output(ODD) == [("bob", 1)]
        assert h.state("count") == {}
        assert h.timers() == []


@pytest.mark.parametrize("lose", [False, True])
def test_state_and_timers_survive_a_restart_from_a_checkpoint(lose: bool) -> None:
    with harness() as h:
        h.process_element(("ann", 0), 10)
        h.checkpoint()
        h.process_element(("ann", 0), 20)
        h.restart(lose_local_state=lose)
        assert h.state("count") == {"ann": 1}
        h.process_watermark(1000)
        assert h.output == [("ann", 1, 110)]


def test_a_timer_at_or_below_the_watermark_fires_as_the_watermark_next_moves() -> None:
    class Late(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.timer_service().register_event_time_timer(5)
            yield "element"

        def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
            yield timestamp

    with OperatorHarness(Late(), key_selector=lambda e: e) as h:
        h.process_watermark(10)
        h.process_element("x", 20)
        assert h.output == ["element"]
        h.process_watermark(10)
        assert h.output == ["element"]
        h.process_watermark(11)
        assert h.output == ["element", 5]


def test_processing_time_moves_only_when_told() -> None:
    class Reminder(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 50)
            return ()

        def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
            yield ctx.get_current_key(), timestamp, ctx.time_domain().name

    with OperatorHarness(Reminder(), key_selector=lambda e: e) as h:
        h.set_processing_time(1000)
        h.process_element("a")
        h.set_processing_time(1049)
        assert h.output == []
        h.set_processing_time(1050)
        h.set_processing_time(5000)
        assert h.output == [("a", 1050, "PROCESSING_TIME")]


def test_on_timer_may_register_timers_that_are_due_already() -> None:
    class Chain(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.timer_service().register_event_time_timer(10)
            return ()

        def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
            if timestamp < 40:
                ctx.timer_service().register_event_time_timer(timestamp + 10)
            yield timestamp

    with OperatorHarness(Chain(), key_selector=lambda e: e) as h:
        h.process_element("a", 1)
        h.process_watermark(30)
        assert h.output == [10, 20, 30]
        h.process_watermark(40)
        assert h.output == [10, 20, 30, 40]


def test_functions_without_keys() -> None:
    class Stamp(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    with OperatorHarness(Stamp()) as h:
        h.process_watermark(7)
        h.process_element("a", 9)
        h.process_element("b")
        assert h.output == [("a", 9, 7), ("b", None, 7)]


def test_errors_name_function_and_element() -> None:
    class Bad(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            raise KeyError(value)

    with OperatorHarness(Bad(), key_selector=lambda e: e) as h:
        with pytest.raises(FunctionError, match="Bad") as caught:
            h.process_element("zzz")
        assert caught.value.element == "'zzz'"
    with pytest.raises(ProgramError, match="key_selector"):
        OperatorHarness(Session())
    with pytest.raises(ProgramError, match="process functions"):
        OperatorHarness(int)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["soon", 1.5, None, True])
def test_a_timer_needs_a_whole_number(wrong: Any) -> None:
    class Timer(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.timer_service().register_event_time_timer(wrong)
            return ()

    with (
        OperatorHarness(Timer(), key_selector=lambda e: e) as h,
        pytest.raises(FunctionError, match="whole number of milliseconds"),
    ):
        h.process_element("a")
