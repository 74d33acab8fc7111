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
data = [("a", 1, 2.5), ("b", 2, 0.5), ("a", 3, 1.5), ("b", 1, 9.0)]
kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.DOUBLE()])
rows = env.from_collection([Row(*v) for v in data], Types.ROW_NAMED(["k", "n", "x"], [Types.STRING(), Types.INT(), Types.DOUBLE()]))
stream = env.from_collection(data, kind)
class ByFirst(KeySelector):
    def get_key(self, value):
        return value[0]
for what, selector in {"lambda": lambda v: v[0], "selector": ByFirst()}.items():
    case(what, lambda selector=selector: stream.key_by(selector).sum(1))
    case(what + " typed", lambda selector=selector: stream.key_by(selector, Types.STRING()).sum(1))
case("sum 0", lambda: stream.map(lambda v: (v[1], 1)).key_by(lambda v: v[1]).sum())
case("min 1", lambda: stream.key_by(lambda v: v[0]).min(1))
case("max 1", lambda: stream.key_by(lambda v: v[0]).max(1))
case("min_by 1", lambda: stream.key_by(lambda v: v[0]).min_by(1))
case("max_by 1", lambda: stream.key_by(lambda v: v[0]).max_by(1))
case("max_by 2", lambda: stream.key_by(lambda v: v[0]).max_by(2))
case("sum name", lambda: rows.key_by(lambda r: r.k).sum("n"))
case("max name", lambda: rows.key_by(lambda r: r["k"]).max("x"))
case("min_by name", lambda: rows.key_by(lambda r: r[0]).min_by("x"))
case("sum plain", lambda: env.from_collection([1, 2, 3], Types.INT()).key_by(lambda v: 0).sum())
case("sum plain 0", lambda: env.from_collection([1, 2, 3], Types.INT()).key_by(lambda v: 0).sum(0))
case("max plain", lambda: env.from_collection([1, 3, 2], Types.INT()).key_by(lambda v: 0).max(0))
case("reduce", lambda: stream.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])))
case("reduce untyped", lambda: env.from_collection(data).key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])))
case("key none", lambda: env.from_collection([(None, 1), (None, 2)]).key_by(lambda v: v[0]).reduce(lambda a, b: (None, a[1] + b[1])))
case("key tuple", lambda: stream.key_by(lambda v: (v[0], v[1] % 2)).sum(1))
case("key row", lambda: stream.key_by(lambda v: Row(v[0], v[1] % 2), Types.ROW([Types.STRING(), Types.INT()])).sum(1))
case("key bool", lambda: stream.key_by(lambda v: v[1] > 1).sum(1))
case("key float", lambda: stream.key_by(lambda v: v[2] // 1).sum(1))
case("filter on keyed", lambda: stream.key_by(lambda v: v[0]).filter(lambda v: v[1] > 1))
case("flat_map on keyed", lambda: stream.key_by(lambda v: v[0]).flat_map(lambda v: [v[0]] * v[1], Types.STRING()))
case("map on keyed", lambda: stream.key_by(lambda v: v[0]).map(lambda v: v[1], Types.INT()))
case("project", lambda: stream.project(2, 0))
for how in ("shuffle", "rebalance", "rescale", "forward", "broadcast"):
    case(how, lambda how=how: getattr(stream, how)())
finish()
