from __future__ import annotations

import asyncio

from pyflink.common import *
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import *
from pyflink.datastream.functions import *
from pyflink.datastream.state import *
from pyflink.datastream.window import *

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
cases = []


def case(label, build):
    """Add a stream to the one job of the program."""
    cases.append(build().map(lambda value: f"{label}: {value!r}", Types.STRING()))


def finish():
    """Run the job; streams are told apart by their labels."""
    first, *others = cases
    with first.union(*others).execute_and_collect() as lines:
        for line in sorted(lines, key=str):
            print(line)


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


ordered = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())


ints = env.from_collection([1, 2, 3], Types.INT())
texts = env.from_collection(["a", "b"], Types.STRING())
pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3)], Types.TUPLE([Types.STRING(), Types.INT()]))
others = env.from_collection([("a", "x"), ("c", "y")], Types.TUPLE([Types.STRING(), Types.STRING()]))


class CoM(CoMapFunction):
    def map1(self, value):
        return f"one {value}"

    def map2(self, value):
        return f"two {value}"


class CoF(CoFlatMapFunction):
    def flat_map1(self, value):
        yield value
        yield value

    def flat_map2(self, value):
        return None


tag = OutputTag("tag", Types.STRING())


class CoP(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield "1", value
        yield tag, f"side {value}"

    def process_element2(self, value, ctx):
        yield "2", value


class KeyedCoP(KeyedCoProcessFunction):
    def open(self, ctx):
        self.seen = ctx.get_list_state(ListStateDescriptor("seen", Types.STRING()))

    def process_element1(self, value, ctx):
        self.seen.add(str(value[1]))
        ctx.timer_service().register_event_time_timer(100)
        yield "1", value, ctx.get_current_key()

    def process_element2(self, value, ctx):
        self.seen.add(str(value[1]))
        ctx.timer_service().register_event_time_timer(100)

    def on_timer(self, timestamp, ctx):
        yield "timer", timestamp, ctx.get_current_key(), sorted(self.seen.get())


class KeyedCoM(CoMapFunction):
    def open(self, ctx):
        self.n = ctx.get_state(ValueStateDescriptor("n", Types.INT()))

    def map1(self, value):
        self.n.update((self.n.value() or 0) + 1)
        return value[0], "1"

    def map2(self, value):
        self.n.update((self.n.value() or 0) + 1)
        return value[0], "2"


rules = MapStateDescriptor("rules", Types.STRING(), Types.STRING())


class Bro(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield "element", value

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(rules).put(value, value)
        yield "rule", value, sorted(dict(ctx.get_broadcast_state(rules).items()).items())


class KeyedBro(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(50)
        yield "element", value, ctx.get_current_key()

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(rules).put(value, value)
        yield "rule", value

    def on_timer(self, timestamp, ctx):
        yield "timer", ctx.get_current_key(), sorted(k for k, _ in ctx.get_broadcast_state(rules).items())


class Slow(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0.01)
        return [value, value * 10]

    def timeout(self, value):
        return [-1]


key = lambda v: v[0]
case("connect map", lambda: ints.connect(texts).map(CoM()))
case("connect map typed", lambda: ints.connect(texts).map(CoM(), Types.STRING()))
case("connect flat_map", lambda: ints.connect(texts).flat_map(CoF()))
case("connect side", lambda: ints.connect(texts).process(CoP()).get_side_output(tag))
case("keyed before", lambda: pairs.key_by(key).connect(others.key_by(key)).process(KeyedCoP()))
case("keyed after", lambda: pairs.connect(others).key_by(key, key).process(KeyedCoP()))
case("keyed after typed", lambda: pairs.connect(others).key_by(key, key, Types.STRING()).process(KeyedCoP()))
case("keyed map", lambda: pairs.connect(others).key_by(key, key).map(KeyedCoM()))
case("keyed map typed", lambda: pairs.connect(others).key_by(key, key).map(KeyedCoM(), Types.TUPLE([Types.STRING(), Types.STRING()])))
case("keyed flat", lambda: pairs.connect(others).key_by(key, key).flat_map(CoF()))
case("broadcast", lambda: ints.connect(texts.broadcast(rules)).process(Bro()).filter(lambda v: v[0] == "element"))
case("broadcast rules", lambda: ints.connect(texts.broadcast(rules)).process(Bro()).filter(lambda v: v[0] == "rule"))
case("keyed broadcast", lambda: pairs.key_by(key).connect(texts.broadcast(rules)).process(KeyedBro()))
case("union", lambda: ints.union(env.from_collection([7], Types.INT()), env.from_collection([8], Types.INT())))
case("union keyed", lambda: pairs.union(env.from_collection([("a", 10)], Types.TUPLE([Types.STRING(), Types.INT()]))).key_by(key).sum(1).map(lambda v: v[0]))
case("async", lambda: AsyncDataStream.unordered_wait(ints, Slow(), Time.seconds(5), 2, Types.INT()))
case("async ordered", lambda: AsyncDataStream.ordered_wait(ints, Slow(), Time.seconds(5), 2, Types.INT()))
case("map none", lambda: ints.map(lambda v: None))
case("flat range", lambda: ints.flat_map(range, Types.INT()))
case("filter truthy", lambda: env.from_collection([0, 1, "", "a", None, [], [0]]).filter(lambda v: v))
case("chain", lambda: ints.map(lambda v: v).start_new_chain().map(lambda v: v).disable_chaining())
case("cache", lambda: ints.map(lambda v: v).set_buffer_timeout(10))
finish()
