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
side = OutputTag("side", Types.STRING())
class P(ProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timestamp()
        yield ctx.timer_service().current_watermark()
        yield side, "s" + str(value)
stream = env.from_collection([("a", 5), ("b", 7)], Types.TUPLE([Types.STRING(), Types.INT()]))
done = stream.process(P())
case("side", lambda: stream.process(P()).get_side_output(side))
class Timers(KeyedProcessFunction):
    def open(self, ctx):
        self.seen = ctx.get_state(ValueStateDescriptor("seen", Types.INT()))
    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        if value[0] == "c":
            ctx.timer_service().delete_event_time_timer(value[1] + 10)
        yield ("in", value, ctx.get_current_key(), ctx.timestamp(), ctx.timer_service().current_watermark())
    def on_timer(self, timestamp, ctx):
        yield ("timer", timestamp, ctx.get_current_key(), ctx.timestamp(), ctx.time_domain().name, self.seen.value(), ctx.timer_service().current_watermark())
        yield OutputTag("t", Types.LONG()), timestamp
events = env.from_collection([("a", 5), ("b", 7), ("a", 20), ("c", 21), ("a", 8), ("b", 50)], Types.TUPLE([Types.STRING(), Types.INT()]))
keyed = events.assign_timestamps_and_watermarks(ordered).key_by(lambda v: v[0])
case("timer side", lambda: keyed.process(Timers()).get_side_output(OutputTag("t", Types.LONG())))
class Forms(KeyedProcessFunction):
    def __init__(self, form): self.form = form
    def process_element(self, value, ctx):
        return {"list": [value], "none": None, "tuple": (value, value), "gen": iter([value]), "str": "ab"}[self.form]
for form in ("list", "none", "tuple", "gen", "str"):
    case("returns " + form, lambda form=form: keyed.process(Forms(form)))
class Context(KeyedProcessFunction):
    def open(self, ctx):
        self.lines = [ctx.get_index_of_this_subtask(), ctx.get_number_of_parallel_subtasks(), ctx.get_max_number_of_parallel_subtasks(), ctx.get_attempt_number(), ctx.get_task_name(), ctx.get_task_name_with_subtasks(), ctx.get_job_parameter("k", "default")]
    def process_element(self, value, ctx):
        yield str(self.lines)
        yield type(ctx.timer_service().current_processing_time()).__name__
class NoKey(ProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(5)
        yield value
class Late(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(0)
        ctx.timer_service().register_event_time_timer(-5)
        yield value
    def on_timer(self, timestamp, ctx):
        yield "at", timestamp
        yield ["at", timestamp, ctx.timer_service().current_watermark()]
class Chain(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])
    def on_timer(self, timestamp, ctx):
        yield timestamp
        if timestamp < 60:
            ctx.timer_service().register_event_time_timer(timestamp + 15)
finish()
