"""Values of all types on their way through functions, states and results."""

from __future__ import annotations

import array
import datetime
import decimal

from pyflink.common import Instant, Row, RowKind, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)

D = decimal.Decimal
DAY = datetime.date(2024, 2, 29)
NOON = datetime.time(12, 30, 15)
MOMENT = datetime.datetime.fromisoformat("2024-02-29T12:30:15.250")

#: name: what makes the type, values; types that have been used cannot be sent along with a function
values = {
    "byte": (lambda: Types.BYTE(), [0, -128, 127]),
    "short": (lambda: Types.SHORT(), [0, -32768, 32767]),
    "int": (lambda: Types.INT(), [0, -(2**31), 2**31 - 1]),
    "long": (lambda: Types.LONG(), [0, -(2**63), 2**63 - 1]),
    "float": (lambda: Types.FLOAT(), [0.1, 1.5, -3.4e38, 2.0]),
    "double": (lambda: Types.DOUBLE(), [0.1, 1e300, -2.5]),
    "float special": (lambda: Types.FLOAT(), [float("inf"), float("-inf"), float("nan")]),
    "double of int": (lambda: Types.DOUBLE(), [1.0, 2.0]),
    "boolean": (lambda: Types.BOOLEAN(), [True, False]),
    "string": (lambda: Types.STRING(), ["", "ü中𝄞", "a\n\t'\""]),
    "big dec": (lambda: Types.BIG_DEC(), [D("0"), D("1.50"), D("-123456789012345678.123456789")]),
    "date": (
        lambda: Types.SQL_DATE(),
        [DAY, datetime.date(1970, 1, 1), datetime.date(1969, 12, 31)],
    ),
    "time": (lambda: Types.SQL_TIME(), [NOON, datetime.time(0, 0), datetime.time(23, 59, 59)]),
    "timestamp": (
        lambda: Types.SQL_TIMESTAMP(),
        [MOMENT, datetime.datetime.fromisoformat("1970-01-01")],
    ),
    "instant": (lambda: Types.INSTANT(), [Instant.of_epoch_milli(1500), Instant(1, 0)]),
    "primitive ints": (lambda: Types.PRIMITIVE_ARRAY(Types.INT()), [[1, 2], []]),
    "primitive doubles": (lambda: Types.PRIMITIVE_ARRAY(Types.DOUBLE()), [[1.5, 2.0]]),
    "primitive bytes": (lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"abc", b""]),
    "primitive booleans": (lambda: Types.PRIMITIVE_ARRAY(Types.BOOLEAN()), [[True, False]]),
    "basic array": (lambda: Types.BASIC_ARRAY(Types.STRING()), [["a", "b"], []]),
    "object array": (lambda: Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), [[Row(1), Row(2)], []]),
    "array of arrays": (
        lambda: Types.OBJECT_ARRAY(Types.BASIC_ARRAY(Types.INT())),
        [[[1], [2, 3]]],
    ),
    "list": (lambda: Types.LIST(Types.INT()), [[1, 2], []]),
    "list of lists": (lambda: Types.LIST(Types.LIST(Types.STRING())), [[["a"], []]]),
    "map": (lambda: Types.MAP(Types.STRING(), Types.INT()), [{"a": 1}, {}]),
    "map of lists": (
        lambda: Types.MAP(Types.INT(), Types.LIST(Types.STRING())),
        [{1: ["a"], 2: []}],
    ),
    "tuple": (lambda: Types.TUPLE([Types.INT(), Types.STRING()]), [(1, "a")]),
    "nested tuple": (
        lambda: Types.TUPLE([Types.INT(), Types.TUPLE([Types.STRING(), Types.LONG()])]),
        [(1, ("a", 2))],
    ),
    "row": (
        lambda: Types.ROW([Types.INT(), Types.STRING()]),
        [Row(1, "a"), Row(2, None), (3, "c")],
    ),
    "named row": (
        lambda: Types.ROW_NAMED(["i", "s"], [Types.INT(), Types.STRING()]),
        [Row(i=1, s="a"), Row(2, "b")],
    ),
    "nested row": (
        lambda: Types.ROW_NAMED(
            ["r", "l", "m", "d"],
            [
                Types.ROW([Types.INT()]),
                Types.LIST(Types.BIG_DEC()),
                Types.MAP(Types.STRING(), Types.INT()),
                Types.SQL_DATE(),
            ],
        ),
        [Row(Row(1), [D("1.5")], {"a": 1}, DAY), Row(None, None, None, None)],
    ),
    "float in a tuple": (lambda: Types.TUPLE([Types.FLOAT(), Types.INT()]), [(0.1, 1)]),
    "float in a row": (lambda: Types.ROW([Types.FLOAT(), Types.INT()]), [Row(0.1, 1)]),
    "no type": (lambda: None, [1, "a", (1, [2]), {"a": 1}, Row(a=1), D("1.5"), b"x", 2.5]),
}


class Keeps(KeyedProcessFunction):
    """Yields what a state gives back of what it was given."""

    def __init__(self, kind):
        self.kind = kind

    def open(self, runtime_context):
        self.value = runtime_context.get_state(ValueStateDescriptor("v", self.kind()))
        self.values = runtime_context.get_list_state(ListStateDescriptor("l", self.kind()))

    def process_element(self, value, ctx):
        self.value.update(value)
        self.values.add(value)
        yield repr((self.value.value(), list(self.values.get())[-1]))


def told(value):
    if isinstance(value, array.array):
        value = list(value)
    if isinstance(value, Row):
        return f"{value} {value.get_row_kind()}"
    return f"{value!r}"


def collected(stream):
    with stream.execute_and_collect() as results:
        return list(results)


#: PyFlink makes no collection of such values; they get their types from a function.
MAPPED = ["primitive bytes", "object array", "list", "list of lists"]


def given_as(name):
    kind, given = values[name]
    if name in MAPPED:
        return env.from_collection(given).map(lambda v: v, kind())
    return env.from_collection(given, kind())


lines = []
for name, (kind, _) in values.items():
    stream = given_as(name)
    lines.append(stream.map(lambda v, name=name: f"{name} read: {told(v)}", Types.STRING()))
    again = stream.map(lambda v: v, kind())
    lines.append(again.map(lambda v, name=name: f"{name} again: {told(v)}", Types.STRING()))
    if kind() is not None and name != "float special":
        kept = again.key_by(lambda v: 0).process(Keeps(kind), Types.STRING())
        lines.append(kept.map(lambda v, name=name: f"{name} kept: {v}", Types.STRING()))
first, *others = lines
for line in sorted(collected(first.union(*others)), key=lambda line: line.partition(":")[0]):
    print(line)

shown = ["byte", "float", "big dec", "date", "time", "primitive ints", "basic array"]
shown += ["object array", "list", "map", "nested tuple", "row", "named row", "no type"]
shown += ["float in a tuple", "float in a row"]
for name in shown:
    for value in collected(given_as(name)):
        print(name, "result:", type(value).__name__, told(value))
for kind in (
    Types.LIST(Types.FLOAT()),
    Types.PRIMITIVE_ARRAY(Types.FLOAT()),
    Types.BASIC_ARRAY(Types.FLOAT()),
):
    print(kind, *collected(env.from_collection([1]).map(lambda v: [0.1], kind)))
kind = Types.MAP(Types.STRING(), Types.FLOAT())
print(kind, *collected(env.from_collection([1]).map(lambda v: {"a": 0.1}, kind)))

deleted = Row.of_kind(RowKind.DELETE, 1, "a")
rows = env.from_collection([deleted], Types.ROW([Types.INT(), Types.STRING()]))
print(*collected(rows), *collected(rows.map(told, Types.STRING())))
texts = env.from_collection([1, 2, 3], Types.INT()).map(str, Types.STRING())
print(texts.execute_and_collect(limit=2))
print(env.from_collection([1], Types.INT()).execute_and_collect("job", 5))
print(env.from_collection([1, 2, 3]).execute_and_collect("job", 2))
