"""The part of an environment that is settings only: setters and getters of its configuration.

Some tune what Flink has and Spark has not. A program may set them: they are kept, can be read
again, and change nothing; each says why.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar, TypeVar

from scurry.common.configuration import Configuration
from scurry.common.errors import ProgramError
from scurry.common.options import kept, python
from scurry.common.options.checkpoints import RECOVERY_PATH, SAVEPOINT_DIRECTORY
from scurry.common.options.execution import CHAINING
from scurry.common.options.option import Option
from scurry.common.options.state import CHANGELOG, STATE_BACKEND
from scurry.datastream.checkpoint_config import CheckpointConfig
from scurry.datastream.checkpointing_mode import CheckpointingMode
from scurry.datastream.slot_sharing_group import SlotSharingGroup
from scurry.datastream.state_backend import StateBackend

E = TypeVar("E", bound="JobSettings")


class JobSettings:
    """Settings of the jobs of an environment."""

    _configuration: Configuration
    _default_local_parallelism: ClassVar[int] = 0
    _state_backend: StateBackend | None = None
    _slot_sharing_groups: dict[str, SlotSharingGroup]

    def get_checkpoint_config(self) -> CheckpointConfig:
        """The settings of checkpoints; what is set there holds here."""
        return CheckpointConfig(self._configuration)

    def enable_checkpointing(self: E, interval: int, mode: CheckpointingMode | None = None) -> E:
        """Take a checkpoint every ``interval`` milliseconds, at the least. In Scurry every
        micro-batch is one and they follow one another at once, so this bounds how long one may
        take and delays none; where it is stored is ``execution.checkpointing.dir``."""
        config = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """The interval in milliseconds, -1 if none was set."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode that was asked for."""
        return self.get_checkpoint_config().get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Another name of :meth:`get_checkpointing_mode`."""
        return self.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether unaligned checkpoints were asked for; see :class:`CheckpointConfig`."""
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether they were forced."""
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def set_state_backend(self: E, state_backend: StateBackend) -> E:
        """Choose where the working copy of state lives, by an object of
        :mod:`scurry.datastream.state_backend`; the same as ``state.backend.type``."""
        if not isinstance(state_backend, StateBackend):
            raise ProgramError(f"set_state_backend needs a StateBackend, got {state_backend!r}.")
        self._state_backend = state_backend
        STATE_BACKEND.write(self._configuration, state_backend.setting)
        return self

    def get_state_backend(self) -> StateBackend | None:
        """The object that was set, if one was."""
        return self._state_backend

    def set_default_savepoint_directory(self: E, directory: str) -> E:
        """Where savepoints are written of which nobody says where."""
        SAVEPOINT_DIRECTORY.write(self._configuration, directory)
        return self

    def from_savepoint(self: E, path: str) -> E:
        """Have the jobs of this environment start from the savepoint in ``path``, as ``scurry run
        --from-savepoint`` does. A job whose checkpoint directory holds a checkpoint that began with
        this savepoint goes on with that."""
        RECOVERY_PATH.write(self._configuration, path)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """What was set, as Flink writes paths: ``file:/savepoints``."""
        path = SAVEPOINT_DIRECTORY.read(self._configuration)
        return path.replace(":///", ":/", 1) if path else path

    def register_slot_sharing_group(self: E, slot_sharing_group: SlotSharingGroup) -> E:
        """Give the group of a name its resources. Spark places tasks, so they have no effect."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise ProgramError(
                f"register_slot_sharing_group needs a SlotSharingGroup, got {slot_sharing_group!r}."
            )
        self._slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    def enable_changelog_state_backend(self: E, enabled: bool) -> E:
        """Kept, changes nothing: state is always stored as a log of changes."""
        CHANGELOG.write(self._configuration, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """What was set; None if nothing was."""
        return CHANGELOG.read(self._configuration)

    def set_buffer_timeout(self: E, timeout_millis: int) -> E:
        """Kept, changes nothing: operators hand on whole batches, with no buffers between them."""
        if not isinstance(timeout_millis, int) or timeout_millis < -1:
            raise ProgramError(
                f"The buffer timeout must be milliseconds from 0 on, or -1, got {timeout_millis!r}."
            )
        if timeout_millis < 0:
            kept.BUFFER_TIMEOUT_ENABLED.write(self._configuration, False)
        else:
            kept.BUFFER_TIMEOUT.write(self._configuration, timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """The timeout in milliseconds; -1 if it was turned off."""
        if not kept.BUFFER_TIMEOUT_ENABLED.read(self._configuration):
            return -1
        return kept.BUFFER_TIMEOUT.read(self._configuration)

    def disable_operator_chaining(self: E) -> E:
        """Give each operator a stage of its own."""
        CHAINING.write(self._configuration, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether operators share a task with what feeds them where they can."""
        return CHAINING.read(self._configuration)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Always: key groups are a matter of the whole job, so they do not stand between
        operators."""
        return True

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """The parallelism of all environments of this process that do not set one."""
        if not isinstance(parallelism, int) or parallelism < 1:
            raise ProgramError(
                f"The default parallelism must be a whole number from 1 on, got {parallelism!r}."
            )
        JobSettings._default_local_parallelism = parallelism

    def get_default_local_parallelism(self) -> int:
        """What was set, or the number of cores of this machine."""
        return self._default_local_parallelism or os.cpu_count() or 1

    def add_python_file(self, file_path: str) -> None:
        """Let workers import a Python file, package directory or zip."""
        _existing("add_python_file", file_path)
        self._append(python.PYTHON_FILES, file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Let workers find an archive unpacked: in the directory ``target_dir``, or one with the
        archive's own name, below their working directory."""
        _existing("add_python_archive", archive_path)
        suffix = "" if target_dir is None else f"#{target_dir}"
        self._append(python.PYTHON_ARCHIVES, archive_path + suffix)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Let workers import the packages that a requirements file names. They are installed on
        the driver and sent along; with a directory of packages, nothing is downloaded."""
        _existing("set_python_requirements", requirements_file_path)
        value = requirements_file_path
        if requirements_cache_dir is not None:
            _existing("set_python_requirements", requirements_cache_dir)
            value += f"#{requirements_cache_dir}"
        python.PYTHON_REQUIREMENTS.write(self._configuration, value)

    def set_python_executable(self, python_exec: str) -> None:
        """Let workers run another interpreter: a path that exists on every machine, of this
        interpreter's version, with Scurry and PySpark installed. It stays for later jobs of the
        session."""
        python.PYTHON_EXECUTABLE.write(self._configuration, python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Kept, has no effect: Scurry runs no Java code of yours, and its connectors need no
        archives. What Spark itself shall load is ``spark.jars``."""
        self._append(kept.JARS, *jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        """Kept, has no effect: Scurry runs no Java code of yours."""
        self._append(kept.CLASSPATHS, *classpaths)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Kept, has no effect: in Flink only Java functions can ask for such a file. For Python
        functions there are :meth:`add_python_file` and :meth:`add_python_archive`."""
        entry = f"name:{name},path:{file_path}" + (",executable:true" if executable else "")
        known = kept.CACHED_FILES.read(self._configuration)
        kept.CACHED_FILES.write(self._configuration, f"{known};{entry}" if known else entry)

    def _append(self, option: Option[tuple[str, ...]], *items: str) -> None:
        option.write(self._configuration, (*option.read(self._configuration), *items))


def _existing(method: str, path: str) -> None:
    if not Path(path).exists():
        raise ProgramError(f"{method}: {path!r} does not exist.")
