"""A program into which operators were inserted goes on as if nothing had happened.

A program in which no operator of interest has a uid of the user's runs some micro-batches, is
replaced by one that has maps, filters, branches, sources and keyed levels more or less, so that its
operators run in other stages, and runs to its end. Its output is compared with
one computed in plain Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Configuration, Time, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from scurry.datastream.data_stream import DataStream
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import ListStateDescriptor, ValueStateDescriptor
from scurry.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from scurry.testing import ListSink, LocalJob

WIDTH, GAP = 10, 5
kinds = st.lists(st.sampled_from(["map", "filter", "flat_map", "named", "keyed"]), max_size=2)


@dataclass(frozen=True)
class Extras:
    """What a program has beside the operators that keep state."""

    #: operators without state, by the place they are inserted at
    inserted: dict[str, list[str]] = field(default_factory=dict)
    branch_first: bool = False
    source_first: bool = False
    united: bool = False

    @property
    def keyed(self) -> set[tuple[str, int]]:
        """The keyed levels that are inserted."""
        return {
            (place, at)
            for place, kinds in self.inserted.items()
            for at, kind in enumerate(kinds)
            if kind == "keyed" and place not in OF_INGRESS
        }


#: Where no keyed level is inserted: behind it, functions would not be in the ingress any more.
OF_INGRESS = ("source", "timed")
places = ["source", "timed", "counts", "counted", "windows", "totals", "sessions"]
extras = st.builds(
    Extras,
    st.dictionaries(st.sampled_from(places), kinds),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
events = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6)), min_size=3, max_size=30)


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value[0], self.count.value()


class Passing(KeyedProcessFunction):
    """Hands on what it gets, and has state as well."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.seen.update(value)
        yield value


class Numbered(MapFunction, CheckpointedFunction):
    """Gives each element its number: operator state in the ingress."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("at"))
        self.number = sum(self.state.get())

    def map(self, value: Any) -> Any:
        self.number += 1
        return (*value, self.number)

    def snapshot_state(self, context: Any) -> None:
        self.state.update([self.number])


class Outputs:
    def __init__(self) -> None:
        self.counts, self.sums, self.totals, self.sessions, self.spare = (
            ListSink() for _ in range(5)
        )


def build(data: list[Any], more: Extras, parallelism: int, out: Outputs) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.of({"state.backend": "memory"})
    ).set_parallelism(parallelism)

    def also(stream: DataStream, place: str) -> DataStream:
        for at, kind in enumerate(more.inserted.get(place, [])):
            if (place, at) in more.keyed:
                keyed = stream.key_by(lambda e: e[0]).process(Passing())
                stream = keyed.uid(f"{place}-{at}-keyed")
            elif kind in ("map", "keyed"):
                stream = stream.map(lambda e: e)
            elif kind == "filter":
                stream = stream.filter(lambda e: True)
            elif kind == "flat_map":
                stream = stream.flat_map(lambda e: [e])
            else:
                stream = stream.map(lambda e: e).name(f"at {place}").uid(f"{place}-{id(stream)}")
        return stream

    if more.source_first:
        env.from_collection([1, 2, 3]).name("elsewhere").map(str).sink_to(out.spare)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    stream = also(env.from_collection(data), "source").map(Numbered())
    timed = also(stream.assign_timestamps_and_watermarks(strategy), "timed")
    if more.united:
        nobody = env.from_collection([]).name("nobody").assign_timestamps_and_watermarks(strategy)
        timed = timed.union(nobody)
    if more.branch_first:
        timed.map(lambda e: e).filter(lambda e: False).sink_to(ListSink())
    counts = also(timed, "counts").key_by(lambda e: e[0]).process(Count())
    also(counts, "counted").sink_to(out.counts)
    sums = (
        also(timed, "windows")
        .key_by(lambda e: e[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WIDTH)))
        .reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
    )
    sums.sink_to(out.sums)
    also(sums, "totals").key_by(lambda e: 0).process(Count()).name("windows so far").sink_to(
        out.totals
    )
    sessions = (
        also(timed, "sessions")
        .key_by(lambda e: e[0])
        .window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP)))
        .reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
    )
    sessions.map(lambda e: (e[0], e[2])).sink_to(out.sessions)
    return env._compile(None)


def grouped(rows: list[Any]) -> tuple[Counter[Any], Counter[Any]]:
    """The sums of numbers by window, and by session."""
    windows: dict[Any, int] = {}
    sessions: list[list[Any]] = []
    for key, time, number in rows:
        windows[key, time // WIDTH] = windows.get((key, time // WIDTH), 0) + number
        mine = [s for s in sessions if s[0] == key and time < s[1] + GAP]
        if mine:
            mine[0][1:] = [time, mine[0][2] + number]
        else:
            sessions.append([key, time, number])
    by_window = Counter((key, total) for (key, _), total in windows.items())
    return by_window, Counter((key, total) for key, _, total in sessions)


@settings(max_examples=25)
@given(events, extras, extras, extras, st.integers(1, 9), st.integers(1, 3), st.integers(1, 3))
def test_operators_come_and_go(
    data: list[Any], one: Extras, two: Extras, three: Extras, cut: int, before: int, after: int
) -> None:
    time, rows = 0, []
    for number, (key, step) in enumerate(data, 1):
        time += 2 * step
        rows.append((key, time, number))
    out = Outputs()
    with LocalJob(build([row[:2] for row in rows], one, before, out)) as job:
        last = one
        for program, parallelism in ((two, before), (three, after)):
            for _ in range(2):
                if not job.done:
                    job.step(cut)
            if not job.done:
                drops = last.source_first > program.source_first or last.united > program.united
                drops = drops or not last.keyed <= program.keyed
                compiled = build([row[:2] for row in rows], program, parallelism, out)
                job.continue_as(compiled, allow_non_restored_state=drops)
                last = program
        while job.step(cut):
            pass
    appearances = Counter(key for key, _, _ in rows)
    assert Counter(out.counts.values) == Counter(
        (key, at) for key, count in appearances.items() for at in range(1, count + 1)
    )
    windows, sessions = grouped(rows)
    assert Counter((key, total) for key, _, total in out.sums.values) == windows
    assert Counter(out.sessions.values) == sessions
    assert sorted(at for _, at in out.totals.values) == list(range(1, windows.total() + 1))
