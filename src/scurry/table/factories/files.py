"""The connector ``filesystem``: files below a directory."""

from __future__ import annotations

import re

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import RowType
from scurry.common.options.option import Option
from scurry.connectors.files.buckets import BucketAssigner
from scurry.connectors.files.formats import FileFormat
from scurry.connectors.files.rolling import RollingPolicy
from scurry.connectors.files.sink import FileSink, FileSinkBuilder
from scurry.connectors.row_formats.csv import CsvDecoding
from scurry.connectors.tables.file_rows import (
    DEFAULT_PARTITION,
    METADATA,
    AvroRowFiles,
    FileRows,
    PartitionBuckets,
    RowLines,
    RowSegments,
)
from scurry.runtime.expressions.java_regex import java_regex
from scurry.table.factories.column_formats import COLUMN_FORMATS
from scurry.table.factories.contract import (
    ConnectorFactory,
    ScanSource,
    TableContext,
    TableOption,
    TableSink,
    optional,
    taken,
)
from scurry.table.factories.formats import format_of
from scurry.table.factories.simple import SINK_PARALLELISM, parallelism_of

__all__ = ["FilesystemFactory"]

_PATH: Option[str] = Option("path", "string", "", "The directory, or a single file to read.")
_FORMAT: Option[str] = Option(
    "format", "string", "", "The format of the files: one of the formats below."
)
_MONITOR: Option[int | None] = Option(
    "source.monitor-interval",
    "duration",
    None,
    "How often to look for new files; without it the table ends with the files that are there.",
)
_SIZE: Option[int] = Option(
    "sink.rolling-policy.file-size", "memory", 128 << 20, "How large a file grows before the next."
)
_AGE: Option[int] = Option(
    "sink.rolling-policy.rollover-interval", "duration", 1_800_000, "How long a file is written to."
)
_CHECK: Option[int] = Option(
    "sink.rolling-policy.check-interval", "duration", 60_000, "How often age is looked at."
)
_DEFAULT: Option[str] = Option(
    "partition.default-name", "string", DEFAULT_PARTITION, "The partition of rows without a value."
)
_PATTERN: Option[str | None] = Option(
    "source.path.regex-pattern",
    "string",
    None,
    "A regular expression in Java's form that the whole path of a file has to match to be read.",
)
_TAKEN = taken(
    "source.report-statistics",
    "sink.shuffle-by-partition.enable",
    "auto-compaction",
    "compaction.file-size",
    "compaction.parallelism",
)


class FilesystemFactory(ConnectorFactory):
    """Files below a directory."""

    identifier = "filesystem"
    doc = "Files below a directory, partitioned or not; written exactly once."
    options = (
        TableOption(_PATH, required=True),
        TableOption(_FORMAT, required=True),
        *optional(_MONITOR, _SIZE, _AGE, _CHECK, _DEFAULT, _PATTERN, SINK_PARALLELISM, *_TAKEN),
    )
    readable = METADATA
    format_options = ("format",)

    def projects(self, context: TableContext) -> bool:
        return context.read(_FORMAT) in ("csv", "json", "avro", *COLUMN_FORMATS)

    def source(self, context: TableContext) -> ScanSource:
        held, row_type = self._file_columns(context)
        form, changelog = self._reading(context, held)
        metadata = [one.metadata_key or one.name for one in context.metadata]
        source = FileRows(
            form,
            context.read(_PATH),
            row_type,
            context.partition_keys,
            metadata,
            context.read(_MONITOR),
            changelog,
            self._wanted(context),
            context.read(_DEFAULT),
        )
        return ScanSource(source, row_type, changelog)

    def _wanted(self, context: TableContext) -> re.Pattern[str] | None:
        """What the paths of files have to match."""
        pattern = context.read(_PATTERN)
        try:
            return None if pattern is None else java_regex(pattern)
        except re.error as failure:
            raise context.refuse(
                f"the option {_PATTERN.key!r} is {pattern!r}, which is no regular expression: "
                f"{failure}."
            ) from None

    def _file_columns(self, context: TableContext) -> tuple[RowType, RowType]:
        """The columns that are in files, and those of the source."""
        physical = context.physical
        held = RowType([one for one in physical if one.name not in context.partition_keys])
        if not len(held) and context.declared is not None:
            # a query that reads none of the columns in files still needs their rows
            held = RowType(list(self._lines_of(context))[:1])
        known = [(one.name, METADATA[one.metadata_key or one.name]) for one in context.metadata]
        whole = physical
        for name, data_type in known:
            whole = whole.add(name, data_type)
        return held, whole

    def _reading(self, context: TableContext, held: RowType) -> tuple[FileFormat, ChangelogMode]:
        name = context.read(_FORMAT)
        if name in COLUMN_FORMATS:
            COLUMN_FORMATS[name].check(context, held)
            return COLUMN_FORMATS[name].reader(held), ChangelogMode.INSERT_ONLY
        factory, settings = format_of(context, "format", COLUMN_FORMATS)
        if name == "avro":
            return AvroRowFiles(held), ChangelogMode.INSERT_ONLY
        if name == "csv" and context.declared is not None:
            decoding = factory.decoding(self._lines_of(context), settings)
            assert isinstance(decoding, CsvDecoding)
            return RowLines(decoding.projected(held.field_names())), decoding.changelog
        decoding = factory.decoding(held, settings)
        return RowLines(decoding), decoding.changelog

    def _lines_of(self, context: TableContext) -> RowType:
        """All fields of a line, of which a query may read some."""
        assert context.declared is not None
        whole = context.declared.to_physical_row_data_type()
        return RowType([one for one in whole if one.name not in context.partition_keys])

    def sink(self, context: TableContext) -> TableSink:
        row_type = context.schema.to_sink_row_data_type()
        held = RowType([one for one in row_type if one.name not in context.partition_keys])
        assigner = BucketAssigner.base_path_bucket_assigner()
        if context.partition_keys:
            assigner = PartitionBuckets(context.partition_keys, context.read(_DEFAULT))
        segments = self._writing(context, held)
        policy: RollingPolicy = RollingPolicy.default_rolling_policy(
            context.read(_SIZE), context.read(_AGE)
        )
        if context.read(_FORMAT) in ("avro", *COLUMN_FORMATS):
            policy = RollingPolicy.on_checkpoint_rolling_policy()
        builder = FileSinkBuilder(context.read(_PATH), segments, policy, FileSink)
        built = builder.with_bucket_assigner(assigner)
        sink = built.with_bucket_check_interval(context.read(_CHECK)).build()
        parallelism = parallelism_of(context)
        sink.insertions_only = True
        return TableSink(sink, row_type, ChangelogMode.INSERT_ONLY, parallelism=parallelism)

    def _writing(self, context: TableContext, held: RowType) -> RowSegments:
        names = held.field_names()
        columns = COLUMN_FORMATS.get(context.read(_FORMAT))
        if columns is not None:
            columns.check(context, held)
            return RowSegments(names, None, columns.writer(columns.settings(context)))
        factory, settings = format_of(context, "format", COLUMN_FORMATS)
        encoding = factory.encoding(held, settings)
        if encoding.changelog is not ChangelogMode.INSERT_ONLY:
            raise context.refuse(
                f"files of the format {factory.identifier!r} can be read and not be written; take "
                "the connector 'kafka' for changelogs."
            )
        if factory.identifier == "avro":
            from scurry.connectors.tables.avro_segments import AvroSegments

            return RowSegments(names, None, AvroSegments(held))
        return RowSegments(names, encoding)
