"""What windows, states and types say of themselves, and what operators are called."""

from pyflink.common import Instant, Row, Time, Types
from pyflink.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from pyflink.datastream.window import (
    CountWindow,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

SIZE, SLIDE = Time.seconds(5), Time.seconds(2)
INT, TEXT = Types.INT(), Types.STRING()
MAP = MapStateDescriptor("m", TEXT, INT)

ONE_SECOND = StateTtlConfig.new_builder(Time.seconds(1))
WHEN_READ = StateTtlConfig.UpdateType.OnReadAndWrite

described = [
    TumblingEventTimeWindows.of(SIZE),
    TumblingEventTimeWindows.of(SIZE, Time.seconds(1)),
    TumblingProcessingTimeWindows.of(SIZE),
    SlidingEventTimeWindows.of(SIZE, SLIDE),
    SlidingEventTimeWindows.of(SIZE, SLIDE, Time.seconds(1)),
    SlidingEventTimeWindows.of(SIZE, SIZE),
    SlidingProcessingTimeWindows.of(SIZE, SLIDE),
    EventTimeSessionWindows.with_gap(SIZE),
    ProcessingTimeSessionWindows.with_gap(SIZE),
    TimeWindow(1, 2),
    CountWindow(3),
    ValueStateDescriptor("v", INT).type_info,
    ListStateDescriptor("l", INT).type_info,
    MAP.type_info,
    ReducingStateDescriptor("r", lambda a, b: a, INT).type_info,
    ListStateDescriptor("l", INT).type_info.elem_type,
    ONE_SECOND.build(),
    ONE_SECOND.set_update_type(WHEN_READ).never_return_expired().build(),
    SIZE,
    Instant.of_epoch_milli(1500),
    Row(a=1, b="x"),
    Types.ROW([Types.LIST(INT)]),
    Types.ROW([INT]) == Types.TUPLE([INT]),
    Types.LIST(INT) == Types.LIST(INT),
    Types.LIST(INT) == Types.LIST(TEXT),
    Types.PRIMITIVE_ARRAY(INT) == Types.BASIC_ARRAY(INT),
]
for one in described:
    print(one)


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


env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([("a", 1)], Types.TUPLE([TEXT, INT]))
keyed = stream.key_by(lambda e: e[0], TEXT)
rules = stream.broadcast(MAP)
named = [
    stream,
    stream.map(lambda v: v),
    stream.flat_map(lambda v: [v]),
    stream.filter(lambda v: True),
    stream.process(Plain()),
    keyed.map(lambda v: v),
    keyed.process(Keyed()),
    keyed.reduce(lambda a, b: a),
    stream.connect(stream).process(Two()),
    keyed.connect(keyed).process(KeyedTwo()),
    stream.connect(rules).process(Rules()),
    keyed.connect(rules).process(KeyedRules()),
]
for one in named:
    print(one.get_name())
