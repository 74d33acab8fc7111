"""What of the plan, and of what PyFlink does besides, the recorded programs do not show."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

from scurry.common import Row, Types, WatermarkStrategy
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing.local import run_local


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def plan(env: StreamExecutionEnvironment) -> list[dict[str, Any]]:
    found = json.loads(env.get_execution_plan())
    assert list(found) == ["nodes"]
    return list(found["nodes"])


def test_numbers_begin_at_one_and_are_those_of_predecessors(
    env: StreamExecutionEnvironment,
) -> None:
    env.from_collection([1], Types.INT()).map(lambda v: v, Types.INT()).print()
    source, mapped, sink = plan(env)
    assert [node["id"] for node in (source, mapped, sink)] == [1, 2, 3]
    assert mapped["predecessors"] == [{"id": 1, "ship_strategy": "REBALANCE", "side": "second"}]
    assert "predecessors" not in source


def test_a_keyed_stream_has_no_name_and_no_cache(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([1]).key_by(lambda v: v)
    for method in (keyed.get_name, keyed.cache):
        with pytest.raises(NotSupportedError, match="of a keyed stream"):
            method()


def test_an_assigner_is_given_to_the_strategy_itself(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_collection([1])
    before = stream.assign_timestamps_and_watermarks(strategy)
    assert strategy.with_timestamp_assigner(lambda value, _: value) is strategy
    after = stream.assign_timestamps_and_watermarks(strategy)
    assert (before.get_name(), after.get_name()) == ("Timestamps/Watermarks", "Remove-Timestamp")


def test_a_list_of_types_is_the_type_of_rows(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).map(lambda v: Row(v), [Types.INT()])
    assert stream.get_type() == Types.ROW([Types.INT()])
    assert Types.ROW([Types.INT()]).from_internal_type((1,)) == Row(f0=1)
    stream.print()
    run_local(env)


def test_an_interval_below_ten_milliseconds_is_refused(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="must be at least 10 milliseconds, got 9"):
        env.enable_checkpointing(9)
    assert env.enable_checkpointing(10).get_checkpoint_interval() == 10


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("datastream.stream_execution_environment", ["StreamExecutionEnvironment"]),
        ("datastream.checkpoint_config", ["CheckpointConfig"]),
        ("common.job_client", ["JobClient"]),
        ("table.table_environment", ["StreamTableEnvironment", "TableEnvironment"]),
    ],
)
def test_a_star_imports_what_it_does_from_pyflink(module: str, names: list[str]) -> None:
    found = importlib.import_module(f"scurry.{module}")
    assert sorted(found.__all__) == names
    assert all(hasattr(found, name) for name in names)
