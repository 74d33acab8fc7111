"""Formats whose files hold columns: ``parquet`` and ``orc``. Only tables of files have them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from scurry.common.configuration import Configuration
from scurry.common.data_types import (
    DataType,
    DayTimeIntervalType,
    RowType,
    TimeType,
    YearMonthIntervalType,
)
from scurry.common.options.option import Option
from scurry.common.serialization import BulkWriterFactory
from scurry.connectors.files.columnar_writers import OrcBulkWriters, ParquetBulkWriters
from scurry.connectors.files.formats import FileFormat
from scurry.connectors.files.orc_format import OrcColumns
from scurry.connectors.tables.file_rows import parquet_rows
from scurry.table.factories.contract import TableContext, TableOption, check_options, prefixed

__all__ = ["COLUMN_FORMATS", "ColumnFormatFactory"]


class ColumnFormatFactory(ABC):
    """Makes what reads and what writes files of columns. Options are named without the format."""

    identifier: str
    doc: str
    options: Sequence[TableOption]
    #: types of columns that such files cannot hold
    unknown: tuple[type[DataType], ...] = ()

    @abstractmethod
    def reader(self, row_type: RowType) -> FileFormat:
        """What reads files."""

    @abstractmethod
    def writer(self, settings: Configuration) -> BulkWriterFactory:
        """What writes files."""

    def check(self, context: TableContext, held: RowType) -> None:
        """Refuse options that the format does not know, and columns that it cannot hold."""
        self.settings(context)
        for field in held:
            if isinstance(field.data_type, self.unknown):
                raise context.refuse(
                    f"files of the format {self.identifier!r} cannot hold the column "
                    f"{field.name!r}, which is {field.data_type}: cast it to another type."
                )

    def settings(self, context: TableContext) -> Configuration:
        """The options of the format, checked."""
        given = prefixed(context.options, f"{self.identifier}.")
        scoped = TableContext(context.identifier, context.schema, given, context.partition_keys)
        check_options(scoped, self.options, f"the format {self.identifier!r}", given)
        return Configuration.from_dict(given)


def _compression(key: str, default: str, choices: tuple[str, ...]) -> Option[str]:
    return Option(key, "enum", default, "How columns are compressed.", choices=choices)


class ParquetFactory(ColumnFormatFactory):
    """Parquet files."""

    identifier = "parquet"
    doc = "Parquet files, for the connector `filesystem`."
    COMPRESSION = _compression(
        "compression", "SNAPPY", ("SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI", "UNCOMPRESSED")
    )
    ZONE: Option[bool] = Option(
        "utc-timezone",
        "boolean",
        False,
        "How Flink maps timestamps without a zone; here they are stored as they are.",
        effective=False,
    )
    options = (TableOption(COMPRESSION), TableOption(ZONE))

    def reader(self, row_type: RowType) -> FileFormat:
        return parquet_rows(row_type)

    def writer(self, settings: Configuration) -> BulkWriterFactory:
        chosen = self.COMPRESSION.read(settings).lower()
        compression = "none" if chosen == "uncompressed" else chosen
        return ParquetBulkWriters.for_row_type(compression=compression)


class OrcFactory(ColumnFormatFactory):
    """ORC files."""

    identifier = "orc"
    doc = "ORC files, for the connector `filesystem`."
    COMPRESSION = _compression(
        "compress", "ZLIB", ("ZLIB", "SNAPPY", "ZSTD", "LZ4", "NONE", "UNCOMPRESSED")
    )
    options = (TableOption(COMPRESSION),)
    unknown = (TimeType, DayTimeIntervalType, YearMonthIntervalType)

    def reader(self, row_type: RowType) -> FileFormat:
        return OrcColumns(row_type.arrow_schema())

    def writer(self, settings: Configuration) -> BulkWriterFactory:
        chosen = self.COMPRESSION.read(settings).lower()
        compression = "uncompressed" if chosen == "none" else chosen
        return OrcBulkWriters.for_row_type(compression=compression)


COLUMN_FORMATS: Mapping[str, ColumnFormatFactory] = {
    factory.identifier: factory for factory in (ParquetFactory(), OrcFactory())
}
