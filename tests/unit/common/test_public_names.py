"""`scurry.common` offers the names that a PyFlink program imports."""

from __future__ import annotations

import importlib

import pytest

PYFLINK_NAMES = {
    "completable_future": ["CompletableFuture"],
    "config_options": ["ConfigOption", "ConfigOptions"],
    "configuration": ["Configuration"],
    "execution_config": ["ExecutionConfig"],
    "input_dependency_constraint": ["InputDependencyConstraint"],
    "job_execution_result": ["JobExecutionResult"],
    "job_id": ["JobID"],
    "job_status": ["JobStatus"],
    "restart_strategy": ["RestartStrategies", "RestartStrategyConfiguration"],
    "serialization": [
        "ByteArraySchema",
        "DeserializationSchema",
        "Encoder",
        "SerializationSchema",
        "SimpleStringSchema",
    ],
    "serializer": ["TypeSerializer"],
    "time": ["Duration", "Instant", "Time"],
    "typeinfo": ["TypeInformation", "Types"],
    "types": ["Row", "RowKind"],
    "watermark_strategy": ["TimestampAssigner", "WatermarkStrategy"],
}


@pytest.mark.parametrize("module", PYFLINK_NAMES)
def test_names_are_where_pyflink_has_them(module: str) -> None:
    package = importlib.import_module("scurry.common")
    found = importlib.import_module(f"scurry.common.{module}")
    for name in PYFLINK_NAMES[module]:
        assert name in package.__all__
        assert getattr(package, name) is getattr(found, name)
