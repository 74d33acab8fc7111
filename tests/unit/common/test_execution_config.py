"""The execution settings are a view of a configuration."""

from __future__ import annotations

import pytest

from scurry.common import Configuration, ExecutionConfig
from scurry.common.errors import ConfigurationError


def test_defaults() -> None:
    config = ExecutionConfig()
    assert config.get_parallelism() == config.get_max_parallelism() == -1
    assert config.get_auto_watermark_interval() == 200
    assert config.get_latency_tracking_interval() == 0
    assert config.get_task_cancellation_interval() == 30_000
    assert config.get_task_cancellation_timeout() == 180_000
    assert not config.has_generic_types_disabled()
    assert config.has_auto_generated_uids_enabled()
    assert not config.is_object_reuse_enabled()
    assert not config.is_use_snapshot_compression()
    assert config.get_global_job_parameters() == {}


def test_settings_are_written_to_the_configuration() -> None:
    configuration = Configuration()
    config = ExecutionConfig(configuration).set_parallelism(4).set_max_parallelism(64)
    config.set_auto_watermark_interval(50).set_latency_tracking_interval(10)
    config.set_task_cancellation_interval(1).set_task_cancellation_timeout(2)
    config.disable_generic_types().disable_auto_generated_uids().enable_object_reuse()
    config.set_use_snapshot_compression(True)
    again = ExecutionConfig(Configuration.from_dict(configuration.to_dict()))
    assert (again.get_parallelism(), again.get_max_parallelism()) == (4, 64)
    assert again.get_auto_watermark_interval() == 50
    assert again.get_latency_tracking_interval() == 10
    assert again.get_task_cancellation_interval() == 1
    assert again.get_task_cancellation_timeout() == 2
    assert again.has_generic_types_disabled()
    assert not again.has_auto_generated_uids_enabled()
    assert again.is_object_reuse_enabled()
    assert again.is_use_snapshot_compression()
    assert again == config
    assert hash(again) == hash(config)
    again.enable_generic_types().enable_auto_generated_uids().disable_object_reuse()
    assert not again.has_generic_types_disabled()
    assert again.has_auto_generated_uids_enabled()
    assert not again.is_object_reuse_enabled()


def test_settings_are_read_from_the_configuration() -> None:
    configuration = Configuration.of({"pipeline.auto-watermark-interval": "1 s"})
    config = ExecutionConfig(configuration)
    assert config.get_auto_watermark_interval() == 1000
    assert config.configuration is configuration


def test_job_parameters_are_replaced_as_a_whole() -> None:
    config = ExecutionConfig().set_global_job_parameters({"a": "1,2:3", "b": 2})
    assert config.get_global_job_parameters() == {"a": "1,2:3", "b": "2"}
    config.set_global_job_parameters({"c": "x"})
    assert config.get_global_job_parameters() == {"c": "x"}


@pytest.mark.parametrize("value", [0, -3, 32769, "4", 1.5])
def test_parallelism_out_of_range(value: int) -> None:
    with pytest.raises(ConfigurationError, match="the parallelism is a whole number from 1 to"):
        ExecutionConfig().set_parallelism(value)
    with pytest.raises(ConfigurationError, match="the max parallelism is"):
        ExecutionConfig().set_max_parallelism(value)


def test_parallelism_can_be_left_to_the_cluster() -> None:
    config = ExecutionConfig().set_parallelism(4)
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT).get_parallelism() == -1


@pytest.mark.parametrize("value", [-1, 1.5, True])
def test_intervals_out_of_range(value: int) -> None:
    with pytest.raises(ConfigurationError, match=r"auto watermark interval is .* got"):
        ExecutionConfig().set_auto_watermark_interval(value)
