"""Settings of checkpoints, as keys of the configuration.

In Scurry the end of every micro-batch is a checkpoint: the interval is the pace of micro-batches,
and there is never more than one under way. Flink's other settings tune barriers that flow between
the records; there are none here, so these settings are kept, can be read again, and change nothing.
"""

from __future__ import annotations

from typing import Any

from scurry.common.configuration import Configuration
from scurry.common.errors import ProgramError
from scurry.common.time import Duration
from scurry.datastream import options
from scurry.datastream.checkpointing_mode import CheckpointingMode, mode_of
from scurry.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention

_PREFIX = "execution.checkpointing."
_TIMEOUT = f"{_PREFIX}timeout"
_MIN_PAUSE = f"{_PREFIX}min-pause"
_CONCURRENT = f"{_PREFIX}max-concurrent-checkpoints"
_TOLERABLE = f"{_PREFIX}tolerable-failed-checkpoints"
_RETENTION = f"{_PREFIX}externalized-checkpoint-retention"
_UNALIGNED = f"{_PREFIX}unaligned.enabled"
_FORCED = f"{_PREFIX}unaligned.forced"
_ALIGNED_TIMEOUT = f"{_PREFIX}aligned-checkpoint-timeout"


class CheckpointConfig:
    """The checkpoint settings of an environment."""

    DEFAULT_MODE = CheckpointingMode.EXACTLY_ONCE
    DEFAULT_TIMEOUT = 10 * 60 * 1000
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS = 0
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS = 1

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval was set. Micro-batches are checkpoints either way."""
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """What the job promises about its output."""
        return mode_of(self._configuration)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Say what the job shall promise about its output; see :class:`CheckpointingMode`."""
        return self._set(options.CHECKPOINTING_MODE, _member(checkpointing_mode, CheckpointingMode))

    def get_checkpoint_interval(self) -> int:
        """The interval in milliseconds, -1 if none was set."""
        return int(self._configuration.get_duration(options.BATCH_INTERVAL, -1))

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Start a micro-batch every so many milliseconds, and not more often."""
        return self._set_millis(options.BATCH_INTERVAL, checkpoint_interval, 1)

    def get_checkpoint_timeout(self) -> int:
        """The timeout in milliseconds."""
        return int(self._configuration.get_duration(_TIMEOUT, self.DEFAULT_TIMEOUT))

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Kept, changes nothing: a micro-batch takes the time it needs."""
        return self._set_millis(_TIMEOUT, checkpoint_timeout, 1)

    def get_min_pause_between_checkpoints(self) -> int:
        """The pause in milliseconds."""
        default = self.DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS
        return int(self._configuration.get_duration(_MIN_PAUSE, default))

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Kept, changes nothing: work goes on in checkpoints, not between them."""
        return self._set_millis(_MIN_PAUSE, min_pause_between_checkpoints, 0)

    def get_max_concurrent_checkpoints(self) -> int:
        """How many may be under way at once."""
        default = self.DEFAULT_MAX_CONCURRENT_CHECKPOINTS
        return int(self._configuration.get_integer(_CONCURRENT, default))

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Kept, changes nothing: micro-batches follow one another."""
        return self._set(_CONCURRENT, _at_least(_CONCURRENT, max_concurrent_checkpoints, 1))

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether no failed checkpoint is tolerated."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Tolerate no failed checkpoint, or any number."""
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else (1 << 31) - 1
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many failed checkpoints are tolerated."""
        return int(self._configuration.get_integer(_TOLERABLE, 0))

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Kept, changes nothing: a micro-batch that fails is run again as the restart strategy
        says."""
        number = _at_least(_TOLERABLE, tolerable_checkpoint_failure_number, 0)
        return self._set(_TOLERABLE, number)

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Kept, changes nothing; see :class:`ExternalizedCheckpointRetention`."""
        return self._set(_RETENTION, _member(retention_mode, ExternalizedCheckpointRetention))

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """What was asked for."""
        default = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS.name
        name = str(self._configuration.get_string(_RETENTION, default))
        return ExternalizedCheckpointRetention[name.upper()]

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints were asked to outlive their job."""
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether unaligned checkpoints were asked for."""
        return bool(self._configuration.get_boolean(_UNALIGNED, False))

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Kept, changes nothing: there are no barriers to align."""
        return self._set(_UNALIGNED, str(bool(enabled)).lower())

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Take :meth:`enable_unaligned_checkpoints` back."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Kept, changes nothing: there are no barriers to align."""
        return self._set_millis(_ALIGNED_TIMEOUT, Duration.of(alignment_timeout).to_milliseconds())

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """What was set."""
        return Duration.of_millis(int(self._configuration.get_duration(_ALIGNED_TIMEOUT, 0)))

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """The older name of :meth:`set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """The older name of :meth:`get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Kept, changes nothing: there are no barriers to align."""
        return self._set(_FORCED, str(bool(force_unaligned_checkpoints)).lower())

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether they were forced."""
        return bool(self._configuration.get_boolean(_FORCED, False))

    def _set(self, key: str, value: Any) -> CheckpointConfig:
        self._configuration.set_string(key, str(value))
        return self

    def _set_millis(self, key: str, value: int, least: int = 0) -> CheckpointConfig:
        return self._set(key, f"{_at_least(key, value, least)} ms")


def _at_least(key: str, value: Any, least: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise ProgramError(f"{key} must be a whole number from {least} on, got {value!r}.")


def _member(value: Any, kind: type[CheckpointingMode | ExternalizedCheckpointRetention]) -> str:
    if isinstance(value, kind):
        return value.name
    raise ProgramError(f"{value!r} is not a {kind.__name__}.")
