"""Building the windows of random programs: assigners, triggers, evictors, functions, two sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz import functions, window_parts
from tests.fuzz.functions import ASIDE, LATE
from tests.fuzz.model_keyed import reduced
from tests.fuzz.records import MODULUS, declared, fields, fold, from_key, key_of, shaped
from tests.fuzz.steps import Step

from scurry.common import Time
from scurry.datastream import aggregates as agg
from scurry.datastream import window as windows
from scurry.datastream.data_stream import DataStream

Finish = Callable[[Any], Any] | None


def build(step: Step, stream: DataStream, shape: str) -> tuple[DataStream, Finish]:
    """The results of a step's windows, and what is still to be made of each."""
    assigner = assigner_of(*step["assigner"])
    if step["all"]:
        windowed: Any = stream.window_all(assigner)
    else:
        windowed = stream.key_by(key_of(step["key"], shape)).window(assigner)
    if step["trigger"] == "own":
        windowed = windowed.trigger(window_parts.OwnTrigger())
    elif step["trigger"] is not None:
        windowed = windowed.trigger(windows.CountTrigger.of(step["trigger"]))
    if step.args.get("evictor"):
        windowed = windowed.evictor(window_parts.evictor_of(*step["evictor"]))
    windowed = windowed.allowed_lateness(step["lateness"]).side_output_late_data(ASIDE)
    return WINDOW_FUNCTIONS[step["function"]](step, windowed, shape)


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


def assigner_of(kind: str, size: int, slide: int) -> Any:
    """A window assigner."""
    if kind == "own":
        return window_parts.OwnAssigner()
    if kind == "session":
        return windows.EventTimeSessionWindows.with_gap(Time.milliseconds(size))
    if kind == "tumbling":
        return windows.TumblingEventTimeWindows.of(Time.milliseconds(size))
    return windows.SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide))


def co_group(step: Step, left: DataStream, right: DataStream) -> DataStream:
    """What both sides have in a window, told apart."""
    key, after = key_of(step["key"]), step["shape"]
    both = left.co_group(right).where(key).equal_to(key).window(assigner_of(*step["assigner"]))
    return both.apply(functions.Grouping(after), declared(after))


def late_pairs(step: Step, left: DataStream, right: DataStream) -> DataStream:
    """The records of both sides with the last instant of their window, once each; those that came
    too late for that are marked."""
    key, size = key_of(step["key"]), step["size"]
    one, other = (side.process(functions.Stamping("tuple")) for side in (left, right))
    both = one.co_group(other).where(key).equal_to(key)
    windowed = both.window(assigner_of("tumbling", size, size))
    trigger = windows.PurgingTrigger.of(windows.EventTimeTrigger.create())
    windowed = windowed.trigger(trigger).allowed_lateness(step["lateness"])
    inside = windowed.side_output_late_data(ASIDE).apply(functions.Both(size))

    def aside(pair: Any) -> Any:
        side, (k, ts, v) = pair
        return (k, ts // size * size + size - 1, 2 * v + side + LATE)

    return inside.union(inside.get_side_output(ASIDE).map(aside))
