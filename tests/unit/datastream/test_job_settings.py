"""Settings of an environment: what is set can be read again, also as keys of the configuration."""

from __future__ import annotations

import os
from typing import Any

import pytest

from scurry.common import Configuration, Duration
from scurry.common.errors import ProgramError
from scurry.datastream import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
    StreamExecutionEnvironment,
)
from scurry.datastream.job_settings import JobSettings

KEEP = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_defaults_are_those_of_flink(env: StreamExecutionEnvironment) -> None:
    config = env.get_checkpoint_config()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()
    assert not config.is_force_unaligned_checkpoints()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(0)
    assert env.get_buffer_timeout() == 100
    assert env.is_changelog_state_backend_enabled() is None
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()


def test_what_a_program_sets_can_be_read(env: StreamExecutionEnvironment) -> None:
    env.enable_checkpointing(1000, CheckpointingMode.AT_LEAST_ONCE)
    config = (
        env.get_checkpoint_config()
        .set_checkpoint_timeout(60_000)
        .set_min_pause_between_checkpoints(500)
        .set_max_concurrent_checkpoints(2)
        .set_tolerable_checkpoint_failure_number(3)
        .set_externalized_checkpoint_retention(KEEP)
        .enable_unaligned_checkpoints()
        .set_force_unaligned_checkpoints()
        .set_alignment_timeout(Duration.of_seconds(1))
    )
    assert isinstance(config, CheckpointConfig)
    again = env.get_checkpoint_config()
    assert again.is_checkpointing_enabled()
    assert env.get_checkpoint_interval() == 1000
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.get_checkpointing_consistency_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert again.get_checkpoint_timeout() == 60_000
    assert again.get_min_pause_between_checkpoints() == 500
    assert again.get_max_concurrent_checkpoints() == 2
    assert again.get_tolerable_checkpoint_failure_number() == 3
    assert not again.is_fail_on_checkpointing_errors()
    assert again.set_fail_on_checkpointing_errors(True).is_fail_on_checkpointing_errors()
    assert again.get_externalized_checkpoint_retention() is KEEP
    assert env.is_unaligned_checkpoints_enabled()
    assert env.is_force_unaligned_checkpoints()
    assert not again.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert again.get_alignment_timeout() == Duration.of_seconds(1)
    assert env.set_buffer_timeout(5).get_buffer_timeout() == 5
    assert env.enable_changelog_state_backend(True).is_changelog_state_backend_enabled()


def test_settings_and_configuration_are_one() -> None:
    given = Configuration()
    given.set_string("execution.checkpointing.interval", "2 s")
    given.set_string("execution.checkpointing.mode", "at_least_once")
    env = StreamExecutionEnvironment.get_execution_environment(given)
    assert env.get_checkpoint_interval() == 2000
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    env.get_checkpoint_config().set_checkpoint_interval(3000)
    assert env.get_configuration().get_duration("execution.checkpointing.interval", 0) == 3000


def test_the_default_parallelism(
    env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JobSettings, "_default_local_parallelism", 0)
    assert env.get_default_local_parallelism() == os.cpu_count()
    env.set_default_local_parallelism(7)
    other = StreamExecutionEnvironment.get_execution_environment()
    assert other.get_parallelism() == 7
    assert other.set_parallelism(2).get_parallelism() == 2


@pytest.mark.parametrize(
    ("method", "value", "message"),
    [
        ("set_checkpoint_interval", 0, "interval must be a whole number from 1 on, got 0"),
        ("set_max_concurrent_checkpoints", "2", "must be a whole number from 1 on, got '2'"),
        ("set_checkpointing_mode", "EXACTLY_ONCE", "'EXACTLY_ONCE' is not a CheckpointingMode"),
    ],
)
def test_mistakes_are_told(
    env: StreamExecutionEnvironment, method: str, value: Any, message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        getattr(env.get_checkpoint_config(), method)(value)


def test_mistakes_in_the_environment_are_told(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="buffer timeout must be milliseconds from 0 on"):
        env.set_buffer_timeout(-2)
    with pytest.raises(ProgramError, match="default parallelism must be a whole number"):
        env.set_default_local_parallelism(0)


def test_object_reuse_reaches_the_job(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).print()
    assert not env._compile(None).spec.object_reuse
    env.get_config().enable_object_reuse()
    assert env._compile(None).spec.object_reuse
    env.get_config().disable_object_reuse()
    assert not env._compile(None).spec.object_reuse
    env.get_configuration().set_string("pipeline.object-reuse", "true")
    assert env._compile(None).spec.object_reuse
