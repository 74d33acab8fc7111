"""State backends: objects that say where the working copy of state lives.

``env.set_state_backend`` takes one and sets ``state.backend.type``: a :class:`HashMapStateBackend`
means memory, an :class:`EmbeddedRocksDBStateBackend` disk. What tunes RocksDB is kept and can be
read again; Scurry's local store is not RocksDB.
"""

from __future__ import annotations

import enum
from abc import ABC
from typing import ClassVar
from urllib.parse import urlparse

from scurry.common.errors import ProgramError
from scurry.common.unavailable import unavailable

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


class StateBackend(ABC):  # noqa: B024
    """What all backends have in common."""

    #: the value of ``state.backend.type`` that the backend stands for
    setting: ClassVar[str] = ""


class HashMapStateBackend(StateBackend):
    """The working copy of state is in the memory of the worker."""

    setting = "memory"

    def __init__(self) -> None:
        super().__init__()

    def __str__(self) -> str:
        return "HashMapStateBackend"


class PredefinedOptions(enum.Enum):
    """Flink's sets of options for RocksDB; they have no effect here."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """The working copy of state is on the worker's disk; what tunes RocksDB has no effect."""

    setting = "disk"

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise ProgramError(
                "enable_incremental_checkpointing is None, True or False, got "
                f"{enable_incremental_checkpointing!r}."
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: list[str] = []
        self._predefined = PredefinedOptions.DEFAULT
        self._options: str | None = None
        self._threads = 4

    def set_db_storage_paths(self, *paths: str) -> None:
        """Keep the directories of RocksDB, which are absolute and local; none at all unsets them.
        The directory of Scurry's local store is ``scurry.state.local-dir``."""
        self._paths = [_local(path) for path in paths]

    def get_db_storage_paths(self) -> list[str]:
        """What was set; no directories if nothing was."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """What was asked for; checkpoints are always incremental here."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Keep a set of options for RocksDB."""
        if not isinstance(options, PredefinedOptions):
            raise ProgramError(f"set_predefined_options needs PredefinedOptions, got {options!r}.")
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """What was set."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Keep the name of a Java class that makes options for RocksDB; it is not loaded."""
        self._options = options_factory_class_name

    def get_options(self) -> str | None:
        """The name that was set."""
        return self._options

    def get_number_of_transfer_threads(self) -> int:
        """What was set; 4 if nothing was, as in Flink."""
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Keep the number of threads that carry files, which is positive."""
        if number_of_transfering_threads < 1:
            raise ProgramError(
                f"The number of transfer threads is {number_of_transfering_threads}; it must be "
                "greater than zero."
            )
        self._threads = number_of_transfering_threads

    def __str__(self) -> str:
        return (
            f"EmbeddedRocksDBStateBackend(paths={self._paths}, incremental={self._incremental}, "
            f"transfer threads={self._threads})"
        )


def _local(path: str) -> str:
    parsed = urlparse(path)
    if parsed.scheme not in ("", "file"):
        raise ProgramError(f"{path!r} cannot be a directory of the state backend: it is not local.")
    if not parsed.path.startswith("/"):
        raise ProgramError(f"{path!r} cannot be a directory of the state backend: it is relative.")
    return parsed.path


class CustomStateBackend(StateBackend):
    """A backend in Java, which Scurry cannot load."""

    __init__ = unavailable(
        "CustomStateBackend", "it wraps a Java object; set state.backend.type to disk or memory"
    )
