"""Programs are checked when they are built: each mistake has its message, before any record."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common import Configuration, Time, Types, WatermarkStrategy
from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import (
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.testing import ListSink, collect_local


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


class Echo(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


def test_a_job_without_a_sink() -> None:
    env = environment()
    env.from_collection([1]).map(str)
    with pytest.raises(ProgramError, match=r"has no sink.*print\(\)"):
        env.execute("lonely")


def test_two_operators_with_one_uid_are_both_named() -> None:
    env = environment()
    env.from_collection([1]).map(str).uid("x").name("first").map(str).uid("x").name(
        "second"
    ).print()
    with pytest.raises(ProgramError, match=r"uid 'x'.*'first' \(.*test_programs.*'second'"):
        env.explain()


@pytest.mark.parametrize("uid", ["", "a>b", "a@b", 5])
def test_a_uid_must_be_usable(uid: Any) -> None:
    with pytest.raises(ProgramError, match="cannot be the uid"):
        environment().from_collection([1]).uid(uid)


@pytest.mark.parametrize("parallelism", [0, -2, 1.5, True])
def test_parallelism_must_be_a_count(parallelism: Any) -> None:
    with pytest.raises(ProgramError, match="parallelism"):
        environment().from_collection([1]).map(str).set_parallelism(parallelism)


def test_parallelism_beyond_the_key_groups() -> None:
    env = environment().set_max_parallelism(4)
    env.from_collection([1]).map(str).set_parallelism(5).print()
    with pytest.raises(ProgramError, match="parallelism 5, more than the job's 4 key groups"):
        env.explain()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.map(5), "map needs a callable or a MapFunction, got 5"),
        (lambda s: s.flat_map(None), "flat_map needs a callable"),
        (lambda s: s.filter("x"), "filter needs a callable"),
        (lambda s: s.map(MapFunction), "pass an instance: MapFunction\\(\\)"),
        (lambda s: s.key_by([1]), "key_by needs a callable"),
        (lambda s: s.process(Echo()), "call key_by"),
        (lambda s: s.key_by(lambda e: e).process(lambda e: e), "KeyedProcessFunction"),
        (lambda s: s.key_by(lambda e: e).rebalance(), "separate elements of one key"),
        (lambda s: s.union(5), "union takes streams"),
        (lambda s: s.sink_to(print), "sink_to needs a Sink"),
        (lambda s: s.get_side_output("late"), "get_side_output needs an OutputTag"),
        (lambda s: s.assign_timestamps_and_watermarks(5), "needs a WatermarkStrategy"),
        (lambda s: s.project(), "project takes field positions"),
        (lambda s: OutputTag(""), "OutputTag needs a non-empty string"),
    ],
)
def test_what_methods_refuse(build: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        build(environment().from_collection([1]))


def test_union_across_environments() -> None:
    with pytest.raises(ProgramError, match="one environment"):
        environment().from_collection([1]).union(environment().from_collection([2]))


def test_side_output_of_something_without_any() -> None:
    env = environment()
    env.from_collection([1]).get_side_output(OutputTag("late")).print()
    with pytest.raises(ProgramError, match="has no side outputs"):
        env.explain()


@pytest.mark.parametrize("bad", [5, "text", b"bytes"])
def test_from_collection_needs_a_collection(bad: Any) -> None:
    with pytest.raises(ProgramError, match="from_collection needs a collection"):
        environment().from_collection(bad)


def test_from_collection_checks_declared_types() -> None:
    with pytest.raises(TypeMismatchError, match="Element 1 of the collection: expected LONG"):
        environment().from_collection([1, "x"], type_info=Types.LONG())


def test_add_source_takes_a_source_or_a_function() -> None:
    env = environment()
    assert collect_local(env.add_source(lambda: (n * n for n in range(3)))) == [0, 1, 4]
    with pytest.raises(ProgramError, match="add_source needs"):
        env.add_source(5)


def test_explain_draws_stages_and_uids() -> None:
    tag = OutputTag("odd")

    class Split(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield value

    env = environment()
    numbers = env.from_collection([1, 2]).uid("numbers")
    split = numbers.process(Split()).uid("split")
    split.key_by(lambda n: n).process(Echo()).uid("echo").sink_to(ListSink()).uid("out")
    split.get_side_output(tag).print().uid("odd-out")
    assert env.explain() == "\n".join(
        [
            "Job 'Scurry job': 1 source, 1 stage, parallelism 2, 128 key groups; "
            "micro-batch engine; output: exactly-once",
            "Source: Collection Source  (uid numbers; ingress; on rows; parallelism 1)",
            "   +- PROCESS  (uid split; ingress; on rows; parallelism 1)",
            "      += hash => KEYED PROCESS  (uid echo; stage 1; on rows; parallelism 2)",
            "         +- ListSink: Writer  "
            "(uid out; stage 1; on rows; parallelism 2; exactly-once)",
            "      +- [side output 'odd'] Print to Std. Out  "
            "(uid odd-out; ingress; on rows; parallelism 1; exactly-once)",
        ]
    )


def test_the_execution_plan_is_json() -> None:
    env = environment()
    env.from_collection([1]).uid("a").key_by(lambda n: n).reduce(max).uid("b").print().uid("c")
    plan = json.loads(env.describe_plan())
    assert [node["id"] for node in plan["nodes"]] == ["a", "b", "c"]
    assert plan["nodes"][1]["predecessors"] == [
        {"id": "a", "side_output": None, "input": 0, "ship_strategy": "hash"}
    ]


def uids(build: Any) -> list[str]:
    env = environment()
    build(env)
    return [node["id"] for node in json.loads(env.describe_plan())["nodes"]]


def test_automatic_uids_do_not_depend_on_unrelated_parts() -> None:
    def alone(env: Any) -> None:
        env.from_collection([1]).uid("s").key_by(lambda n: n).reduce(max).print()

    def with_company(env: Any) -> None:
        env.from_collection([2]).uid("other").map(str).print()
        alone(env)

    assert set(uids(alone)) <= set(uids(with_company))


def test_chains_and_stages() -> None:
    env = environment()
    source = env.from_collection([1])
    chained = source.map(str).map(str)
    chained.map(str).disable_chaining().map(str).print()
    chained.map(str).start_new_chain().print()
    nodes = json.loads(env.describe_plan())["nodes"]
    assert [node["stage"] for node in nodes] == [0, 0, 0, 1, 2, 2, 1, 1]
    env.disable_operator_chaining()
    nodes = json.loads(env.describe_plan())["nodes"]
    assert [node["stage"] for node in nodes] == [0, 1, 2, 3, 4, 5, 3, 4]


def test_settings_come_from_scurry_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCURRY_CONF", '{"pipeline.name": "from outside"}')
    monkeypatch.setenv("SCURRY_PARALLELISM", "3")
    monkeypatch.setenv("SCURRY_MASTER", "local[1]")
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.of({"pipeline.name": "from inside"})
    )
    assert env.get_parallelism() == 3
    assert env.get_configuration().get_string("spark.master", None) == "local[1]"
    env.from_collection([1]).print()
    assert env.explain().startswith("Job 'from outside'")


def test_a_source_with_watermarks_is_named_as_one() -> None:
    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    source = env.from_source(NumberSequenceSource(1, 3), strategy, "n")
    source.uid("numbers").name("the numbers").set_parallelism(1).print()
    nodes = json.loads(env.describe_plan())["nodes"]
    assert [node["id"] for node in nodes[:2]] == ["numbers", "numbers-watermarks"]
    assert nodes[0]["type"] == "the numbers"
    assert [node["parallelism"] for node in nodes] == [1, 1, 1]


def test_alignment_can_only_hold_back_a_source() -> None:
    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("g", "1 s")
    stream = env.from_source(NumberSequenceSource(1, 3), None, "n").map(lambda n: n)
    stream.assign_timestamps_and_watermarks(strategy).print()
    with pytest.raises(ProgramError, match="pass the strategy to from_source"):
        env.explain()


def test_an_operator_of_a_lower_parallelism_does_not_hold_back_time() -> None:
    """It has no instance in the other slots of its stage, so nothing is to be awaited from them."""
    env = environment(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    events = [("a", 1), ("b", 2), ("a", 12), ("b", 25)]
    stream = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
    narrow = stream.key_by(lambda e: e[0]).map(lambda e: e).set_parallelism(1)
    env.from_collection([1]).key_by(lambda n: n).map(lambda n: n).sink_to(ListSink())
    windows = narrow.key_by(lambda e: e[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(10))
    )
    sums = collect_local(windows.reduce(lambda a, b: (a[0], a[1] + b[1])), cuts=1)
    assert sorted(sums) == sorted(events)


def test_a_chain_of_a_thousand_operators() -> None:
    """Longer than Python's stack would allow, from the building of the program to its records."""
    env = environment(1)
    stream = env.from_collection([1, 2])
    for _ in range(1000):
        stream = stream.map(lambda number: number + 1)
    stream.print()
    assert env.explain().count("Map") == 1000
    assert collect_local(stream) == [1001, 1002]
