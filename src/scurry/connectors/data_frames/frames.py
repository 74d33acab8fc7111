"""What front ends need of PySpark to speak of DataFrames, so that they need not import it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from scurry.common.hadoop_paths import hadoop_pattern
from scurry.common.type_information import TypeInformation
from scurry.connectors.data_frames.types import check_for_files, columns_of_schema, schema_of_type
from scurry.connectors.data_frames.values import FrameColumns
from scurry.connectors.files.buckets import BucketAssigner
from scurry.connectors.files.columnar_writers import parquet_of
from scurry.connectors.files.sink import FileSink

__all__ = ["DataFrame", "SparkSession", "StructType", "files_of", "is_frame", "schema_of"]


def is_frame(given: object) -> bool:
    """Whether something is a DataFrame of Spark."""
    return isinstance(given, DataFrame)


def schema_of(given: Any) -> StructType | None:
    """The schema that a ``StructType``, a text or a type stands for; None for anything else."""
    if isinstance(given, str):
        given = StructType.fromDDL(given)
    if isinstance(given, TypeInformation):
        return schema_of_type(given)
    return given if isinstance(given, StructType) else None


def files_of(session: SparkSession, schema: StructType, place: Path) -> tuple[FileSink, DataFrame]:
    """A sink that writes Parquet files to ``place``, exactly once, and the streaming DataFrame that
    reads them."""
    check_for_files(session, schema)
    place.mkdir(parents=True, exist_ok=True)
    factory = parquet_of(FrameColumns(columns_of_schema(schema)))
    builder = FileSink.for_bulk_format(str(place), factory)
    sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    return sink, session.readStream.schema(schema).parquet(hadoop_pattern(place))
