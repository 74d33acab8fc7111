"""`FileSink`: records into part files, exactly once.

Readers see complete part files only, each record in exactly one of them, also after a crash of
driver or workers: see :mod:`scurry.connectors.files.committer`.
"""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from scurry.common.errors import ProgramError
from scurry.common.serialization import BulkWriterFactory, Encoder, SegmentWriter
from scurry.common.type_information import TypeInformation
from scurry.connectors.files.buckets import BucketAssigner
from scurry.connectors.files.committer import FileCommitter, Segment, hidden_root
from scurry.connectors.files.compaction import FileCompactor, FileCompactStrategy
from scurry.connectors.files.listing import local_path
from scurry.connectors.files.rolling import (
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from scurry.connectors.files.writers import EncoderFactory
from scurry.functions.history import Mark
from scurry.functions.sink import (
    CommitterContext,
    Records,
    Sink,
    SinkWriter,
    WriterContext,
)

_CHECK_INTERVAL = 60_000


class FileSink(Sink):
    """Writes records to files below a path; made with :meth:`for_row_format` or
    :meth:`for_bulk_format`."""

    keeps_back = "records of part files that are not complete yet"
    #: one class does for all formats
    BaseBuilder: ClassVar[type[FileSinkBuilder]]
    RowFormatBuilder: ClassVar[type[FileSinkBuilder]]
    BulkFormatBuilder: ClassVar[type[FileSinkBuilder]]

    def __init__(
        self,
        base_path: str,
        factory: BulkWriterFactory,
        assigner: BucketAssigner,
        policy: RollingPolicy,
        names: OutputFileConfig,
        check_interval: int = _CHECK_INTERVAL,
        joins: bool = True,
    ) -> None:
        self._base = Path(local_path(base_path))
        self._factory = factory
        self.columnar = factory.columnar
        self._assigner = assigner
        self._policy = policy
        self._names = names
        self._check_interval = check_interval
        self._joins = joins
        self._run = f"run-{uuid.uuid4().hex}"
        self._committer: FileCommitter | None = None
        self._ended = threading.Event()

    @classmethod
    def for_row_format(cls, base_path: str, encoder: Encoder) -> FileSinkBuilder:
        """Write records one after the other, as ``encoder`` says."""
        policy = RollingPolicy.default_rolling_policy()
        return cls.BaseBuilder(base_path, EncoderFactory(encoder), policy, cls)

    @classmethod
    def for_bulk_format(cls, base_path: str, writer_factory: BulkWriterFactory) -> FileSinkBuilder:
        """Write files such as Parquet, whose records belong together."""
        if not isinstance(writer_factory, BulkWriterFactory):
            raise ProgramError(
                "for_bulk_format needs a writer factory such as ParquetBulkWriters.for_row_type(), "
                f"got {writer_factory!r}."
            )
        policy = RollingPolicy.on_checkpoint_rolling_policy()
        return cls.BaseBuilder(base_path, writer_factory, policy, cls)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_committer": None, "_ended": None}

    def take_type(self, declared: TypeInformation | None) -> None:
        self._factory = self._factory.for_type(declared)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _FileWriter(self._base, self._run, self._factory, self._assigner)

    def start(self, context: CommitterContext) -> None:
        self._ended.set()
        self._committer = FileCommitter(
            self._base, context, self._factory, self._policy, self._names, self._run, self._joins
        )
        self._ended = threading.Event()
        if not isinstance(self._policy, OnCheckpointRollingPolicy):
            threading.Thread(
                target=self._check, args=(self._committer, self._ended), daemon=True
            ).start()

    def _check(self, committer: FileCommitter, ended: threading.Event) -> None:
        """Publish parts that are due although no micro-batch comes."""
        while not ended.wait(self._check_interval / 1000):
            committer.roll()

    def committed_mark(self) -> Mark | None:
        assert self._committer is not None
        return self._committer.mark

    def why_not_truncate(self) -> str:
        return ""

    def truncate(self) -> None:
        assert self._committer is not None
        self._committer.truncate()

    def accept(self, mark: Mark) -> None:
        assert self._committer is not None
        self._committer.accept(mark)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        assert self._committer is not None
        segments: list[Segment] = [segment for message in messages for segment in message]
        self._committer.commit(batch_id, segments)

    def recover(self, batch_id: int) -> None:
        assert self._committer is not None
        self._committer.recover()

    def close(self) -> None:
        self._ended.set()
        if self._committer is not None:
            self._committer.close()


class _FileWriter(SinkWriter):
    """Writes a segment for each bucket that gets records in a micro-batch."""

    def __init__(
        self, base: Path, run: str, factory: BulkWriterFactory, assigner: BucketAssigner
    ) -> None:
        self._run = run
        self._directory = hidden_root(base) / run
        self._factory = factory
        self._assigner = assigner
        self._open: dict[str, tuple[str, SegmentWriter]] = {}

    def write(self, rows: list[Any]) -> None:
        raise AssertionError("this writer is given records with their columns: write_records")

    def write_records(self, records: Records, now: int) -> None:
        columns = records.columns if self._factory.columnar else None
        rows = [] if columns is not None else records.rows
        count = len(rows) if columns is None else columns.num_rows
        if not count:
            return
        try:
            for bucket, places in self._assigner.assign(records, count, now):
                writer = self._writer(bucket)
                if places is None:
                    writer.write(rows, columns)
                elif columns is not None:
                    writer.write([], columns.take(pa.array(places)))
                else:
                    writer.write([rows[at] for at in places.tolist()], None)
        except BaseException:
            self.close()
            raise

    def _writer(self, bucket: str) -> SegmentWriter:
        if bucket not in self._open:
            if not self._directory.exists():
                raise ProgramError(
                    f"The directory {str(self._directory)!r}, which the driver has made, is not "
                    "there. The path of a FileSink must be on a file system that driver and "
                    "workers share."
                )
            name = uuid.uuid4().hex
            writer = self._factory.create(str(self._directory / name))
            self._open[bucket] = (name, writer)
        return self._open[bucket][1]

    def prepare(self) -> Any:
        segments: list[Segment] = []
        for bucket, (name, writer) in self._open.items():
            writer.close()
            with (self._directory / name).open("rb") as file:
                os.fsync(file.fileno())
                size = os.fstat(file.fileno()).st_size
            segments.append((bucket, f"{self._run}/{name}", size))
        self._open = {}
        return segments or None

    def close(self) -> None:
        """Throw away what was not prepared."""
        for name, writer in self._open.values():
            with contextlib.suppress(Exception):
                writer.close()
            (self._directory / name).unlink(missing_ok=True)
        self._open = {}


class FileSinkBuilder:
    """Gathers the settings of a :class:`FileSink`."""

    def __init__(
        self,
        base_path: str,
        factory: BulkWriterFactory,
        policy: RollingPolicy,
        kind: type[FileSink] = FileSink,
    ) -> None:
        self._kind = kind
        self._compact: tuple[FileCompactStrategy, FileCompactor] | None = None
        self._base_path = base_path
        self._factory = factory
        self._policy = policy
        self._assigner = BucketAssigner.date_time_bucket_assigner()
        self._names = OutputFileConfig()
        self._check_interval = _CHECK_INTERVAL

    def with_bucket_check_interval(self, interval: int) -> FileSinkBuilder:
        """How often, in milliseconds, to look for parts that are finished by time alone."""
        if interval <= 0:
            raise ProgramError(f"with_bucket_check_interval must be positive, got {interval}.")
        self._check_interval = interval
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> FileSinkBuilder:
        """Which directory a record goes to; by default that of the hour in which it is written."""
        self._assigner = bucket_assigner
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSinkBuilder:
        """When a part file is finished."""
        if not isinstance(rolling_policy, RollingPolicy):
            raise ProgramError(
                "with_rolling_policy needs a RollingPolicy such as "
                f"RollingPolicy.default_rolling_policy(), got {rolling_policy!r}."
            )
        self._policy = rolling_policy
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> FileSinkBuilder:
        """What part files are called."""
        self._names = output_file_config
        return self

    def enable_compact(
        self, strategy: FileCompactStrategy, compactor: FileCompactor
    ) -> FileSinkBuilder:
        """Join the files of several micro-batches before readers see them; ``strategy`` then says
        when, in place of a rolling policy."""
        if not isinstance(strategy, FileCompactStrategy) or not isinstance(
            compactor, FileCompactor
        ):
            raise ProgramError(
                "enable_compact needs a FileCompactStrategy and a FileCompactor, got "
                f"{strategy!r} and {compactor!r}."
            )
        self._compact = (strategy, compactor)
        return self

    def disable_compact(self) -> FileSinkBuilder:
        """Leave files as the rolling policy makes them."""
        self._compact = None
        return self

    def build(self) -> FileSink:
        """The finished sink."""
        factory, policy, joins = self._factory, self._policy, True
        if self._compact is not None:
            policy, compactor = self._compact
            factory, joins = compactor.applied_to(factory), compactor.joins
        return self._kind(
            self._base_path,
            factory,
            self._assigner,
            policy,
            self._names,
            self._check_interval,
            joins,
        )


FileSink.BaseBuilder = FileSink.RowFormatBuilder = FileSink.BulkFormatBuilder = FileSinkBuilder


class StreamingFileSinkBuilder(FileSinkBuilder):
    """Gathers the settings of a :class:`StreamingFileSink`."""

    def with_rolling_policy(self, policy: RollingPolicy) -> FileSinkBuilder:
        """When a part file is finished."""
        return super().with_rolling_policy(policy)


class StreamingFileSink(FileSink):
    """The older name of :class:`FileSink`, for ``add_sink``."""

    BaseBuilder = StreamingFileSinkBuilder
    DefaultRowFormatBuilder = StreamingFileSinkBuilder
    DefaultBulkFormatBuilder = StreamingFileSinkBuilder
