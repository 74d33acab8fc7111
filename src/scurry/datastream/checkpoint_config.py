"""Settings of checkpoints, as an object over the environment's configuration.

In Scurry every micro-batch is a checkpoint. Settings that only make sense where checkpoints run
beside the processing (alignment, timeouts, concurrency) do not exist here.
"""

from __future__ import annotations

from scurry.common.configuration import Configuration
from scurry.common.errors import ProgramError
from scurry.datastream import options
from scurry.datastream.checkpointing_mode import CheckpointingMode, mode_of


class CheckpointConfig:
    """How often a job commits and what it promises."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        """Whether the job can be resumed after its driver has ended: whether it has a directory to
        keep its checkpoints in."""
        keys = (options.CHECKPOINT_DIR, "state.checkpoints.dir")
        return any(self._configuration.get_string(key, "") for key in keys)

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """What the job promises about its output."""
        return mode_of(self._configuration)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Say what the job shall promise about its output."""
        if not isinstance(checkpointing_mode, CheckpointingMode):
            raise ProgramError(
                f"set_checkpointing_mode needs a CheckpointingMode, got {checkpointing_mode!r}."
            )
        self._configuration.set_string(options.CHECKPOINTING_MODE, checkpointing_mode.name)
        return self

    def get_checkpoint_interval(self) -> int:
        """The least time between the starts of two micro-batches in milliseconds, -1 if none was
        set and they follow at once."""
        return int(self._configuration.get_duration(options.BATCH_INTERVAL, -1))

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set the least time between the starts of two micro-batches, in milliseconds."""
        self._configuration.set_string(options.BATCH_INTERVAL, f"{checkpoint_interval} ms")
        return self
