"""Sinks that need no server, and jobs that go on from older copies of their checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from tests.contract._histories import HistoryContract, Target

from scurry.common import Encoder, Row, Types
from scurry.connectors.delta import DeltaSink
from scurry.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from scurry.datastream.formats.avro import AvroBulkWriters, AvroSchema
from scurry.datastream.formats.orc import OrcBulkWriters
from scurry.datastream.formats.parquet import ParquetBulkWriters
from scurry.functions.sink import Sink

ROW = Types.ROW_NAMED(["n"], [Types.LONG()])
AVRO = AvroSchema.parse_string(
    '{"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}'
)
THREE = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
CONCAT = FileCompactor.concat_file_compactor()


class Files(Target):
    """Part files; ``builder`` makes the sink for a path."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def sink(self) -> Sink:
        flat = BucketAssigner.base_path_bucket_assigner()
        return self.configured(self.builder(str(self.base)).with_bucket_assigner(flat)).build()

    def builder(self, base: str) -> Any:
        return FileSink.for_row_format(base, Encoder.simple_string_encoder())

    def configured(self, builder: Any) -> Any:
        return builder

    def numbers(self) -> Iterable[int]:
        for path in self.base.rglob("*"):
            if path.is_file() and ".scurry" not in path.parts:
                yield from self.read(path)

    def read(self, path: Path) -> Iterable[int]:
        return map(int, path.read_text().split())


class FilesPerBatch(Files):
    def configured(self, builder: Any) -> Any:
        return builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())


class FilesOfThreeBatches(Files):
    """Joined with a delimiter, which is no number."""

    def configured(self, builder: Any) -> Any:
        return builder.enable_compact(THREE, FileCompactor.concat_file_compactor(b"--\n"))

    def read(self, path: Path) -> Iterable[int]:
        parts = path.read_text().split("--\n")
        assert all(parts)
        return (int(line) for part in parts for line in part.split())


class FilesApart(Files):
    def configured(self, builder: Any) -> Any:
        return builder.enable_compact(THREE, FileCompactor.identical_file_compactor())


class Parquet(Files):
    def builder(self, base: str) -> Any:
        return FileSink.for_bulk_format(base, ParquetBulkWriters.for_row_type(ROW))

    @staticmethod
    def convert(number: int) -> Any:
        return Row(n=number)

    def read(self, path: Path) -> Iterable[int]:
        found: list[int] = pq.read_table(path).column("n").to_pylist()
        return found


class JoinedParquet(Parquet):
    def configured(self, builder: Any) -> Any:
        return builder.enable_compact(THREE, CONCAT)


class JoinedOrc(JoinedParquet):
    def builder(self, base: str) -> Any:
        return FileSink.for_bulk_format(base, OrcBulkWriters.for_row_type(ROW))

    def read(self, path: Path) -> Iterable[int]:
        found: list[int] = orc.read_table(str(path)).column("n").to_pylist()
        return found


class JoinedAvro(JoinedParquet):
    def builder(self, base: str) -> Any:
        return FileSink.for_bulk_format(base, AvroBulkWriters.for_generic_record(AVRO))

    def read(self, path: Path) -> Iterable[int]:
        with path.open("rb") as file:
            return [record["n"] for record in fastavro.reader(file)]  # type: ignore[misc,index,call-overload]


class Delta(Target):
    def __init__(self, base: Path) -> None:
        self.base = base / "table"

    def sink(self) -> Sink:
        return DeltaSink(str(self.base), ROW)

    @staticmethod
    def convert(number: int) -> Any:
        return Row(n=number)

    def numbers(self) -> Iterable[int]:
        from deltalake import DeltaTable

        found: list[int] = DeltaTable(str(self.base)).to_pyarrow_table().column("n").to_pylist()
        return found


TARGETS = [
    Files,
    FilesPerBatch,
    FilesOfThreeBatches,
    FilesApart,
    Parquet,
    JoinedParquet,
    JoinedOrc,
    JoinedAvro,
    Delta,
]


class TestHistories(HistoryContract):
    @pytest.fixture(params=TARGETS, ids=lambda kind: kind.__name__)
    def target(self, request: pytest.FixtureRequest, tmp_path: Path) -> Target:
        made: Target = request.param(tmp_path)
        return made
