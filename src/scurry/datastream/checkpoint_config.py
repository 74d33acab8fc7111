"""Settings of checkpoints, as keys of the configuration.

In Scurry the end of every micro-batch is a checkpoint: the interval is the pace of micro-batches,
and there is never more than one under way. Flink's other settings tune barriers that flow between
the records; there are none here, so these settings are kept, can be read again, and change nothing.
"""

from __future__ import annotations

from typing import Any

from scurry.common.configuration import Configuration
from scurry.common.errors import ProgramError
from scurry.common.options import checkpoints
from scurry.common.options.option import Option
from scurry.common.time import Duration
from scurry.datastream.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from scurry.datastream.checkpointing_mode import CheckpointingMode, mode_of
from scurry.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention

__all__ = ["CheckpointConfig"]

#: The least interval in milliseconds that Flink's method takes.
_LEAST_INTERVAL = 10


class CheckpointConfig:
    """The checkpoint settings of an environment."""

    DEFAULT_MODE = CheckpointingMode.EXACTLY_ONCE
    DEFAULT_TIMEOUT = checkpoints.CHECKPOINT_TIMEOUT.default
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS = checkpoints.MIN_PAUSE.default
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS = checkpoints.CONCURRENT_CHECKPOINTS.default

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval was set. Micro-batches are checkpoints either way."""
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode that was set, EXACTLY_ONCE if none was; as in Flink AT_LEAST_ONCE while there is
        no checkpoint interval. What the job promises, with and without an interval, is the mode
        that was set; ``explain()`` tells it."""
        if not self.is_checkpointing_enabled():
            return CheckpointingMode.AT_LEAST_ONCE
        return mode_of(self._configuration)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Say what the job shall promise about its output; see :class:`CheckpointingMode`."""
        return self._set(
            checkpoints.CHECKPOINTING_MODE, _member(checkpointing_mode, CheckpointingMode)
        )

    def get_checkpoint_interval(self) -> int:
        """The interval in milliseconds, -1 if none was set."""
        interval = checkpoints.CHECKPOINT_INTERVAL.read(self._configuration)
        return -1 if interval is None else interval

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Bound how old a checkpoint may get, in milliseconds: a micro-batch that takes longer
        makes the next one smaller. What holds micro-batches back is
        ``scurry.batch.min-interval``."""
        whole = isinstance(checkpoint_interval, int) and not isinstance(checkpoint_interval, bool)
        if whole and 0 < checkpoint_interval < _LEAST_INTERVAL:
            raise ProgramError(
                f"The checkpoint interval must be at least {_LEAST_INTERVAL} milliseconds, got "
                f"{checkpoint_interval}."
            )
        return self._set_number(checkpoints.CHECKPOINT_INTERVAL, checkpoint_interval)

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Say where checkpoints are kept by an object of
        :mod:`scurry.datastream.checkpoint_storage`."""
        if not isinstance(storage, CheckpointStorage):
            raise ProgramError(
                f"set_checkpoint_storage needs a CheckpointStorage, got {storage!r}."
            )
        checkpoints.CHECKPOINT_DIRECTORY.clear(self._configuration)
        path = storage.get_checkpoint_path()
        if path is not None and isinstance(storage, FileSystemCheckpointStorage):
            self.set_checkpoint_storage_dir(path)
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Keep checkpoints in that directory; the same as ``execution.checkpointing.dir``."""
        return self._set(checkpoints.CHECKPOINT_DIRECTORY, checkpoint_path)

    def get_checkpoint_timeout(self) -> int:
        """The timeout in milliseconds."""
        return checkpoints.CHECKPOINT_TIMEOUT.read(self._configuration)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Kept, changes nothing: a micro-batch takes the time it needs."""
        return self._set_number(checkpoints.CHECKPOINT_TIMEOUT, checkpoint_timeout)

    def get_min_pause_between_checkpoints(self) -> int:
        """The pause in milliseconds."""
        return checkpoints.MIN_PAUSE.read(self._configuration)

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Kept, changes nothing: work goes on in checkpoints, not between them."""
        return self._set_number(checkpoints.MIN_PAUSE, min_pause_between_checkpoints)

    def get_max_concurrent_checkpoints(self) -> int:
        """How many may be under way at once."""
        return checkpoints.CONCURRENT_CHECKPOINTS.read(self._configuration)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Kept, changes nothing: micro-batches follow one another."""
        return self._set_number(checkpoints.CONCURRENT_CHECKPOINTS, max_concurrent_checkpoints)

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
        return checkpoints.TOLERABLE_FAILURES.read(self._configuration)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Kept, changes nothing: a micro-batch that fails is run again as the restart strategy
        says."""
        number = tolerable_checkpoint_failure_number
        return self._set_number(checkpoints.TOLERABLE_FAILURES, number)

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Kept, changes nothing; see :class:`ExternalizedCheckpointRetention`."""
        return self._set(
            checkpoints.CHECKPOINT_RETENTION,
            _member(retention_mode, ExternalizedCheckpointRetention),
        )

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """What was asked for."""
        name = checkpoints.CHECKPOINT_RETENTION.read(self._configuration)
        return ExternalizedCheckpointRetention[name]

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints were asked to outlive their job."""
        none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self.get_externalized_checkpoint_retention() is not none

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether unaligned checkpoints were asked for."""
        return checkpoints.UNALIGNED.read(self._configuration)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Kept, changes nothing: there are no barriers to align."""
        return self._set(checkpoints.UNALIGNED, bool(enabled))

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Take :meth:`enable_unaligned_checkpoints` back."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Kept, changes nothing: there are no barriers to align."""
        return self._set_number(
            checkpoints.ALIGNMENT_TIMEOUT, Duration.of(alignment_timeout).to_milliseconds()
        )

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """What was set."""
        return Duration.of_millis(checkpoints.ALIGNMENT_TIMEOUT.read(self._configuration))

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
        return self._set(checkpoints.UNALIGNED_FORCED, bool(force_unaligned_checkpoints))

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether they were forced."""
        return checkpoints.UNALIGNED_FORCED.read(self._configuration)

    def _set(self, option: Option[Any], value: Any) -> CheckpointConfig:
        option.write(self._configuration, value)
        return self

    def _set_number(self, option: Option[Any], value: Any) -> CheckpointConfig:
        if not isinstance(value, int) or isinstance(value, bool) or value < option.least:
            raise ProgramError(
                f"{option.key} must be a whole number from {option.least:g} on, got {value!r}."
            )
        return self._set(option, value)


def _member(value: Any, kind: type[CheckpointingMode | ExternalizedCheckpointRetention]) -> str:
    if isinstance(value, kind):
        return value.name
    raise ProgramError(f"{value!r} is not a {kind.__name__}.")
