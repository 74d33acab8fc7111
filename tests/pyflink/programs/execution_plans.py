"""The operators that `get_execution_plan` tells, and how records get from one to the next."""

from __future__ import annotations

import json

from pyflink.common import Configuration, Encoder, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import ProcessAllWindowFunction, ReduceFunction, WindowFunction
from pyflink.datastream.state import MapStateDescriptor
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
)

TEXT, INT = Types.STRING(), Types.INT()
PAIR = Types.TUPLE([TEXT, INT])
MAP = MapStateDescriptor("m", TEXT, INT)
SECOND = Time.seconds(1)


def show(label, build, parallelism=4):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    build(env)
    places = {}
    print(label)
    nodes = json.loads(env.get_execution_plan())["nodes"]
    for node in nodes:
        places[node["id"]] = len(places)
    for node in nodes:
        told = [node[name] for name in ("type", "pact", "contents", "parallelism")]
        for before in node.get("predecessors", []):
            told.append((places[before["id"]], before["ship_strategy"], before["side"]))
        print("  ", places[node["id"]], *told)


def pairs(env):
    return env.from_collection([("a", 1), ("b", 2)], PAIR)


def same(value):
    return value


def first(value):
    return value[0]


class Plain(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Keyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Two(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    def process_element2(self, value, ctx):
        yield value


class KeyedTwo(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    def process_element2(self, value, ctx):
        yield value


class MapTwo(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value


class FlatMapTwo(CoFlatMapFunction):
    def flat_map1(self, value):
        yield value

    def flat_map2(self, value):
        yield value


class Rules(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        pass


class KeyedRules(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        pass


class OfWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key


class OfAll(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield 1


class Applied(WindowFunction):
    def apply(self, key, window, inputs):
        yield key


class Older(ReduceFunction):
    def reduce(self, value1, value2):
        return value1


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Asked(AsyncFunction):
    async def async_invoke(self, value):
        return [value]

    def timeout(self, value):
        return [value]


ordered = WatermarkStrategy.for_monotonous_timestamps()
stamped = WatermarkStrategy.for_monotonous_timestamps()
# what this returns is the strategy itself
stamped.with_timestamp_assigner(Stamp())


def windows(env, assigner=None):
    return pairs(env).key_by(first, TEXT).window(assigner or TumblingEventTimeWindows.of(SECOND))


show("map", lambda env: pairs(env).map(same, PAIR).print())
show("map without a type", lambda env: pairs(env).map(same).print())
show("no type", lambda env: env.from_collection([1]).print())
show("rows", lambda env: env.from_collection([Row(1)], Types.ROW([INT])).print())
show(
    "a chain",
    lambda env: (
        pairs(env).map(same, PAIR).flat_map(lambda v: [v], PAIR).filter(lambda v: True).print()
    ),
)
show(
    "names",
    lambda env: (
        pairs(env)
        .name("pairs")
        .map(same, PAIR)
        .name("mine")
        .uid("u")
        .set_parallelism(3)
        .set_description("my map")
        .print()
        .name("end")
        .set_description("my end")
    ),
)
show(
    "names in a chain",
    lambda env: (
        pairs(env)
        .map(same, PAIR)
        .name("a")
        .set_description("first")
        .map(same, PAIR)
        .name("b")
        .map(same, PAIR)
        .set_description("third")
        .print()
    ),
)
show("process", lambda env: pairs(env).process(Plain(), PAIR).print())
show("keyed process", lambda env: pairs(env).key_by(first).process(Keyed(), PAIR).print())
show("keyed map", lambda env: pairs(env).key_by(first).map(same, PAIR).map(same, PAIR).print())
show("reduce", lambda env: pairs(env).key_by(first).reduce(lambda a, b: a).print())
show("sum", lambda env: pairs(env).key_by(first).sum(1).print())
show("keyed print", lambda env: pairs(env).key_by(first).print())
show("one slot", lambda env: pairs(env).map(same, PAIR).key_by(first).sum(1).print(), 1)
show("two keys", lambda env: pairs(env).key_by(first).max_by(1).key_by(first).min(1).print())
show("connected", lambda env: pairs(env).connect(pairs(env)).process(Two(), PAIR).print())
show(
    "connected maps",
    lambda env: pairs(env).connect(pairs(env)).map(MapTwo(), PAIR).map(same, PAIR).print(),
)
show(
    "connected with keys",
    lambda env: (
        pairs(env).connect(pairs(env)).key_by(first, first).process(KeyedTwo(), PAIR).print()
    ),
)
show(
    "connected flat maps with keys",
    lambda env: (
        pairs(env).connect(pairs(env)).key_by(first, first).flat_map(FlatMapTwo(), PAIR).print()
    ),
)
show(
    "broadcast state",
    lambda env: (
        pairs(env).connect(pairs(env).broadcast(MAP)).process(Rules(), PAIR).map(same, PAIR).print()
    ),
)
show(
    "keyed broadcast state",
    lambda env: (
        pairs(env)
        .key_by(first)
        .connect(pairs(env).broadcast(MAP))
        .process(KeyedRules(), PAIR)
        .print()
    ),
)
show(
    "union", lambda env: pairs(env).union(pairs(env), pairs(env).shuffle()).map(same, PAIR).print()
)
show(
    "keyed union",
    lambda env: pairs(env).key_by(first).union(pairs(env).map(same, PAIR)).map(same, PAIR).print(),
)


def partitions(env):
    mapped = pairs(env).map(same, PAIR)
    mapped.rebalance().map(same, PAIR).print()
    mapped.shuffle().map(same, PAIR).print()
    mapped.rescale().map(same, PAIR).print()
    mapped.forward().map(same, PAIR).print()
    mapped.broadcast().map(same, PAIR).print()
    mapped.shuffle().rebalance().print()
    mapped.rebalance().key_by(first).sum(1).print()


show("partitions", partitions)
show(
    "custom partitions",
    lambda env: (
        pairs(env)
        .map(same, PAIR)
        .partition_custom(lambda key, slots: 0, first)
        .map(same, PAIR)
        .print()
    ),
)
show("watermarks", lambda env: pairs(env).assign_timestamps_and_watermarks(ordered).print())
show("timestamps", lambda env: pairs(env).assign_timestamps_and_watermarks(stamped).print())
show("window", lambda env: windows(env).process(OfWindow(), TEXT).map(same, TEXT).print())
show("window reduce", lambda env: windows(env).reduce(lambda a, b: a).print())
show("window reduce and more", lambda env: windows(env).reduce(Older(), OfWindow(), TEXT).print())
show(
    "window aggregate", lambda env: windows(env).aggregate(Count(), None, Types.INT(), INT).print()
)
show("window apply", lambda env: windows(env).apply(Applied(), TEXT).print())
show(
    "sliding windows",
    lambda env: (
        windows(env, SlidingProcessingTimeWindows.of(Time.seconds(2), SECOND))
        .apply(Applied(), TEXT)
        .print()
    ),
)
show(
    "sessions",
    lambda env: (
        windows(env, EventTimeSessionWindows.with_gap(SECOND))
        .trigger(PurgingTrigger.of(CountTrigger.of(2)))
        .process(OfWindow(), TEXT)
        .set_parallelism(2)
        .print()
    ),
)
show(
    "global windows",
    lambda env: (
        windows(env, GlobalWindows.create())
        .trigger(ContinuousEventTimeTrigger.of(SECOND))
        .process(OfWindow(), TEXT)
        .name("mine")
        .print()
    ),
)
show(
    "count windows",
    lambda env: pairs(env).key_by(first).count_window(4, 2).process(OfWindow(), TEXT).print(),
)
show(
    "windows over all",
    lambda env: (
        pairs(env).window_all(TumblingEventTimeWindows.of(SECOND)).process(OfAll(), INT).print()
    ),
)


def side_outputs(env):
    whole = pairs(env).process(Plain(), PAIR)
    whole.get_side_output(OutputTag("texts", TEXT)).map(same, TEXT).print()
    whole.map(same, PAIR).print()


show("side outputs", side_outputs)
show("projection", lambda env: pairs(env).map(same, PAIR).project(1, 0).print())
show(
    "a source",
    lambda env: (
        env.from_source(NumberSequenceSource(1, 9), ordered, "numbers", Types.LONG())
        .map(same, Types.LONG())
        .print()
    ),
)


def to_files(env):
    sink = FileSink.for_row_format("/tmp/never", Encoder.simple_string_encoder()).build()
    return pairs(env).map(first, TEXT).sink_to(sink).set_parallelism(2)


show("a sink", to_files)
show("a sink with a name", lambda env: to_files(env).name("files"))
show(
    "calls that wait",
    lambda env: (
        AsyncDataStream.unordered_wait(pairs(env).map(same, PAIR), Asked(), SECOND, 2, PAIR)
        .map(same, PAIR)
        .print()
    ),
)


def forks(env):
    mapped = pairs(env).map(same, PAIR)
    mapped.map(same, PAIR).print()
    mapped.filter(lambda v: True)


show("forks and dead ends", forks)
show(
    "chains that are cut",
    lambda env: (
        pairs(env)
        .map(same, PAIR)
        .map(same, PAIR)
        .start_new_chain()
        .map(same, PAIR)
        .map(same, PAIR)
        .disable_chaining()
        .map(same, PAIR)
        .print()
    ),
)
show(
    "what chains have in common",
    lambda env: (
        pairs(env)
        .map(same, PAIR)
        .set_max_parallelism(10)
        .map(same, PAIR)
        .set_max_parallelism(10)
        .map(same, PAIR)
        .slot_sharing_group("a")
        .map(same, PAIR)
        .slot_sharing_group("b")
        .map(same, PAIR)
        .print()
    ),
)
show("not parallel", lambda env: pairs(env).map(same, PAIR).force_non_parallel().print())
show("cached", lambda env: pairs(env).map(same, PAIR).cache().map(same, PAIR).print())


def other_parallelism(env):
    env.set_parallelism(3)
    pairs(env).map(same, PAIR).print()
    env.set_parallelism(2)
    pairs(env).map(same, PAIR).print()


show("another parallelism", other_parallelism)


def without_chains(env):
    configuration = Configuration()
    configuration.set_string("python.operator-chaining.enabled", "false")
    env.configure(configuration)
    pairs(env).map(same, PAIR).map(same, PAIR).print()


show("no chains", without_chains)


def forward_to_more(env):
    pairs(env).map(same, PAIR).forward().print().set_parallelism(2)


for build in (lambda env: None, forward_to_more):
    try:
        show("refused", build)
    except Exception:
        print("refused")
