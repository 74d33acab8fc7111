"""User functions of random programs that wait, fail, forget or look at the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.fuzz.records import MODULUS, fields, fold, shaped

from scurry.common import Time
from scurry.datastream import KeyedProcessFunction, ProcessFunction
from scurry.datastream.functions import AsyncFunction, ProcessWindowFunction
from scurry.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

#: A timer of event time that only the end of all input reaches.
_END = (1 << 63) - 2


class Retrying(AsyncFunction):
    """Adds to the value. The first call for a record may fail or have no answer; for some records
    no call ever has one."""

    def __init__(self, amount: int, shape: str) -> None:
        self.amount, self.shape = amount, shape
        self.calls: Counter[Any] = Counter()

    async def async_invoke(self, value: Any) -> list[Any]:
        k, t, v = fields(value)
        self.calls[k, t, v] += 1
        if v % 7 == 0:
            return []
        if self.calls[k, t, v] == 1 and v % 2:
            raise ConnectionError("busy")
        if self.calls[k, t, v] == 1 and v % 4 == 2:
            return []
        return [shaped(self.shape, k, t, (v + self.amount) % MODULUS)]


def poisoned(value: Any, amount: int, shape: str) -> Any:
    """Adds to the value, and fails on every third."""
    k, t, v = fields(value)
    if v % 3 == 0:
        raise ValueError(f"poison: {v}")
    return shaped(shape, k, t, (v + amount) % MODULUS)


class Poisoned(ProcessFunction):
    """Emits twice and fails before the second, so that the first counts for nothing."""

    def __init__(self, amount: int, shape: str) -> None:
        self.amount, self.shape = amount, shape

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        k, t, v = fields(value)
        yield shaped(self.shape, k, t, (v + self.amount) % MODULUS)
        poisoned(value, self.amount, self.shape)


class PoisonedByKey(KeyedProcessFunction):
    """The same for each key."""

    def __init__(self, amount: int, shape: str) -> None:
        self.plain = Poisoned(amount, shape)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        return self.plain.process_element(value, ctx)


class PoisonedLater(AsyncFunction):
    """The same for calls."""

    def __init__(self, amount: int, shape: str) -> None:
        self.amount, self.shape = amount, shape

    async def async_invoke(self, value: Any) -> list[Any]:
        return [poisoned(value, self.amount, self.shape)]


class Lingering(KeyedProcessFunction):
    """Holds records back for a while of processing time, and no longer than the input lasts."""

    def __init__(self, delay: int, shape: str) -> None:
        self.delay, self.shape = delay, shape

    def open(self, runtime_context: Any) -> None:
        self.held = runtime_context.get_list_state(ListStateDescriptor("held"))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.held.add(fields(value))
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + self.delay)
        timers.register_event_time_timer(_END)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        held = list(self.held.get() or ())
        self.held.clear()
        for record in held:
            yield shaped(self.shape, *record)


class Residents(ProcessWindowFunction):
    """The records of a window of processing time."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        assert context.window().max_timestamp() < context.current_processing_time() + 1
        for element in elements:
            yield fields(element)


class Expiring(KeyedProcessFunction):
    """Emits for each record the fold of the values of its key that have not expired."""

    def __init__(self, kind: str, ttl: int, on_read: bool, shape: str) -> None:
        self.kind, self.shape, self.ttl, self.on_read = kind, shape, ttl, on_read

    def open(self, runtime_context: Any) -> None:
        builder = StateTtlConfig.new_builder(Time.milliseconds(self.ttl)).use_event_time()
        if self.on_read:
            builder = builder.update_ttl_on_read_and_write()
        descriptor: Any = {
            "value": lambda: ValueStateDescriptor("held"),
            "list": lambda: ListStateDescriptor("held"),
            "map": lambda: MapStateDescriptor("held"),
            "reducing": lambda: ReducingStateDescriptor("held", lambda a, b: fold([a, b])),
        }[self.kind]()
        descriptor.enable_time_to_live(builder.build())
        get = {"value": "get_state"}.get(self.kind, f"get_{self.kind}_state")
        self.state = getattr(runtime_context, get)(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        k, t, v = fields(value)
        yield shaped(self.shape, k, t, getattr(self, f"_{self.kind}")(v))

    def _value(self, v: int) -> int:
        held = self.state.value()
        self.state.update(v if held is None else fold([held, v]))
        return int(self.state.value())

    def _list(self, v: int) -> int:
        self.state.add(v)
        return fold(list(self.state.get()))

    def _map(self, v: int) -> int:
        self.state.put(v % 5, v)
        return fold([value for _, value in sorted(self.state.items())])

    def _reducing(self, v: int) -> int:
        self.state.add(v)
        return int(self.state.get())
