"""Building a random program with Scurry's own API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tests.fuzz import functions
from tests.fuzz.functions import ASIDE, LATE, RULES
from tests.fuzz.model_keyed import reduced
from tests.fuzz.records import (
    MODULUS,
    ROW_TYPE,
    add_in_place,
    declared,
    fields,
    fold,
    from_key,
    shaped,
    to_key,
)
from tests.fuzz.steps import Program, Step

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.common.watermark_strategy import WatermarkGenerator
from scurry.datastream import AsyncDataStream, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream import window as windows
from scurry.datastream.data_stream import DataStream
from scurry.datastream.functions import ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator
from scurry.testing import ListSink


class Partitions(Source):
    """Records in several partitions, as objects or as columns, some of them silent."""

    def __init__(self, step: Step) -> None:
        self.partitions = step["partitions"]
        self.shape = step["shape"]
        self.columns = step["kind"] == "columns"
        self.as_tuples = self.shape == "tuple"
        self.ends = step["ends"]

    @property
    def type_info(self) -> Any:
        return declared(self.shape)

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return InStep([len(part) for part in self.partitions], self.ends)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        number, start, end = what
        rows = self.partitions[number][start:end]
        stamps = np.array([t for _, t, _ in rows], dtype=np.int64)
        if self.columns:
            arrays = [pa.array([row[at] for row in rows], pa.int64()) for at in range(3)]
            columns = pa.RecordBatch.from_arrays(arrays, names=["k", "t", "v"])
            yield SourceBatch(columns=columns, timestamps=stamps)
        else:
            shapes = [shaped(self.shape, *row) for row in rows]
            yield SourceBatch(rows=shapes, timestamps=stamps)


class InStep(SourceEnumerator):
    """Reads as much of every partition in every micro-batch."""

    def __init__(self, sizes: list[int], ends: bool) -> None:
        self.sizes, self.ends = sizes, ends

    def initial_position(self) -> Any:
        return [0] * len(self.sizes)

    def partitions(self) -> list[str]:
        return [str(number) for number in range(len(self.sizes))]

    def plan(self, position: Any, max_records: int) -> ReadPlan:
        ends = [min(at + max_records, size) for at, size in zip(position, self.sizes, strict=True)]
        ranges = [
            ReadRange(str(number), [number, start, end])
            for number, (start, end) in enumerate(zip(position, ends, strict=True))
            if end > start
        ]
        over = {
            str(n)
            for n, (end, size) in enumerate(zip(ends, self.sizes, strict=True))
            if end == size
        }
        return ReadPlan(
            ends, ranges, finished=ends == self.sizes, ended=frozenset(over if self.ends else ())
        )


class Marked(WatermarkGenerator):
    """Even values carry the watermark."""

    def __init__(self, bound: int) -> None:
        self.bound = bound

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if fields(event)[2] % 2 == 0:
            output.emit_watermark(event_timestamp - self.bound - 1)

    def on_periodic_emit(self, output: Any) -> None:
        pass


def strategy_of(step: Step) -> WatermarkStrategy:
    kind, bound = step["strategy"]
    if kind == "bounded":
        made = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    else:
        made = WatermarkStrategy.for_generator(lambda: Marked(bound))
    if step.args.get("idleness"):
        made = made.with_idleness(Duration.of_millis(step["idleness"]))
    return made.with_timestamp_assigner(lambda record, _: fields(record)[1])


def key_of(kind: str, shape: str = "") -> Callable[[Any], Any]:
    """A key selector. Where it only picks a field, keys can be computed on columns."""
    if kind == "int" and shape in ("tuple", "typed tuple"):
        return lambda record: record[0]
    if kind == "int" and shape == "typed row":
        return lambda record: record["k"]
    return lambda record: to_key(kind, fields(record)[0])


class Builder:
    """Makes streams of steps, one after the other."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self.env = env
        self.streams: list[Any] = []
        self.shapes: list[str] = []
        #: the windows whose results a further step has changed: late records come from these
        self.windows: dict[int, DataStream] = {}

    def add(self, step: Step, shape: str) -> None:
        """Add the stream of a step, whose records have the form ``shape``."""
        before = [self.streams[number] for number in step.inputs]
        forms = [self.shapes[number] for number in step.inputs]
        stream = getattr(self, step.op)(step, *before, *forms[: 1 if len(forms) == 1 else 0])
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
        if step["kind"] == "collection":
            records = [shaped(step["shape"], *record) for record in step["partitions"][0]]
            stream = self.env.from_collection(records, declared(step["shape"]))
            if step["strategy"] is None:
                return stream
            return stream.assign_timestamps_and_watermarks(strategy_of(step))
        strategy = None if step["strategy"] is None else strategy_of(step)
        return self.env.from_source(Partitions(step), strategy, "partitions")

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

    def aside(self, step: Step, stream: DataStream, shape: str) -> DataStream:
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

    def delaying(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        function = functions.Delaying(step["delay"], step["shape"])
        return stream.key_by(key_of(step["key"], shape)).process(function, declared(step["shape"]))

    def reduce(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        return stream.key_by(key_of(step["key"], shape)).reduce(reducer(shape))

    def count_window(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        keyed = stream.key_by(key_of(step["key"], shape))
        return keyed.count_window(step["size"]).reduce(reducer(shape))

    def window(self, step: Step, stream: DataStream, shape: str) -> DataStream:
        assigner = assigner_of(*step["assigner"])
        if step["all"]:
            windowed: Any = stream.window_all(assigner)
        else:
            windowed = stream.key_by(key_of(step["key"], shape)).window(assigner)
        if step["trigger"] is not None:
            windowed = windowed.trigger(windows.CountTrigger.of(step["trigger"]))
        windowed = windowed.allowed_lateness(step["lateness"]).side_output_late_data(ASIDE)
        results, finish = WINDOW_FUNCTIONS[step["function"]](step, windowed, shape)
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


Finish = Callable[[Any], Any] | None


def process(step: Step, windowed: Any, shape: str) -> tuple[DataStream, Finish]:
    after = step["shape"]
    function = functions.AllContents if step["all"] else functions.Contents
    in_order = step["function"] == "in order"
    return windowed.process(function(in_order, after), declared(after)), None


def aggregate(step: Step, windowed: Any, shape: str) -> tuple[DataStream, Finish]:
    after = step["shape"]
    return windowed.aggregate(functions.Summing(after), output_type=declared(after)), None


def reduce(step: Step, windowed: Any, shape: str) -> tuple[DataStream, Finish]:
    after = step["shape"]

    def add(one: Any, other: Any) -> Any:
        (k, t, v), (j, u, w) = fields(one), fields(other)
        return shaped(shape, max(k, j), max(t, u), v + w)

    def finish(record: Any) -> Any:
        k, t, v = fields(record)
        return shaped(after, k, t, v % MODULUS)

    return windowed.reduce(add), finish


def fold_in_order(step: Step, windowed: Any, shape: str) -> tuple[DataStream, Finish]:
    after = step["shape"]
    return windowed.reduce(reducer(shape)), lambda record: shaped(after, *fields(record))


def field_sum(step: Step, windowed: Any, shape: str) -> tuple[DataStream, Finish]:
    return windowed.sum("v" if shape == "typed row" else 2), None


def built_in(step: Step, windowed: Any, shape: str) -> tuple[DataStream, Finish]:
    at: Any = "v" if shape == "typed row" else 2
    after = step["shape"]

    def finish(row: Any) -> Any:
        key, _, end, *values = row
        return shaped(after, from_key(key), end - 1, fold(values))

    return windowed.aggregate(agg.count(), agg.sum(at), agg.min(at), agg.max(at)), finish


WINDOW_FUNCTIONS: dict[str, Callable[[Step, Any, str], tuple[DataStream, Finish]]] = {
    "process": process,
    "in order": process,
    "aggregate": aggregate,
    "reduce": reduce,
    "fold": fold_in_order,
    "sum": field_sum,
    "built-in": built_in,
}


def reducer(shape: str) -> Callable[[Any, Any], Any]:
    """A function that reduces two records to one of the form ``shape``."""
    return lambda one, other: shaped(shape, *reduced(fields(one), fields(other)))


def added(batch: pa.RecordBatch, amount: int) -> pa.RecordBatch:
    """A batch with something added to all values."""
    k, t, v = (batch.column(at) for at in range(3))
    total = pc.add(v, amount)
    inside = pc.subtract(total, pc.multiply(pc.divide(total, MODULUS), MODULUS))
    return pa.RecordBatch.from_arrays([k, t, inside], names=["k", "t", "v"])


def assigner_of(kind: str, size: int, slide: int) -> Any:
    """A window assigner."""
    if kind == "session":
        return windows.EventTimeSessionWindows.with_gap(Time.milliseconds(size))
    if kind == "tumbling":
        return windows.TumblingEventTimeWindows.of(Time.milliseconds(size))
    return windows.SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))


def build(program: Program, shapes: list[str], env: StreamExecutionEnvironment) -> list[ListSink]:
    """Add ``program`` to the environment; returns its sinks."""
    builder = Builder(env)
    for step, shape in zip(program.steps, shapes, strict=True):
        builder.add(step, shape)
    sinks = []
    for number in program.sinks:
        sinks.append(ListSink())
        builder.streams[number].sink_to(sinks[-1])
    return sinks
