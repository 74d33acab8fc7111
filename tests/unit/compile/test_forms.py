"""``explain()`` says of each operator whether it works on columns or on rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from scurry.common import Configuration, Time, Types, WatermarkStrategy
from scurry.connectors.hybrid import HybridSource
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import DataStream, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.window import CountTrigger, TumblingEventTimeWindows
from scurry.testing import ListSink

NUMBERS = NumberSequenceSource(1, 3)
NO_MARKS = WatermarkStrategy.no_watermarks()
MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))


def environment(**settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name.replace("__", "-").replace("_", "."), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def numbers(env: StreamExecutionEnvironment, strategy: WatermarkStrategy = NO_MARKS) -> DataStream:
    return env.from_source(NUMBERS, strategy, "numbers")


def words(env: StreamExecutionEnvironment, stream: DataStream) -> str:
    """What explain() says about the last operator of ``stream``."""
    stream.uid("last").sink_to(ListSink())
    line = next(line for line in env.explain().splitlines() if "(uid last;" in line)
    return line.split("; ")[2]


CASES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "map": (lambda s: s.map(str), "on rows, made of columns first"),
    "map of a map": (lambda s: s.map(str).map(str), "on rows"),
    "filter": (lambda s: s.filter(bool), "on rows, made of columns first"),
    "a filter keeps columns": (
        lambda s: s.filter(bool).map_batches(lambda b: b),
        "on columns",
    ),
    "batches": (lambda s: s.map_batches(lambda b: b), "on columns"),
    "batches of rows": (
        lambda s: s.map(str).map_batches(lambda b: b),
        "on columns, made of rows first",
    ),
    "timestamps that are a field": (
        lambda s: s.assign_timestamps_and_watermarks(
            MONOTONOUS.with_timestamp_assigner(lambda e, t: e["value"])
        ),
        "on columns",
    ),
    "timestamps that are computed": (
        lambda s: s.assign_timestamps_and_watermarks(
            MONOTONOUS.with_timestamp_assigner(lambda e, t: e + 1)
        ),
        "on rows because its timestamp assigner does more than pick a field, made of columns first",
    ),
    "timestamps of rows": (
        lambda s: s.map(int).assign_timestamps_and_watermarks(
            MONOTONOUS.with_timestamp_assigner(lambda e, t: e["value"])
        ),
        "on rows",
    ),
    "windows": (
        lambda s: s.key_by(lambda n: n).window(TEN).aggregate(agg.count()),
        "on columns",
    ),
    "windows with another trigger": (
        lambda s: (
            s.key_by(lambda n: n).window(TEN).trigger(CountTrigger.of(2)).aggregate(agg.count())
        ),
        "on rows because of its windows, trigger or evictor, made of columns first",
    ),
    "what windows hand on": (
        lambda s: s.key_by(lambda n: n).window(TEN).aggregate(agg.count()).map_batches(lambda b: b),
        "on columns",
    ),
    "a union of columns and rows": (
        lambda s: s.union(s.map(int)).map_batches(lambda b: b),
        "on columns, made of rows first",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_explain_says_what_an_operator_works_on(case: str) -> None:
    build, expected = CASES[case]
    env = environment()
    assert words(env, build(numbers(env))) == expected


def test_a_setting_can_be_the_reason() -> None:
    env = environment(scurry_windows_vectorised="false")
    counted = numbers(env).key_by(lambda n: n).window(TEN).aggregate(agg.count())
    expected = "on rows because scurry.windows.vectorised is false, made of columns first"
    assert words(env, counted) == expected


def test_sources_say_what_they_give() -> None:
    env = environment()
    both = HybridSource.builder(NUMBERS).add_source(NUMBERS).build()
    env.from_source(both, NO_MARKS, "both").uid("both").print().uid("out")
    env.from_collection([1], Types.INT()).uid("rows").print().uid("out 2")
    plan = {node["id"]: node for node in json.loads(env.describe_plan())["nodes"]}
    found = {uid: (node["works_on"], node["made_of"]) for uid, node in plan.items()}
    assert found == {
        "both": ("columns", None),
        "out": ("rows", "columns"),
        "rows": ("rows", None),
        "out 2": ("rows", None),
    }
