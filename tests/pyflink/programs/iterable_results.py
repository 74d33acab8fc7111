"""What functions return is gone through: lists, generators, dicts, and texts by their characters."""

from pyflink.common import Row, Types
from pyflink.datastream import (
    CoFlatMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)


class Text(ProcessFunction):
    def process_element(self, value, ctx):
        return "pq"


class KeyedText(KeyedProcessFunction):
    def process_element(self, value, ctx):
        return "rs"


class Nothing(ProcessFunction):
    def process_element(self, value, ctx):
        return None


class Listed(ProcessFunction):
    def process_element(self, value, ctx):
        return [value[0], "x"]


class Two(CoFlatMapFunction):
    def flat_map1(self, value):
        return "lm"

    def flat_map2(self, value):
        return []


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
TEXT, INT = Types.STRING(), Types.INT()
stream = env.from_collection([("a", 1), ("b", 2)], Types.TUPLE([TEXT, INT]))
keyed = stream.key_by(lambda v: v[0], TEXT)

results = {
    "text": stream.flat_map(lambda v: "xyz", TEXT),
    "bytes": stream.flat_map(lambda v: b"ab", INT),
    "tuple": stream.flat_map(lambda v: v),
    "keys of a dict": stream.flat_map(lambda v: {v[0]: 1, "l": 2}, TEXT),
    "generator": stream.flat_map(lambda v: (n for n in range(v[1])), INT),
    "range": stream.flat_map(lambda v: range(v[1]), INT),
    "process text": stream.process(Text(), TEXT),
    "process nothing": stream.process(Nothing(), TEXT),
    "process list": stream.process(Listed(), TEXT),
    "keyed process text": keyed.process(KeyedText(), TEXT),
    "two inputs": stream.connect(stream).flat_map(Two(), TEXT),
    "no value is not true": stream.filter(lambda v: None),
    "a number as condition": stream.filter(lambda v: v[1] - 1),
    "numbers fit doubles": stream.map(lambda v: v[1], Types.DOUBLE()),
    "rows by name": stream.map(
        lambda v: Row(y=v[1], x=v[0]), Types.ROW_NAMED(["x", "y"], [TEXT, INT])
    ),
}
for name, result in results.items():
    with result.execute_and_collect() as found:
        print(name, [one for one in found])
