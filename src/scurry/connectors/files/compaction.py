"""Compaction: files of several micro-batches become one before readers see them.

A file sink shows a part file only when it is complete, so to compact is to wait longer: what the
tasks wrote stays hidden until there is enough of it, and is then joined (:class:`FileCompactor`).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from scurry.common.errors import ProgramError
from scurry.common.serialization import BulkWriterFactory
from scurry.connectors.files.rolling import RollingPolicy
from scurry.connectors.files.writers import EncoderFactory


@dataclass(frozen=True)
class FileCompactStrategy(RollingPolicy):
    """Files are joined when they reach ``part_size`` bytes together, or after ``batches``
    micro-batches, whichever comes first; -1 stands for never."""

    part_size: int = -1
    rollover_interval: int = -1
    inactivity_interval: int = -1
    batches: int = -1

    def __post_init__(self) -> None:
        if self.part_size <= 0 and self.batches <= 0:
            raise ProgramError(
                "FileCompactStrategy: say when files are joined, with set_size_threshold(bytes) "
                "or enable_compaction_on_checkpoint(number), or with both."
            )

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Begin with neither a size nor a number of micro-batches."""
        return FileCompactStrategy.Builder()

    def is_due(self, size: int, created: int, changed: int, now: int, batches: int = 1) -> bool:
        return 0 < self.part_size <= size or 0 < self.batches <= batches

    class Builder:
        """Gathers the settings of a :class:`FileCompactStrategy`."""

        def __init__(self) -> None:
            self._size = -1
            self._batches = -1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Join files every so many micro-batches."""
            if num_checkpoints_before_compaction < 1:
                raise ProgramError(
                    "enable_compaction_on_checkpoint needs a number from 1, got "
                    f"{num_checkpoints_before_compaction}."
                )
            self._batches = num_checkpoints_before_compaction
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Join files as soon as they have that many bytes together."""
            self._size = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Accepted for PyFlink's sake: the driver joins files, one after the other."""
            return self

        def build(self) -> FileCompactStrategy:
            """The finished strategy."""
            return FileCompactStrategy(part_size=self._size, batches=self._batches)


@dataclass(frozen=True)
class FileCompactor:
    """How several files become one."""

    joins: bool = True
    delimiter: bytes = b""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """One behind the other, with the delimiter between them; bulk formats such as Parquet are
        joined as the format demands, and take no delimiter."""
        return FileCompactor(delimiter=file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Each file by itself, as it is."""
        return FileCompactor(joins=False)

    def applied_to(self, factory: BulkWriterFactory) -> BulkWriterFactory:
        """The same format, with files joined this way."""
        if not self.delimiter:
            return factory
        if not isinstance(factory, EncoderFactory):
            raise ProgramError(
                "concat_file_compactor takes a delimiter only for row formats: it would break "
                f"files of {type(factory).__name__.strip('_')}. Leave it out."
            )
        made = copy.copy(factory)
        made.delimiter = self.delimiter
        return made
