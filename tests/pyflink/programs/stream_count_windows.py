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
        for line in sorted(lines, key=str):
            print(line)


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


ordered = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
data = [("a", 1, 1), ("b", 3, 2), ("a", 4, 3), ("b", 7, 5), ("a", 12, 4), ("a", 13, 8), ("b", 25, 7), ("b", 26, 9), ("a", 40, 10), ("a", 41, 11), ("b", 60, 12)]


class Bounded(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Names(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        bounds = (window.start, window.end) if hasattr(window, "start") else None
        yield key, bounds, [e[2] for e in elements]


class Applies(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, window.max_timestamp(), [e[2] for e in inputs])]


class All(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield [e[2] for e in elements]


class AllApply(AllWindowFunction):
    def apply(self, window, inputs):
        yield window.max_timestamp(), [e[2] for e in inputs]


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[2]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class OfResult(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().max_timestamp(), list(elements)


class Counted(ProcessWindowFunction):
    def process(self, key, context, elements):
        state = context.global_state().get_state(ValueStateDescriptor("fired", Types.INT()))
        here = context.window_state().get_state(ValueStateDescriptor("here", Types.INT()))
        state.update((state.value() or 0) + 1)
        here.update((here.value() or 0) + 1)
        yield key, context.window().start, state.value(), here.value(), len(list(elements))

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("here", Types.INT())).clear()


def stream(bound):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    return env.from_collection(data, kind).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Bounded()))


ms = Time.milliseconds
assigners = {
    "tumbling": lambda: TumblingEventTimeWindows.of(ms(10)),
    "offset": lambda: TumblingEventTimeWindows.of(ms(10), ms(3)),
    "sliding": lambda: SlidingEventTimeWindows.of(ms(10), ms(5)),
    "session": lambda: EventTimeSessionWindows.with_gap(ms(5)),
    "dynamic": lambda: DynamicEventTimeSessionWindows.with_dynamic_gap(type("Gap", (SessionWindowTimeGapExtractor,), {"extract": lambda self, e: 3 + e[2]})()),
}
triggers = {
    "default": lambda: None,
    "event": EventTimeTrigger.create,
    "count": lambda: CountTrigger.of(2),
    "purging": lambda: PurgingTrigger.of(CountTrigger.of(2)),
    "purging event": lambda: PurgingTrigger.of(EventTimeTrigger.create()),
}
plain = env.from_collection(data, kind)
case("count 2", lambda: plain.key_by(lambda v: v[0]).count_window(2).process(Names()))
case("count 3 1", lambda: plain.key_by(lambda v: v[0]).count_window(3, 1).process(Names()))
case("count 2 3", lambda: plain.key_by(lambda v: v[0]).count_window(2, 3).process(Names()))
case("count reduce", lambda: plain.key_by(lambda v: v[0]).count_window(2).reduce(lambda x, y: (x[0], x[1], x[2] + y[2])))
case("count aggregate", lambda: plain.key_by(lambda v: v[0]).count_window(2).aggregate(Sum()))
case("count apply", lambda: plain.key_by(lambda v: v[0]).count_window(2).apply(Applies()))
case("all tumbling", lambda: stream(0).window_all(TumblingEventTimeWindows.of(ms(10))).process(All()))
case("all apply", lambda: stream(0).window_all(TumblingEventTimeWindows.of(ms(10))).apply(AllApply()))
case("all session", lambda: stream(0).window_all(EventTimeSessionWindows.with_gap(ms(5))).process(All()))
case("all reduce", lambda: stream(0).window_all(TumblingEventTimeWindows.of(ms(10))).reduce(lambda x, y: (x[0], x[1], x[2] + y[2])))
case("all aggregate", lambda: stream(0).window_all(TumblingEventTimeWindows.of(ms(10))).aggregate(Sum()))
case("global count", lambda: plain.key_by(lambda v: v[0]).window(GlobalWindows.create()).trigger(CountTrigger.of(3)).process(Names()))
case("global purging", lambda: plain.key_by(lambda v: v[0]).window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(3))).process(Names()))
finish()
