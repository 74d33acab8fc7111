"""The user functions of random programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.fuzz.records import MODULUS, add_in_place, fields, fold, from_key, shaped

from scurry.datastream import KeyedProcessFunction, OutputTag, ProcessFunction
from scurry.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    CheckpointedFunction,
    CoGroupFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from scurry.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

ASIDE = OutputTag("aside")
RULES = MapStateDescriptor("rules")
#: Added to the values of records that an audit finds late.
LATE = 1 << 40


class Folding(AggregateFunction):
    """Folds values in the order in which they come."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator.append(value)
        return [fold(accumulator)]

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, one: list[int], other: list[int]) -> list[int]:
        raise AssertionError("accumulators of states are not merged")


class Running(KeyedProcessFunction):
    """Emits for each record the fold of the values of its key so far, kept in state of a kind."""

    def __init__(self, kind: str, shape: str) -> None:
        self.kind, self.shape = kind, shape

    def open(self, runtime_context: Any) -> None:
        ctx = runtime_context
        if self.kind == "value":
            self.value = ctx.get_state(ValueStateDescriptor("value"))
        elif self.kind == "list":
            self.list = ctx.get_list_state(ListStateDescriptor("list"))
        elif self.kind == "map":
            self.map = ctx.get_map_state(MapStateDescriptor("map"))
        elif self.kind == "reducing":
            together = ReducingStateDescriptor("reducing", lambda a, b: fold([a, b]))
            self.reducing = ctx.get_reducing_state(together)
        else:
            self.aggregating = ctx.get_aggregating_state(
                AggregatingStateDescriptor("aggregating", Folding())
            )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        k, t, v = fields(value)
        assert from_key(ctx.get_current_key()) == k
        yield shaped(self.shape, k, t, getattr(self, f"_{self.kind}")(v))

    def _value(self, v: int) -> int:
        held = self.value.value()
        self.value.update(v if held is None else fold([held, v]))
        return self.value.value()

    def _list(self, v: int) -> int:
        self.list.add(v)
        return fold(list(self.list.get()))

    def _map(self, v: int) -> int:
        self.map.put(len(list(self.map.keys())), v)
        return fold([value for _, value in sorted(self.map.items())])

    def _reducing(self, v: int) -> int:
        self.reducing.add(v)
        return self.reducing.get()

    def _aggregating(self, v: int) -> int:
        self.aggregating.add(v)
        return self.aggregating.get()


class Changing(KeyedProcessFunction):
    """Keeps the first record of a key, changes that very object for each further one, and emits
    it."""

    def open(self, runtime_context: Any) -> None:
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        held = self.held.value()
        held = value if held is None else add_in_place(held, fields(value)[2])
        self.held.update(held)
        yield held
        if fields(value)[2] % 2:
            add_in_place(held, 1)
            self.held.update(held)
            yield held


class Sorting(KeyedProcessFunction):
    """Emits the values of each timestamp of a key together, when time has reached it; what comes
    later than that is emitted at once."""

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        k, t, v = fields(value)
        ts, timers = ctx.timestamp(), ctx.timer_service()
        if ts <= timers.current_watermark():
            yield shaped(self.shape, k, t, (v + 7) % MODULUS)
            return
        self.waiting.put(ts, (self.waiting.get(ts) or []) + [v])
        timers.register_event_time_timer(ts)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        values = sorted(self.waiting.get(timestamp))
        self.waiting.remove(timestamp)
        yield shaped(self.shape, from_key(ctx.get_current_key()), timestamp, fold(values))


class Delaying(KeyedProcessFunction):
    """Emits, a while after each record, the sum of all values up to then."""

    def __init__(self, delay: int, shape: str) -> None:
        self.delay, self.shape = delay, shape

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.seen.add((ctx.timestamp(), fields(value)[2]))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + self.delay)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        total = sum(v for ts, v in self.seen.get() if ts <= timestamp) % MODULUS
        yield shaped(self.shape, from_key(ctx.get_current_key()), timestamp, total)


class Splitting(ProcessFunction):
    """Records with an odd value go aside."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if fields(value)[2] % 2:
            yield ASIDE, value
        else:
            yield value


class Stamping(ProcessFunction):
    """Puts the timestamp into the record."""

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        k, _, v = fields(value)
        yield shaped(self.shape, k, ctx.timestamp(), v)


class Numbering(MapFunction, CheckpointedFunction):
    """Folds the values of all records, of whatever key, in operator state."""

    def __init__(self, shape: str, union: bool) -> None:
        self.shape, self.union = shape, union

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        get = store.get_union_list_state if self.union else store.get_list_state
        self.state = get(ListStateDescriptor("folded"))
        self.folded = list(self.state.get())
        assert len(self.folded) <= 1

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.folded)

    def map(self, value: Any) -> Any:
        k, t, v = fields(value)
        self.folded = [fold([*self.folded, v])]
        return shaped(self.shape, k, t, self.folded[0])


class Asking(AsyncFunction):
    """Adds to the value, some time later."""

    def __init__(self, amount: int, shape: str) -> None:
        self.amount, self.shape = amount, shape

    async def async_invoke(self, value: Any) -> list[Any]:
        k, t, v = fields(value)
        return [shaped(self.shape, k, t, (v + self.amount) % MODULUS)]


class SortingBoth(KeyedCoProcessFunction):
    """As :class:`Sorting`, for two inputs, whose values are told apart."""

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self._keep(2 * fields(value)[2], ctx)

    def process_element2(self, value: Any, ctx: Any) -> None:
        self._keep(2 * fields(value)[2] + 1, ctx)

    def _keep(self, v: int, ctx: Any) -> None:
        ts = ctx.timestamp()
        self.waiting.put(ts, (self.waiting.get(ts) or []) + [v])
        ctx.timer_service().register_event_time_timer(ts)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        values = sorted(self.waiting.get(timestamp))
        yield shaped(self.shape, from_key(ctx.get_current_key()), timestamp, fold(values))


class Ruled(KeyedBroadcastProcessFunction):
    """Adds to the values of each timestamp the sum of the rules up to it, when time reaches it."""

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element(self, value: Any, ctx: Any) -> None:
        ts = ctx.timestamp()
        self.waiting.put(ts, (self.waiting.get(ts) or []) + [fields(value)[2]])
        ctx.timer_service().register_event_time_timer(ts)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        rules, ts = ctx.get_broadcast_state(RULES), ctx.timestamp()
        rules.put(ts, (rules.get(ts) or 0) + fields(value)[2])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        values = sorted(self.waiting.get(timestamp))
        rules = sum(v for ts, v in ctx.get_broadcast_state(RULES).items() if ts <= timestamp)
        folded = (fold(values) + rules) % MODULUS
        yield shaped(self.shape, from_key(ctx.get_current_key()), timestamp, folded)


class Pairing(ProcessJoinFunction):
    """Emits a record for each pair."""

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield paired(self.shape, left, right)


def paired(shape: str, left: Any, right: Any) -> Any:
    """The record made of two."""
    (k, t, v), (_, u, w) = fields(left), fields(right)
    return shaped(shape, k, max(t, u), (2 * v + 3 * w) % MODULUS)


class Summing(AggregateFunction):
    """The sum of the values, and the latest time, of the records of one key."""

    mergeable = True

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def create_accumulator(self) -> list[int]:
        return [0, 0, 0]

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        k, t, v = fields(value)
        accumulator[0] = max(k, accumulator[0])
        accumulator[1] = max(t, accumulator[1])
        accumulator[2] += v
        return accumulator

    def get_result(self, accumulator: list[int]) -> Any:
        k, t, v = accumulator
        return shaped(self.shape, k, t, v % MODULUS)

    def merge(self, one: list[int], other: list[int]) -> list[int]:
        return [max(one[0], other[0]), max(one[1], other[1]), one[2] + other[2]]


class Contents(ProcessWindowFunction):
    """Folds the values of a window, sorted or in the order in which they came."""

    def __init__(self, in_order: bool, shape: str) -> None:
        self.in_order, self.shape = in_order, shape

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        values = [fields(element)[2] for element in elements]
        folded = fold(values if self.in_order else sorted(values))
        yield shaped(self.shape, from_key(key), context.window().max_timestamp(), folded)


class Members(ProcessWindowFunction):
    """The records of a window, one by one."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for element in elements:
            k, _, v = fields(element)
            yield (k, context.window().max_timestamp(), v)


class AllContents(ProcessAllWindowFunction):
    """The same for windows without keys."""

    def __init__(self, in_order: bool, shape: str) -> None:
        self.contents = Contents(in_order, shape)

    def process(self, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        return self.contents.process(0, context, elements)


class Grouping(CoGroupFunction):
    """Folds the values of both sides, sorted and told apart."""

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        lefts, rights = [fields(one) for one in first], [fields(one) for one in second]
        k, t = max((k, t) for k, t, _ in [*lefts, *rights])
        values = sorted(v for _, _, v in lefts), sorted(v for _, _, v in rights)
        yield shaped(self.shape, k, t, fold([len(lefts), *values[0], *values[1]]))


class Both(CoGroupFunction):
    """The records of both sides of a window, one by one, told apart."""

    def __init__(self, size: int) -> None:
        self.size = size

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        for side, elements in enumerate((first, second)):
            for k, ts, v in elements:
                yield (k, ts // self.size * self.size + self.size - 1, 2 * v + side)
