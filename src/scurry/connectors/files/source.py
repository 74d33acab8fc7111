"""`FileSource`: the records of files, bounded or for as long as files appear.

Exactly once: a position is a file and a place in it, every micro-batch reads pieces that were
written down before, and a piece always gives the same records.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator
from typing import Any

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ProgramError
from scurry.common.time import Duration
from scurry.common.type_information import TypeInformation
from scurry.connectors.files.enumerators import MonitoredFiles, StaticFiles
from scurry.connectors.files.formats import BulkFormat, FileFormat, StreamFormat
from scurry.connectors.files.listing import local_path
from scurry.functions.dead_letters import DEAD_LETTERS
from scurry.functions.source import Json, Source, SourceBatch, SourceEnumerator

#: Files beyond this many bytes are read in parts, side by side.
SPLIT_BYTES = 64 << 20


class FileEnumeratorProvider:
    """Whether a large file is read in parts, side by side, or by one task from start to end."""

    def __init__(self, splits: bool) -> None:
        self.splits = splits

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Parts of a file are read side by side, where the format allows it."""
        return FileEnumeratorProvider(True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """The records of a file stay in order."""
        return FileEnumeratorProvider(False)


class FileSplitAssignerProvider:
    """Which task reads what: with Spark every task reaches every file at the same cost."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """The only one there is."""
        return FileSplitAssignerProvider()


class FileSource(Source):
    """Reads files; made with :meth:`for_record_stream_format` or :meth:`for_bulk_file_format`."""

    def __init__(
        self,
        form: FileFormat,
        paths: tuple[str, ...],
        interval_ms: int | None = None,
        split_size: int | None = SPLIT_BYTES,
        rejects: bool = False,
    ) -> None:
        if not paths:
            raise ProgramError("A file source needs at least one path.")
        self._format = copy.copy(form)
        self._format.rejects = rejects
        self.columnar = form.columnar
        self.changelog = ChangelogMode.INSERT_ONLY if form.columnar else None
        if rejects:
            self.side_outputs = (DEAD_LETTERS,)
        self._roots = [local_path(path) for path in paths]
        for root in self._roots:
            if not os.path.exists(root):
                raise ProgramError(
                    f"FileSource: there is no file or directory {root!r}. Check the path; it must "
                    "exist on the driver and on every worker."
                )
        self._interval_ms = interval_ms
        self._split_size = split_size
        #: what the whole paths of the files match that are read, None for all files
        self._wanted: re.Pattern[str] | None = None
        self.bounded = interval_ms is None
        self.as_tuples = form.as_tuples

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Read files of a format that is a stream of records, such as lines."""
        return FileSourceBuilder(_checked(stream_format, StreamFormat), paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """Read files of a format that holds many records together, such as Parquet."""
        return FileSourceBuilder(_checked(bulk_format, BulkFormat), paths)

    @property
    def type_info(self) -> TypeInformation | None:
        return self._format.type_info

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        if self._interval_ms is None:
            return StaticFiles(
                self._roots, self._format, parallelism, self._split_size, self._wanted
            )
        return MonitoredFiles(
            self._roots, self._format, parallelism, self._interval_ms, self._wanted
        )

    def read(self, what: Json) -> Iterator[SourceBatch]:
        path, start, end = what
        return self._format.read(path, start, end)


class FileSourceBuilder:
    """Gathers the settings of a :class:`FileSource`."""

    def __init__(self, form: FileFormat, paths: tuple[str, ...]) -> None:
        self._format = form
        self._paths = paths
        self._interval_ms: int | None = None
        self._split_size: int | None = SPLIT_BYTES
        self._rejects = False

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Look for new files, and for more in known ones, every so often; the source never ends."""
        if not isinstance(discovery_interval, Duration):
            raise ProgramError(
                "monitor_continuously takes a Duration such as Duration.of_seconds(1), got "
                f"{discovery_interval!r}."
            )
        self._interval_ms = discovery_interval.to_milliseconds()
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job first starts, and end (the default)."""
        self._interval_ms = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Choose whether large files are read in parts."""
        self._split_size = SPLIT_BYTES if file_enumerator.splits else None
        return self

    def set_split_size(self, split_size: int) -> FileSourceBuilder:
        """Read files beyond so many bytes in parts of about that size."""
        if split_size < 1:
            raise ProgramError(f"set_split_size takes a number of bytes, got {split_size!r}.")
        self._split_size = split_size
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Taken for the sake of programs that give one; there is only one kind."""
        return self

    def set_bad_records(self, policy: str) -> FileSourceBuilder:
        """What becomes of a line that cannot be decoded: ``"fail"`` ends the job, which is what
        happens unless told otherwise; ``"dead-letter"`` sends it, as a :class:`FileDeadLetter`, to
        the side output ``DEAD_LETTERS``."""
        if policy not in ("fail", "dead-letter"):
            raise ProgramError(f"set_bad_records takes 'fail' or 'dead-letter', got {policy!r}.")
        if policy == "dead-letter" and isinstance(self._format, BulkFormat):
            raise ProgramError(
                "set_bad_records('dead-letter'): in Parquet and Avro files a damaged block has no "
                "records that could be told apart; such files end the job."
            )
        self._rejects = policy == "dead-letter"
        return self

    def build(self) -> FileSource:
        """The finished source."""
        return FileSource(
            self._format, self._paths, self._interval_ms, self._split_size, self._rejects
        )


def _checked(form: Any, kind: Any) -> FileFormat:
    if not isinstance(form, kind):
        other = "for_bulk_file_format" if kind is StreamFormat else "for_record_stream_format"
        hint = f" Use FileSource.{other} for it." if isinstance(form, FileFormat) else ""
        raise ProgramError(f"FileSource: {form!r} is not a {kind.__name__}.{hint}")
    checked: FileFormat = form
    return checked
