"""States that are maps, broadcast state, side outputs of all functions, calls that wait."""

from __future__ import annotations

import asyncio

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import ProcessAllWindowFunction, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SessionWindowTimeGapExtractor,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
cases = []
TEXT, INT = Types.STRING(), Types.INT()
PAIR = Types.TUPLE([TEXT, INT])


def numbers_by_name():
    return MapStateDescriptor("m", Types.STRING(), Types.INT())


def names_by_number():
    return MapStateDescriptor("o", Types.INT(), Types.LIST(Types.STRING()))


def side():
    return OutputTag("side", Types.STRING())


def count_descriptor():
    return ValueStateDescriptor("n", Types.INT())


def case(label, stream):
    """Add a stream to the one job of the program."""
    cases.append(stream.map(lambda value: f"{label}: {value!r}", TEXT))


def both(label, stream):
    case(label, stream)
    case(f"{label} aside", stream.get_side_output(side()))


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def key(value):
    return value[0]


pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5)], PAIR)
stamped = pairs.assign_timestamps_and_watermarks(
    WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
)
rules = env.from_collection([("x", 10), ("y", 20), ("x", 30)], PAIR)


class OfMap(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.m = runtime_context.get_map_state(numbers_by_name())
        days = MapStateDescriptor("ttl", Types.INT(), Types.TUPLE([Types.STRING(), Types.INT()]))
        days.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        self.kept = runtime_context.get_map_state(days)

    def process_element(self, value, ctx):
        m = self.m
        yield "empty", m.is_empty(), list(m.keys()), list(m.values()), list(m.items()), list(m)
        m.put("k", value[1])
        m.put_all({"l": 1, "m": 2}.items())
        m.put_all([("n", 3)])
        yield "gets", m.get("k"), m.get("zz"), m["l"], "m" in m, "zz" in m, m.contains("n")
        m["o"] = 4
        del m["l"]
        m.remove("m")
        yield "all", sorted(m.items()), sorted(m.keys()), sorted(m.values()), sorted(m)
        self.kept.put(value[1], value)
        yield "ttl", sorted(self.kept.items()), self.kept.is_empty(), self.kept.get(1)
        for one in list(m.keys()):
            if one != "k":
                m.remove(one)
        yield "left", sorted(m.items()), m.is_empty()
        if value[1] == 3:
            m.clear()
            yield "cleared", m.is_empty(), list(m)


case("map state", pairs.key_by(key).process(OfMap()))


class Sides(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield side(), f"plain {value}"


class KeyedSides(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield side(), f"{ctx.get_current_key()} {value}"
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        ctx.timer_service().register_event_time_timer(value[1] + 2)
        ctx.timer_service().delete_event_time_timer(value[1] + 1)

    def on_timer(self, timestamp, ctx):
        yield timestamp, ctx.get_current_key(), ctx.time_domain(), ctx.timestamp()
        yield side(), f"timer {timestamp}"


class CoSides(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield value
        yield side(), f"first {value}"

    def process_element2(self, value, ctx):
        yield side(), f"second {value}"


class KeyedCoSides(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.n = runtime_context.get_state(count_descriptor())

    def process_element1(self, value, ctx):
        self.n.update((self.n.value() or 0) + 1)
        yield side(), f"first {ctx.get_current_key()} {value}"

    def process_element2(self, value, ctx):
        yield side(), f"second {ctx.get_current_key()} {value}"


class Broad(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield side(), "element"

    def process_broadcast_element(self, value, ctx):
        state, other = (
            ctx.get_broadcast_state(numbers_by_name()),
            ctx.get_broadcast_state(names_by_number()),
        )
        yield "before", state.get(value[0]), state.contains(value[0])
        state.put(value[0], value[1])
        other.put_all({value[1]: [value[0]]}.items())
        yield "after", sorted(state.items()), sorted(state.keys()), sorted(state.values())
        yield "other", sorted(other.items()), value[1] in other, sorted(other)
        if value[1] == 20:
            state.remove("x")
            other.clear()
            yield "less", sorted(state.items()), other.is_empty()
        yield side(), f"rule {value}"


class KeyedBroad(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield side(), f"{ctx.get_current_key()} {value}"
        read = ctx.get_broadcast_state(numbers_by_name())
        yield "reads", [name for name in dir(read) if name in ("put", "get", "contains", "remove")]

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(numbers_by_name()).put(value[0], value[1])


both("process", pairs.process(Sides()))
both("keyed process", stamped.key_by(key).process(KeyedSides()))
both("co-process", pairs.connect(rules).process(CoSides()))
both("keyed co-process", pairs.connect(rules).key_by(key, key).process(KeyedCoSides()))
broadcast = rules.broadcast(numbers_by_name(), names_by_number())
both("broadcast", pairs.connect(broadcast).process(Broad()))
keyed_broadcast = (
    pairs.key_by(key).connect(rules.broadcast(numbers_by_name())).process(KeyedBroad())
)
case("keyed broadcast aside", keyed_broadcast.get_side_output(side()))


class WindowSides(ProcessWindowFunction):
    def __init__(self, aside):
        self.aside = aside

    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, [v[1] for v in elements], window.max_timestamp()
        if self.aside:
            yield side(), f"{key} {window}"

    def clear(self, context):
        pass


class AllSides(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, sorted(elements)
        yield side(), f"all {context.window()}"


tens = TumblingEventTimeWindows.of(Time.milliseconds(3))
both("window", stamped.key_by(key).window(tens).process(WindowSides(True)))
both("window over all", stamped.window_all(tens).process(AllSides()))


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 2 if element[0] == "a" else 10


sessions = EventTimeSessionWindows.with_dynamic_gap(Gap())
case("sessions of dynamic gaps", stamped.key_by(key).window(sessions).process(WindowSides(False)))


class Pairwise(WindowAssigner):
    """Windows of two milliseconds."""

    def assign_windows(self, element, timestamp, context):
        start = timestamp - timestamp % 2
        return [TimeWindow(start, start + 2)]

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


class EverySecond(Trigger):
    """Fires at every second element, and at the end of the window."""

    def on_element(self, element, timestamp, window, ctx):
        count = ctx.get_partitioned_state(count_descriptor())
        count.update((count.value() or 0) + 1)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if count.value() % 2 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE_AND_PURGE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        ctx.get_partitioned_state(count_descriptor()).clear()


case("own assigner", stamped.key_by(key).window(Pairwise()).process(WindowSides(False)))
fives = TumblingEventTimeWindows.of(Time.milliseconds(5))
case(
    "own trigger",
    stamped.key_by(key).window(fives).trigger(EverySecond()).process(WindowSides(False)),
)
case(
    "global windows",
    pairs.key_by(key)
    .window(GlobalWindows.create())
    .trigger(CountTrigger.of(2))
    .reduce(lambda a, b: (a[0], a[1] + b[1])),
)


class Slow(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(60 if value[1] % 2 else 0)
        return [value, value]

    def timeout(self, value):
        return [("late", value[1])]


waiting = AsyncDataStream.ordered_wait(pairs, Slow(), Time.milliseconds(500), 10, PAIR)
case("ordered calls", waiting)
first, *others = cases
with first.union(*others).execute_and_collect() as lines:
    for line in sorted(lines):
        print(line)
