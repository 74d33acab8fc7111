"""What plan nodes say of themselves: schema, changelog mode, and facts that passes ask for."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from scurry.common import Row, RowKind, Time, Types, WatermarkStrategy
from scurry.common.changelog import ChangelogMode, mode_of_union
from scurry.common.errors import ProgramError
from scurry.connectors.formats.debezium import DebeziumJsonDeserializationSchema
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.connectors.postgres.sink import PostgresSink
from scurry.datastream import DataStream, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSource
from scurry.datastream.window import AccumulationMode, TumblingEventTimeWindows
from scurry.plan import nodes

TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    source = NumberSequenceSource(1, 3)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")


def last(env: StreamExecutionEnvironment, stream: DataStream) -> dict[str, Any]:
    """The last operator of ``stream``, as the execution plan describes it."""
    stream.uid("last").print()
    found = json.loads(env.describe_plan())["nodes"]
    node: dict[str, Any] = next(node for node in found if node["id"] == "last")
    return node


def changes(env: StreamExecutionEnvironment) -> DataStream:
    config = RMQConnectionConfig.Builder().set_uri("amqp://nowhere").build()
    schema = DebeziumJsonDeserializationSchema(ROW)
    return env.add_source(RMQSource(config, "changes", False, schema))


SCHEMAS: dict[str, tuple[Any, Any]] = {
    "a source's": (lambda s: s, {"value": "int64"}),
    "a filter's is its input's": (lambda s: s.filter(bool), {"value": "int64"}),
    "a function's is not known": (lambda s: s.map(str), None),
    "but if it is declared": (lambda s: s.map(str, Types.STRING()), {"value": "string"}),
    "of a row": (
        lambda s: s.map(lambda n: Row(n, "x"), ROW).filter(bool),
        {"id": "int64", "name": "string"},
    ),
    "of a type without columns": (lambda s: s.map(str, Types.PICKLED_BYTE_ARRAY()), None),
    "of a union": (lambda s: s.union(s.filter(bool)).filter(bool), {"value": "int64"}),
    "of different ones": (lambda s: s.union(s.map(str)).filter(bool), None),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_the_plan_shows_schemas(case: str) -> None:
    build, expected = SCHEMAS[case]
    env = environment()
    assert last(env, build(numbers(env)))["schema"] == expected


def retracting(s: DataStream) -> DataStream:
    windows = s.key_by(lambda n: n).window(TEN)
    mode = AccumulationMode.ACCUMULATING_AND_RETRACTING
    return windows.accumulation_mode(mode).aggregate(agg.count())


MODES: dict[str, tuple[Any, str | None]] = {
    "numbers are inserted": (lambda s: s, "insert-only"),
    "a filter keeps the mode": (lambda s: s.filter(bool), "insert-only"),
    "batches keep it": (lambda s: s.map_batches(lambda b: b), "insert-only"),
    "a function may return anything": (lambda s: s.map(str), None),
    "windows that retract": (retracting, "retract"),
    "windows": (lambda s: s.key_by(lambda n: n).window(TEN).aggregate(agg.count()), "insert-only"),
    "a union with changes": (lambda s: retracting(s).union(s).filter(bool), "retract"),
    "a union with what is not known": (lambda s: s.union(s.map(int)).filter(bool), None),
}


@pytest.mark.parametrize("case", MODES)
def test_the_plan_shows_changelog_modes(case: str) -> None:
    build, expected = MODES[case]
    env = environment()
    assert last(env, build(numbers(env)))["changelog"] == expected


def test_explain_shows_who_sends_changes() -> None:
    env = environment()
    changes(env).print()
    lines = env.explain().splitlines()
    assert "; sends changes: retract" in lines[1]
    assert "sends changes" not in lines[2]


def test_a_union_promises_what_all_do() -> None:
    insert, retract, upsert = ChangelogMode
    assert mode_of_union([insert, insert]) is insert
    assert mode_of_union([insert, retract]) is retract
    assert mode_of_union([upsert, retract]) is upsert
    assert mode_of_union([insert, None]) is None
    assert mode_of_union([]) is None


def test_changes_cannot_go_to_a_sink_that_inserts() -> None:
    env = environment()
    changes(env).filter(bool).sink_to(PostgresSink.append("host=nowhere", "t"))
    words = (
        r"The sink '.*' \(.*test_traits.*\) only inserts, and 'Filter' \(.*\) sends updates and "
        r"deletions \(changelog mode 'retract'\).*PostgresSink.upsert"
    )
    with pytest.raises(ProgramError, match=words):
        env.explain()


def test_changes_can_go_where_the_key_is_known_and_rows_may_say_it_themselves() -> None:
    env = environment()
    changes(env).sink_to(PostgresSink.upsert("host=nowhere", "t", ["id"]))
    rows = env.from_collection([Row.of_kind(RowKind.DELETE, id=1)])
    rows.sink_to(PostgresSink.append("host=nowhere", "u"))
    assert "Job" in env.explain()


@pytest.mark.parametrize(
    "kind",
    [k for _, k in inspect.getmembers(nodes, inspect.isclass) if issubclass(k, nodes.Node)],
)
def test_traits_fit_together(kind: type[nodes.Node]) -> None:
    if issubclass(kind, nodes.Operator):
        assert kind.keyed_inputs <= kind.input_count <= 2
        assert kind.keeps or not kind.keyed_inputs
    if kind.hands_on:
        assert not kind.keyed_inputs
