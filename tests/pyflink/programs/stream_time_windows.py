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


def windowed(assigner, trigger, lateness=0):
    made = stream(0).key_by(lambda v: v[0]).window(assigner)
    if trigger is not None:
        made = made.trigger(trigger)
    return made.allowed_lateness(lateness) if lateness else made


def added(x, y):
    return x[0], x[1], x[2] + y[2]


for a, assigner in assigners.items():
    for t in ("default", "count", "purging"):
        if t == "default" or a in ("tumbling", "session"):
            made = windowed(assigner(), triggers[t]())
            case(f"{a} {t} process", lambda: made.process(Names()))
for a in ("sliding", "session"):
    made = windowed(assigners[a](), None)
    case(f"{a} apply", lambda: made.apply(Applies()))
    case(f"{a} reduce", lambda: made.reduce(added))
    case(f"{a} reduce process", lambda: made.reduce(added, OfResult()))
    case(f"{a} aggregate", lambda: made.aggregate(Sum()))
    case(f"{a} aggregate process", lambda: made.aggregate(Sum(), OfResult()))
case("states of windows", lambda: windowed(assigners["sliding"](), None, 10).process(Counted()))
finish()
