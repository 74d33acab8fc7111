"""Automatic uids: what changes them, what does not, and what explain() says of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from scurry.common import Time, WatermarkStrategy
from scurry.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.testing import ListSink


class Count(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class Other(Count):
    pass


class Numbered(MapFunction, CheckpointedFunction):
    def map(self, value: Any) -> Any:
        return value

    def initialize_state(self, context: Any) -> None:
        pass

    def snapshot_state(self, context: Any) -> None:
        pass


STRATEGY = WatermarkStrategy.for_monotonous_timestamps()
WINDOWS = TumblingEventTimeWindows.of(Time.milliseconds(10))
Build = Callable[[StreamExecutionEnvironment], Any]


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)


def stateful(build: Build) -> list[str]:
    """The uids of the operators that keep something, in the order of the program."""
    env = environment()
    build(env)
    return [n["id"] for n in json.loads(env.describe_plan())["nodes"] if n["stateful"]]


def keyed(stream: DataStream, function: KeyedProcessFunction) -> DataStream:
    return stream.key_by(lambda e: e).process(function)


def plain(env: StreamExecutionEnvironment) -> None:
    counts = keyed(env.from_collection([1]), Count())
    counts.key_by(lambda e: e).window(WINDOWS).reduce(lambda a, b: a).sink_to(ListSink())


def with_maps(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).map(lambda e: e).filter(lambda e: True).flat_map(list)
    counts = keyed(stream.assign_timestamps_and_watermarks(STRATEGY), Count()).map(lambda e: e)
    counts.key_by(lambda e: e).window(WINDOWS).reduce(lambda a, b: b).sink_to(ListSink())


def with_another_operator(env: StreamExecutionEnvironment) -> None:
    counts = keyed(keyed(env.from_collection([1]), Other()).uid("other"), Count())
    counts.key_by(lambda e: e).window(WINDOWS).reduce(lambda a, b: a).sink_to(ListSink())


def with_company(env: StreamExecutionEnvironment) -> None:
    keyed(env.from_collection([2]).name("company"), Count()).sink_to(ListSink())
    united = env.from_collection([1]).union(env.from_collection([3]).name("more"))
    counts = keyed(united, Count())
    counts.map(lambda e: e).sink_to(ListSink())
    counts.key_by(lambda e: e).window(WINDOWS).reduce(lambda a, b: a).sink_to(ListSink())


@pytest.mark.parametrize("build", [with_maps, with_another_operator, with_company])
def test_what_is_elsewhere_changes_no_uid(build: Build) -> None:
    assert set(stateful(plain)) <= set(stateful(build))


def test_function_name_source_and_side_output_tell_operators_apart() -> None:
    tag = OutputTag("aside")

    def build(env: StreamExecutionEnvironment) -> None:
        stream = env.from_collection([1]).uid("one")
        keyed(stream, Count()).sink_to(ListSink())
        keyed(stream, Other()).sink_to(ListSink())
        keyed(stream, Count()).name("mine").sink_to(ListSink())
        keyed(stream.map(lambda e: e).get_side_output(tag), Count()).sink_to(ListSink())
        keyed(env.from_collection([1]).uid("two"), Count()).sink_to(ListSink())

    uids = [uid for uid in stateful(build) if uid.startswith("keyed-process")]
    assert len(set(uids)) == 5
    assert not [uid for uid in uids if uid.count("-") > 2]


def test_twins_are_numbered_in_the_order_of_the_program() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        stream = env.from_collection([1])
        for _ in range(3):
            stream.key_by(lambda e: e).reduce(lambda a, b: a).sink_to(ListSink())

    first, second, third = (uid for uid in stateful(build) if uid.startswith("reduce"))
    assert (second, third) == (f"{first}-2", f"{first}-3")


def test_an_automatic_uid_makes_way_for_one_of_the_users() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        stream = env.from_collection([1])
        taken = stateful(lambda env: keyed(env.from_collection([1]), Count()).sink_to(ListSink()))
        keyed(stream, Count()).sink_to(ListSink())
        keyed(stream, Count()).uid(taken[1]).sink_to(ListSink())

    uids = stateful(build)
    assert uids[1] == f"{uids[2]}-2"


class Written(ListSink):
    known_by_uid = True


def test_explain_marks_what_keeps_state_without_a_uid_of_the_users() -> None:
    env = environment()
    numbers = env.from_collection([1]).map(Numbered()).map(lambda e: e)
    numbers.assign_timestamps_and_watermarks(STRATEGY).sink_to(ListSink())
    keyed(numbers, Count()).uid("count").sink_to(Written())
    keyed(numbers, Other()).sink_to(ListSink())
    lines = env.explain().splitlines()
    marked = [
        line.split("  (")[0].split("=> ")[-1].lstrip(" +-") for line in lines if "keeps" in line
    ]
    assert marked[:-1] == [
        "Source: Collection Source",
        "Map",
        "Written: Writer",
        "KEYED PROCESS",
    ]
    assert "automatic, keeps state: call .uid(...); ingress" in lines[1]
    assert lines[-1] == (
        'Operators marked "keeps state" are found again after a restart by their uid, and an '
        "automatic uid may change when the program does: give each a uid of its own, "
        ".uid('a name')."
    )


def test_explain_says_nothing_where_all_have_uids() -> None:
    env = environment()
    keyed(env.from_collection([1]).uid("a"), Count()).uid("b").print()
    assert "keeps state" not in env.explain()
