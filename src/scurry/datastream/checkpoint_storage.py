"""Checkpoint storages: objects that say where checkpoints are kept.

``env.get_checkpoint_config().set_checkpoint_storage`` takes one. The path of a
:class:`FileSystemCheckpointStorage` becomes ``execution.checkpointing.dir``; a
:class:`JobManagerCheckpointStorage` has no directory, so the job starts from nothing each time.
"""

from __future__ import annotations

from abc import ABC
from urllib.parse import urlparse

from scurry.common.errors import ProgramError
from scurry.common.unavailable import unavailable

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]


class CheckpointStorage(ABC):  # noqa: B024
    """What all storages have in common."""

    def get_checkpoint_path(self) -> str | None:
        """The directory of checkpoints, if there is one."""
        return None

    def get_savepoint_path(self) -> str | None:
        """The directory of savepoints; neither storage is told one."""
        return None


class JobManagerCheckpointStorage(CheckpointStorage):
    """Flink keeps checkpoints in the memory of its job manager; Scurry in a temporary directory
    that goes with the job."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        self._path = None if checkpoint_path is None else _with_scheme(checkpoint_path)
        size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        if size <= 0:
            raise ProgramError(f"max_state_size is {size}; it must be greater than zero.")
        self._max_state_size = size

    def get_checkpoint_path(self) -> str | None:
        """The path that was given for metadata."""
        return self._path

    def get_max_state_size(self) -> int:
        """The largest state in bytes; it bounds nothing here."""
        return self._max_state_size

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage(max state size: {self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints are kept in a directory, which is given with its scheme: ``file:///data/job``."""

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024
    _THRESHOLD = 20 * 1024
    _BUFFER = 4096

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if checkpoint_path is None:
            raise ProgramError("FileSystemCheckpointStorage needs a checkpoint_path, got None.")
        self._path = _with_scheme(checkpoint_path)
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise ProgramError(
                f"file_state_size_threshold is {threshold}; it must be from 0 to "
                f"{self.MAX_FILE_STATE_THRESHOLD}, or -1 for the default."
            )
        if write_buffer_size < -1:
            raise ProgramError(
                f"write_buffer_size is {write_buffer_size}; it must be 0 or more, or -1 for the "
                "default."
            )
        self._threshold = self._THRESHOLD if threshold < 0 else threshold
        self._buffer = self._BUFFER if write_buffer_size < 0 else write_buffer_size

    def get_checkpoint_path(self) -> str:
        """The directory of checkpoints."""
        return self._path

    def get_min_file_size_threshold(self) -> int:
        """The size in bytes below which Flink makes no file; ``scurry.state.files-above`` is
        Scurry's."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """The size in bytes of Flink's write buffer."""
        return self._buffer

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage({self._path})"


class CustomCheckpointStorage(CheckpointStorage):
    """A storage in Java, which Scurry cannot load."""

    __init__ = unavailable(
        "CustomCheckpointStorage", "it wraps a Java object; set execution.checkpointing.dir"
    )


def _with_scheme(path: str) -> str:
    """The path as Flink writes it; without a scheme it is refused, as Flink refuses it."""
    parsed = urlparse(path)
    if not path:
        raise ProgramError("The checkpoint path is empty.")
    if not parsed.scheme:
        raise ProgramError(
            f"The checkpoint path {path!r} has no scheme: write file:///data/job, for instance."
        )
    return f"{parsed.scheme}:{parsed.path}" if not parsed.netloc else path
