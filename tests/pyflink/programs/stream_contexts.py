"""What functions find in their contexts: subtasks, parameters, clocks, states of windows."""

from __future__ import annotations

from pyflink.common import Duration, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.set_max_parallelism(16)
env.get_config().set_global_job_parameters({"name": "value", "n": "5"})
cases = []


def case(label, stream):
    """Add a stream to the one job of the program."""
    cases.append(stream.map(lambda value: f"{label}: {value!r}", Types.STRING()))


def pair():
    return Types.TUPLE([Types.STRING(), Types.INT()])


def told(context):
    return (
        context.get_number_of_parallel_subtasks(),
        context.get_index_of_this_subtask(),
        context.get_attempt_number(),
        context.get_job_parameter("name", "none"),
        context.get_job_parameter("n", "none"),
        context.get_job_parameter("other", "none"),
    )


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


pairs = env.from_collection([("a", 1), ("b", 12), ("a", 3), ("b", 25), ("a", 4), ("b", 7)], pair())
stamped = pairs.assign_timestamps_and_watermarks(
    WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(
        Stamp()
    )
)


class Maps(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.told = told(runtime_context)

    def map(self, value):
        return self.told

    def close(self):
        del self.told


class Flats(FlatMapFunction):
    def open(self, runtime_context):
        self.counter = runtime_context.get_metrics_group().add_group("g").counter("c")

    def flat_map(self, value):
        self.counter.inc()
        self.counter.inc(2)
        self.counter.dec()
        yield value[1], self.counter.get_count()


class Filters(FilterFunction):
    def open(self, runtime_context):
        self.least = int(runtime_context.get_job_parameter("n", "0"))

    def filter(self, value):
        return value[1] > self.least


class First(KeySelector):
    def get_key(self, value):
        return value[0]


class Adds(ReduceFunction):
    def reduce(self, value1, value2):
        return value1[0], value1[1] + value2[1]


class Times(ProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timestamp(), value[1]
        yield type(ctx.timer_service().current_processing_time()).__name__


class KeyedTimes(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_current_key(), ctx.timestamp()
        ctx.timer_service().register_event_time_timer(value[1] + 100)
        ctx.timer_service().register_event_time_timer(50)
        ctx.timer_service().register_event_time_timer(60)
        ctx.timer_service().delete_event_time_timer(60)

    def on_timer(self, timestamp, ctx):
        yield "timer", timestamp, ctx.timestamp(), ctx.get_current_key(), ctx.time_domain().name
        if timestamp == 50:
            ctx.timer_service().register_event_time_timer(51)


class Maps2(CoMapFunction):
    def open(self, runtime_context):
        self.told = told(runtime_context)

    def map1(self, value):
        return "first", value, self.told[0]

    def map2(self, value):
        return "second", value, self.told[1]


class Flats2(CoFlatMapFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.sums = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sums", lambda a, b: a + b, Types.INT())
        )

    def flat_map1(self, value):
        self.seen.add(value[1])
        yield len(list(self.seen.get()))

    def flat_map2(self, value):
        self.sums.add(1)
        yield self.sums.get() > 0


case("map", pairs.map(Maps()))
case("flat map", pairs.flat_map(Flats()))
case("filter", pairs.filter(Filters()))
case("times", stamped.process(Times()))
case("keyed times", stamped.key_by(First()).process(KeyedTimes()))
case("reduce", pairs.key_by(First()).reduce(Adds()))
case("maps of two", pairs.connect(pairs).map(Maps2()))
case("flats of two", pairs.connect(pairs).key_by(First(), First()).flat_map(Flats2()))
by_row = pairs.key_by(lambda v: Row(v[0], v[1] % 2), Types.ROW([Types.STRING(), Types.INT()]))
case("keys that are rows", by_row.reduce(Adds()))
by_tuple = pairs.key_by(lambda v: (v[0], v[1] % 2), Types.TUPLE([Types.STRING(), Types.INT()]))
case("keys that are tuples", by_tuple.reduce(Adds()))


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class OfWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        firings = context.window_state().get_state(ValueStateDescriptor("f", Types.INT()))
        firings.update((firings.value() or 0) + 1)
        every = context.global_state().get_map_state(
            MapStateDescriptor("e", Types.INT(), Types.INT())
        )
        every.put(context.window().start, firings.value())
        yield (
            key,
            str(context.window()),
            list(elements),
            firings.value(),
            sorted(every.items()),
            type(context.current_watermark()).__name__,
            type(context.current_processing_time()).__name__,
        )

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("f", Types.INT())).clear()


class OfAll(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, list(elements)


def windowed(assigner):
    return stamped.key_by(First(), Types.STRING()).window(assigner)


tens = TumblingEventTimeWindows.of(Time.milliseconds(10))
case("windows", windowed(tens).process(OfWindow()))
case("allowed lateness", windowed(tens).allowed_lateness(100).process(OfWindow()))
case("lateness and means", windowed(tens).allowed_lateness(15).aggregate(Mean(), OfWindow()))
case("means", windowed(tens).aggregate(Mean(), output_type=Types.DOUBLE()))
sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(4))
case("sessions", windowed(sessions).aggregate(Mean(), output_type=Types.DOUBLE()))
case("late sessions", windowed(sessions).allowed_lateness(50).reduce(Adds()))
sliding = SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10))
case("sliding", windowed(sliding).reduce(Adds(), OfWindow()))
case("all", stamped.window_all(tens).allowed_lateness(100).process(OfAll()))

first, *others = cases
with first.union(*others).execute_and_collect() as lines:
    for line in sorted(lines):
        print(line)
