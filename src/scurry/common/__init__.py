"""What all parts of Scurry share: rows, types, time, watermarks, configuration, job facts.

Nothing here knows of streams, tables or Spark. The names are those of PyFlink's package of the same
name, so that a program changes only its imports. A few that PyFlink has here belong to formats;
they are looked up when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scurry.common.completable_future import CompletableFuture
from scurry.common.config_options import ConfigOption, ConfigOptions
from scurry.common.configuration import Configuration
from scurry.common.execution_config import ExecutionConfig
from scurry.common.input_dependency_constraint import InputDependencyConstraint
from scurry.common.job_client import JobClient
from scurry.common.job_execution_result import JobExecutionResult
from scurry.common.job_id import JobID
from scurry.common.job_metrics import JobMetrics, OperatorMetrics, SlotMetrics, TaskMetrics
from scurry.common.job_status import JobStatus
from scurry.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from scurry.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from scurry.common.serializer import TypeSerializer
from scurry.common.time import Duration, Instant, Time
from scurry.common.typeinfo import TypeInformation, Types
from scurry.common.types import Row, RowKind
from scurry.common.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobMetrics",
    "JobStatus",
    "OperatorMetrics",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "SlotMetrics",
    "TaskMetrics",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

_FORMATS = {
    f"{form}Row{direction}Schema": f"scurry.datastream.formats.{form.lower()}"
    for form in ("Avro", "Csv", "Json")
    for direction in ("Deserialization", "Serialization")
}


def __getattr__(name: str) -> Any:
    if name not in _FORMATS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_FORMATS[name]), name)
