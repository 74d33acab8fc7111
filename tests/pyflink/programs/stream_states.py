from __future__ import annotations

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
        for line in sorted(lines, key=lambda line: line.partition(":")[0]):
            print(line)


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


ordered = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())

pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("a", 4), ("a", 5), ("b", 6)], Types.TUPLE([Types.STRING(), Types.INT()]))


class OfValue(KeyedProcessFunction):
    def open(self, ctx):
        self.v = ctx.get_state(ValueStateDescriptor("v", Types.INT()))

    def process_element(self, value, ctx):
        yield repr(self.v.value())
        self.v.update(value[1])
        yield repr(self.v.value())
        if value[1] == 3:
            self.v.clear()
            yield "cleared " + repr(self.v.value())


class OfList(KeyedProcessFunction):
    def open(self, ctx):
        self.l = ctx.get_list_state(ListStateDescriptor("l", Types.INT()))

    def process_element(self, value, ctx):
        yield "before " + repr(list(self.l.get()))
        yield "as iterable " + repr([x for x in self.l])
        self.l.add(value[1])
        self.l.add_all([7, 8])
        yield "after " + repr(list(self.l.get()))
        if value[1] == 3:
            self.l.clear()
            yield "cleared " + repr(list(self.l.get()))
        if value[1] == 4:
            self.l.update([9])
            yield "updated " + repr(list(self.l.get()))
        if value[1] == 5:
            self.l.update([])
            yield "emptied " + repr(list(self.l.get()))


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class OfFunctions(KeyedProcessFunction):
    def open(self, ctx):
        self.r = ctx.get_reducing_state(ReducingStateDescriptor("r", lambda a, b: a + b, Types.INT()))
        kind = Types.TUPLE([Types.INT(), Types.INT()])
        self.a = ctx.get_aggregating_state(AggregatingStateDescriptor("a", Mean(), kind))

    def process_element(self, value, ctx):
        yield "before " + repr((self.r.get(), self.a.get()))
        self.r.add(value[1])
        self.a.add(value[1])
        yield "after " + repr((self.r.get(), self.a.get()))
        if value[1] == 3:
            self.r.clear()
            self.a.clear()
            yield "cleared " + repr((self.r.get(), self.a.get()))


class WithTtl(KeyedProcessFunction):
    def open(self, ctx):
        config = StateTtlConfig.new_builder(Time.days(1)).cleanup_full_snapshot().build()
        descriptor = ValueStateDescriptor("v", Types.INT())
        descriptor.enable_time_to_live(config)
        self.v = ctx.get_state(descriptor)
        listed = ListStateDescriptor("l", Types.INT())
        listed.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).update_ttl_on_read_and_write().build())
        self.l = ctx.get_list_state(listed)
        mapped = MapStateDescriptor("m", Types.INT(), Types.INT())
        mapped.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).never_return_expired().build())
        self.m = ctx.get_map_state(mapped)

    def process_element(self, value, ctx):
        self.v.update((self.v.value() or 0) + value[1])
        self.l.add(value[1])
        self.m.put(value[1], self.v.value())
        yield repr((self.v.value(), list(self.l), sorted(self.m.items())))


class Twice(KeyedProcessFunction):
    def open(self, ctx):
        self.one = ctx.get_state(ValueStateDescriptor("same", Types.INT()))
        self.two = ctx.get_state(ValueStateDescriptor("same", Types.INT()))

    def process_element(self, value, ctx):
        self.one.update(value[1])
        yield repr(self.two.value())


for number, function in enumerate([OfValue, OfList, OfFunctions, WithTtl, Twice]):
    case(function.__name__, lambda function=function: pairs.key_by(lambda v: v[0]).process(function()))
data = pairs


class InMap(MapFunction):
    def open(self, ctx): self.v = ctx.get_state(ValueStateDescriptor("v", Types.INT()))
    def map(self, value):
        self.v.update((self.v.value() or 0) + value[1]); return value[0], self.v.value()
case("in map", lambda: data.key_by(lambda v: v[0]).map(InMap()))
class InFlat(FlatMapFunction):
    def open(self, ctx): self.v = ctx.get_state(ValueStateDescriptor("v", Types.INT()))
    def flat_map(self, value):
        self.v.update((self.v.value() or 0) + value[1])
        for _ in range(2): yield value[0], self.v.value()
case("in flat_map", lambda: data.key_by(lambda v: v[0]).flat_map(InFlat()))
class InFilter(FilterFunction):
    def open(self, ctx): self.v = ctx.get_state(ValueStateDescriptor("v", Types.INT()))
    def filter(self, value):
        first = self.v.value() is None; self.v.update(1); return first
case("in filter", lambda: data.key_by(lambda v: v[0]).filter(InFilter()))
class InReduce(ReduceFunction):
    def open(self, ctx): self.n = 0
    def reduce(self, a, b): self.n += 1; return a[0], a[1] + b[1] + 100 * self.n
case("rich reduce", lambda: data.key_by(lambda v: v[0]).reduce(InReduce()))

finish()
