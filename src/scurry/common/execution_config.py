"""Settings of a program's execution, by name rather than by key.

`ExecutionConfig` holds nothing itself: it reads and writes a `Configuration`, so a value set here,
in a file or on the command line is one and the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.options import execution, kept
from scurry.common.options.checkpoints import SNAPSHOT_COMPRESSION
from scurry.common.options.option import Option

__all__ = ["ExecutionConfig"]


class ExecutionConfig:
    """A typed view of a configuration; setters return the view, so that calls can be chained."""

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @property
    def configuration(self) -> Configuration:
        """What this view reads and writes."""
        return self._configuration

    def get_parallelism(self) -> int:
        """Subtasks of each operator; `PARALLELISM_DEFAULT` leaves it to the cluster."""
        return execution.PARALLELISM.read(self._configuration)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the subtasks of each operator that does not say otherwise."""
        return self._set_parallelism(execution.PARALLELISM, "parallelism", parallelism)

    def get_max_parallelism(self) -> int:
        """The number of key groups; `PARALLELISM_DEFAULT` if it was not set."""
        return execution.MAX_PARALLELISM.read(self._configuration)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups: the bound of rescaling, fixed for the life of the state."""
        return self._set_parallelism(execution.MAX_PARALLELISM, "max parallelism", max_parallelism)

    def get_auto_watermark_interval(self) -> int:
        """Milliseconds between two periodic calls of a watermark generator."""
        return kept.WATERMARK_INTERVAL.read(self._configuration)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set the milliseconds between two periodic calls; 0 means none."""
        return self._set_milliseconds(kept.WATERMARK_INTERVAL, "auto watermark interval", interval)

    def get_latency_tracking_interval(self) -> int:
        """Milliseconds between two measurements of latency; 0 means none."""
        return kept.LATENCY_INTERVAL.read(self._configuration)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Set the milliseconds between two measurements of latency."""
        return self._set_milliseconds(kept.LATENCY_INTERVAL, "latency tracking interval", interval)

    def get_task_cancellation_interval(self) -> int:
        """Milliseconds between two attempts to cancel a task."""
        return kept.CANCELLATION_INTERVAL.read(self._configuration)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Set the milliseconds between two attempts to cancel a task."""
        return self._set_milliseconds(
            kept.CANCELLATION_INTERVAL, "task cancellation interval", interval
        )

    def get_task_cancellation_timeout(self) -> int:
        """Milliseconds after which a task that does not stop counts as failed; 0 means never."""
        return kept.CANCELLATION_TIMEOUT.read(self._configuration)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Set the milliseconds after which a task that does not stop counts as failed."""
        return self._set_milliseconds(
            kept.CANCELLATION_TIMEOUT, "task cancellation timeout", timeout
        )

    def enable_generic_types(self) -> ExecutionConfig:
        """Take :meth:`disable_generic_types` back."""
        return self._set(kept.GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Kept, has no effect: elements of unknown type travel pickled, which costs little here."""
        return self._set(kept.GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """Whether generic types were disabled."""
        return not kept.GENERIC_TYPES.read(self._configuration)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Give operators without a uid one derived from the program, which is the default."""
        return self._set(execution.GENERATED_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuse programs that leave an operator without a uid."""
        return self._set(execution.GENERATED_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators without a uid get one."""
        return execution.GENERATED_UIDS.read(self._configuration)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Hand the same object from function to function without copies; then no function may
        change, or keep, an object that it was given or has emitted."""
        return self._set(execution.OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copy what is emitted if it can change, which is the default."""
        return self._set(execution.OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """Whether objects are handed on without copies."""
        return execution.OBJECT_REUSE.read(self._configuration)

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Take :meth:`disable_closure_cleaner` back."""
        return self._set(kept.CLOSURE_CLEANER, kept.CLOSURE_CLEANER.default)

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Kept, has no effect: Python functions need no cleaning."""
        return self._set(kept.CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """Whether the closure cleaner was left enabled."""
        return kept.CLOSURE_CLEANER.read(self._configuration) != "NONE"

    def enable_force_kryo(self) -> ExecutionConfig:
        """Kept, has no effect: values are Python's, and Kryo serialises Java's."""
        return self._set(kept.FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Take :meth:`enable_force_kryo` back."""
        return self._set(kept.FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        """Whether Kryo was asked for."""
        return kept.FORCE_KRYO.read(self._configuration)

    def enable_force_avro(self) -> ExecutionConfig:
        """Kept, has no effect: values are Python's."""
        return self._set(kept.FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Take :meth:`enable_force_avro` back."""
        return self._set(kept.FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """Whether Avro was asked for."""
        return kept.FORCE_AVRO.read(self._configuration)

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """None: there are no Java serializers."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """None: there are no Java types."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """None: there are no Java types."""
        return []

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Say whether snapshots of state are compressed."""
        return self._set(SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def is_use_snapshot_compression(self) -> bool:
        """Whether snapshots of state are compressed."""
        return SNAPSHOT_COMPRESSION.read(self._configuration)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Parameters of the program's own, which every function can read."""
        return execution.JOB_PARAMETERS.read_entries(self._configuration)

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, Any]
    ) -> ExecutionConfig:
        """Replace the program's own parameters; values become text."""
        execution.JOB_PARAMETERS.write_entries(self._configuration, global_job_parameters_dict)
        return self

    def _set(self, option: Option[Any], value: Any) -> ExecutionConfig:
        option.write(self._configuration, value)
        return self

    def _set_milliseconds(self, option: Option[int], what: str, value: object) -> ExecutionConfig:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConfigurationError(
                f"the {what} is a whole number of milliseconds, 0 or more, got {value!r}"
            )
        option.write(self._configuration, value)
        return self

    def _set_parallelism(self, option: Option[int], what: str, value: object) -> ExecutionConfig:
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not (
                value == self.PARALLELISM_DEFAULT or 1 <= value <= execution.GREATEST_PARALLELISM
            )
        ):
            raise ConfigurationError(
                f"the {what} is a whole number from 1 to {execution.GREATEST_PARALLELISM}, got "
                f"{value!r}"
            )
        option.write(self._configuration, value)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExecutionConfig):
            return NotImplemented
        return self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
