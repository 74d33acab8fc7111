"""At-least-once is a setting: sinks are told, and explain() says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scurry.common import Configuration
from scurry.common.errors import ConfigurationError, ProgramError
from scurry.datastream import CheckpointConfig, CheckpointingMode, StreamExecutionEnvironment
from scurry.datastream.functions import Sink, SinkWriter, WriterContext
from scurry.functions.sink import AT_LEAST_ONCE
from scurry.testing import run_local

VISIBLE: list[Any] = []


class Staging(Sink):
    """Shows records at the commit; in at-least-once jobs as soon as they are written."""

    def guarantee_in(self, promised: str) -> str:
        return promised

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(context.guarantee == AT_LEAST_ONCE)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        VISIBLE.append(("commit", sorted(row for rows in messages for row in rows)))


class _Writer(SinkWriter):
    def __init__(self, direct: bool) -> None:
        self.direct = direct
        self.rows: list[Any] = []

    def write(self, rows: list[Any]) -> None:
        if self.direct:
            VISIBLE.append(("written", sorted(rows)))
        else:
            self.rows.extend(rows)

    def prepare(self) -> Any:
        rows, self.rows = self.rows, []
        return rows or None


class Careless(Staging):
    def guarantee_in(self, promised: str) -> str:
        return AT_LEAST_ONCE


def environment(settings: dict[str, str] | None = None) -> StreamExecutionEnvironment:
    configuration = Configuration.of(settings or {})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(1)


def test_exactly_once_is_the_default() -> None:
    env = environment()
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE  # as in Flink
    env.enable_checkpointing(1000)
    assert env.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    env.from_collection([1, 2]).sink_to(Staging())
    assert "output: exactly-once\n" in env.explain()
    assert json.loads(env.describe_plan())["guarantee"] == "exactly-once"
    VISIBLE.clear()
    run_local(env)
    assert VISIBLE == [("commit", [1, 2])]


@pytest.mark.parametrize("text", ["AT_LEAST_ONCE", "at-least-once"])
def test_at_least_once_is_named_and_sinks_write_at_once(text: str) -> None:
    env = environment({"execution.checkpointing.mode": text})
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    env.from_collection([1, 2]).sink_to(Staging()).uid("staging")
    shown = env.explain()
    assert "output: at-least-once (state: exactly-once)" in shown
    assert "Staging: Writer" in shown
    assert shown.splitlines()[2].endswith("parallelism 1; at-least-once)")
    VISIBLE.clear()
    run_local(env)
    assert VISIBLE == [("written", [1, 2]), ("commit", [])]


def test_a_sink_that_cannot_keep_the_promise_is_named() -> None:
    env = environment()
    env.from_collection([1]).sink_to(Careless())
    env.from_collection([1]).sink_to(Staging())
    assert "output: exactly-once except Careless: Writer\n" in env.explain()


def test_the_setters_of_pyflink() -> None:
    env = environment()
    env.enable_checkpointing(500, CheckpointingMode.AT_LEAST_ONCE)
    config = env.get_checkpoint_config()
    assert isinstance(config, CheckpointConfig)
    assert config.get_checkpoint_interval() == 500
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.is_checkpointing_enabled()
    config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE).set_checkpoint_interval(70)
    assert (env.get_checkpoint_interval(), env.get_checkpointing_mode()) == (
        70,
        CheckpointingMode.EXACTLY_ONCE,
    )
    assert not environment().get_checkpoint_config().is_checkpointing_enabled()


def test_a_mode_that_does_not_exist() -> None:
    env = environment({"execution.checkpointing.mode": "twice"})
    env.from_collection([1]).print()
    with pytest.raises(
        ConfigurationError, match="'twice'; it must be one of EXACTLY_ONCE, AT_LEAST"
    ):
        env.explain()
    with pytest.raises(ProgramError, match="'once' is not a CheckpointingMode"):
        env.get_checkpoint_config().set_checkpointing_mode("once")  # type: ignore[arg-type]
