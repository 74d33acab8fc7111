"""Building a random program with Scurry's own API."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from tests.fuzz import failing, functions, patterns, tables, windowing
from tests.fuzz import functions_of_time as late
from tests.fuzz.functions import ASIDE, LATE, RULES
from tests.fuzz.records import MODULUS, ROW_TYPE, add_in_place, declared, fields, key_of, shaped
from tests.fuzz.sources import SourceBuilder, strategy_of
from tests.fuzz.steps import Program, Step
from tests.fuzz.tables import TableBuilder
from tests.fuzz.windowing import assigner_of, reducer

from scurry.cep import CEP, MatchStream, put_pattern
from scurry.common import Time, WatermarkStrategy
from scurry.datastream import AsyncDataStream, StreamExecutionEnvironment
from scurry.datastream import window as windows
from scurry.datastream.data_stream import DataStream
from scurry.datastream.functions import DEAD_LETTERS
from scurry.testing import ListSink


class Builder:
    """Makes streams of steps, one after the other."""

    def __init__(self, env: StreamExecutionEnvironment, folder: Path) -> None:
        self.env = env
        self.sources = SourceBuilder(env, folder)
        self.tables = TableBuilder(env)
        self.streams: list[Any] = []
        self.shapes: list[str] = []
        #: the windows whose results a further step has changed: late records come from these
        self.windows: dict[int, DataStream] = {}
        #: what steps could not handle
        self.letters: dict[int, DataStream] = {}

    def add(self, step: Step, shape: str) -> None:
        """Add the stream of a step, whose records have the form ``shape``."""
        before = [self.streams[number] for number in step.inputs]
        forms = [self.shapes[number] for number in step.inputs]
        before += forms[: 1 if len(forms) == 1 else 0]
        if step.op in tables.STEPS:
            stream = tables.STEPS[step.op](step, self.tables, *before)
        else:
            stream = getattr(self, step.op)(step, *before)
        parallelism = step.args.get("parallelism")
        if parallelism and step.op != "aside":
            stream = stream.set_parallelism(parallelism)
        if step.args.get("chain") == "head":
            stream = stream.start_new_chain()
        elif step.args.get("chain") == "never":
            stream = stream.disable_chaining()
        self.streams.append(stream)
        self.shapes.append(shape)

    def source(self, step: Step) -> DataStream:
        return self.sources.build(step)

    def map(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        amount, after = step["add"], step["shape"]

        def add(record: Any) -> Any:
            k, t, v = fields(record)
            return shaped(after, k, t, (v + amount) % MODULUS)

        if step["how"] == "in place":
            return stream.map(lambda record: add_in_place(record, amount))
        if step["how"] == "columns":
            return stream.map_batches(lambda batch: added(batch, amount), ROW_TYPE)
        if step["how"] in ("ordered", "unordered"):
            wait = getattr(AsyncDataStream, f"{step['how']}_wait")
            return wait(stream, functions.Asking(amount, after), Time.seconds(60), 3)  # type: ignore[no-any-return]
        if step["how"].endswith("retry"):
            return failing.asked_again(step, stream)
        return stream.map(add, declared(after))

    def filter(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        without = step["without"]
        return stream.filter(lambda record: fields(record)[2] % 3 != without)

    def flat_map(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        spread, after = step["spread"], step["shape"]

        def copies(record: Any) -> Iterable[Any]:
            k, t, v = fields(record)
            for number in range(v % 3):
                yield shaped(after, (k + number * spread) % 4, t, (v + number) % MODULUS)

        return stream.flat_map(copies, declared(after))

    def rekey(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        after = step["shape"]

        def other_key(record: Any) -> Any:
            k, t, v = fields(record)
            return shaped(after, (k + v) % 4, t, v)

        return stream.map(other_key, declared(after))

    def split(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        return stream.process(functions.Splitting())

    def poison(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        good = failing.POISONED[step["how"]](step, stream, declared(step["shape"])).on_error(
            "dead-letter"
        )
        letters = good.get_side_output(DEAD_LETTERS)
        letters.sink_to(ListSink())
        self.letters[len(self.streams)] = letters.map(lambda one: one.element, declared(shape))
        return good

    def linger(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        function = late.Lingering(step["delay"], step["shape"])
        return stream.key_by(key_of(step["key"], shape)).process(function, declared(step["shape"]))

    def reside(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        size = windows.TumblingProcessingTimeWindows.of(Time.milliseconds(step["size"]))
        return stream.key_by(key_of(step["key"], shape)).window(size).process(late.Residents())

    def expiring(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        function = late.Expiring(step["state"], step["ttl"], step["read"], step["shape"])
        return stream.key_by(key_of(step["key"], shape)).process(function, declared(step["shape"]))

    def aside(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        if step.inputs[0] in self.letters:
            return self.letters[step.inputs[0]]
        return self.windows.get(step.inputs[0], stream).get_side_output(ASIDE)

    def stamp(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        return stream.process(functions.Stamping(step["shape"]), declared(step["shape"]))

    def move(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        if step["how"] == "custom":
            moved = stream.partition_custom(
                lambda key, slots: (key * 7 + 1) % slots, lambda record: fields(record)[2]
            )
        else:
            moved = getattr(stream, step["how"])()
        return moved.map(lambda record: record)

    def union(self, step: Step, first: DataStream, *others: DataStream) -> DataStream:
        return first.union(*others)

    def retime(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        return stream.assign_timestamps_and_watermarks(strategy_of(step))

    def numbered(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        function = functions.Numbering(step["shape"], step["union"])
        return stream.map(function, declared(step["shape"])).set_parallelism(1)

    def running(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        function = functions.Running(step["state"], step["shape"])
        return stream.key_by(key_of(step["key"], shape)).process(function, declared(step["shape"]))

    def changing(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        return stream.key_by(key_of(step["key"])).process(functions.Changing())

    def sorting(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        function = functions.Sorting(step["shape"])
        return stream.key_by(key_of(step["key"], shape)).process(function, declared(step["shape"]))

    def pattern(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        keyed = stream.key_by(key_of(step["key"], shape))
        made = patterns.PATTERNS[step["pattern"]]
        if step["conditions"] == "python":
            pattern = made(patterns.of_values(patterns.value_of))
            found: MatchStream = CEP.pattern(keyed, pattern, patterns.value_of)
        elif step["conditions"] == "expressions":
            pattern = made(patterns.of_fields(shape))
            found = CEP.pattern(keyed, pattern, patterns.value_of)
        else:
            document = put_pattern("p", 1, made(patterns.of_fields(shape)))
            # it holds before anything else
            strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
                lambda document, _: -1000
            )
            documents = self.env.from_collection([document])
            documents = documents.assign_timestamps_and_watermarks(strategy)
            found = CEP.dynamic_patterns(keyed, documents, patterns.value_of)
        return found.process(patterns.Folded(step["shape"]), declared(step["shape"]))

    def delaying(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        function = functions.Delaying(step["delay"], step["shape"])
        return stream.key_by(key_of(step["key"], shape)).process(function, declared(step["shape"]))

    def reduce(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        return stream.key_by(key_of(step["key"], shape)).reduce(reducer(shape))

    def count_window(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        keyed = stream.key_by(key_of(step["key"], shape))
        return keyed.count_window(step["size"]).reduce(reducer(shape))

    def window(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        results, finish = windowing.build(step, stream, shape)
        self.windows[len(self.streams)] = results
        return results if finish is None else results.map(finish, declared(step["shape"]))

    def totals(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        def add(one: Any, other: Any) -> Any:
            (k, t, v), (_, _, w) = fields(one), fields(other)
            return (k, t, v + w)

        plain = stream.map(fields).key_by(key_of(step["key"]))
        return plain.reduce(add)

    def audit(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        size = step["size"]
        assigner = assigner_of("tumbling", size, size)
        stamped = stream.process(functions.Stamping("tuple")).key_by(key_of(step["key"]))
        windowed = stamped.window(assigner).side_output_late_data(ASIDE)
        inside = windowed.process(functions.Members())

        def aside(record: Any) -> Any:
            k, ts, v = fields(record)
            return (k, ts // size * size + size - 1, v + LATE)

        return inside.union(inside.get_side_output(ASIDE).map(aside))

    def connect(self, step: Step, left: DataStream, right: DataStream) -> DataStream:
        key, after = key_of(step["key"]), step["shape"]
        both = left.connect(right).key_by(key, key)
        return both.process(functions.SortingBoth(after), declared(after))

    def broadcast(self, step: Step, stream: DataStream, rules: DataStream) -> DataStream:
        keyed, after = stream.key_by(key_of(step["key"])), step["shape"]
        return keyed.connect(rules.broadcast(RULES)).process(
            functions.Ruled(after), declared(after)
        )

    def interval_join(self, step: Step, left: DataStream, right: DataStream) -> DataStream:
        key, after = key_of(step["key"]), step["shape"]
        joined = left.key_by(key).interval_join(right.key_by(key)).between(*step["between"])
        return joined.process(functions.Pairing(after), declared(after))

    def window_join(self, step: Step, left: DataStream, right: DataStream) -> DataStream:
        key, after = key_of(step["key"]), step["shape"]
        assigner = assigner_of("tumbling", step["size"], step["size"])
        joined = left.join(right).where(key).equal_to(key).window(assigner)
        return joined.apply(lambda one, other: functions.paired(after, one, other), declared(after))

    def co_group(self, step: Step, left: DataStream, right: DataStream) -> DataStream:
        return windowing.co_group(step, left, right)

    def late_pairs(self, step: Step, left: DataStream, right: DataStream) -> DataStream:
        return windowing.late_pairs(step, left, right)


def added(batch: pa.RecordBatch, amount: int) -> pa.RecordBatch:
    """A batch with something added to all values."""
    k, t, v = (batch.column(at) for at in range(3))
    total = pc.add(v, amount)
    inside = pc.subtract(total, pc.multiply(pc.divide(total, MODULUS), MODULUS))
    return pa.RecordBatch.from_arrays([k, t, inside], names=["k", "t", "v"])


def build(
    program: Program, shapes: list[str], env: StreamExecutionEnvironment, folder: Path
) -> list[ListSink]:
    """Add ``program`` to the environment; returns its sinks. Its files are in ``folder``."""
    builder = Builder(env, folder)
    for step, shape in zip(program.steps, shapes, strict=True):
        builder.add(step, shape)
    sinks = []
    for number in program.sinks:
        sinks.append(ListSink())
        builder.streams[number].sink_to(sinks[-1])
    return sinks
