"""Compaction: the files of several micro-batches are joined before readers see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from scurry.common import Encoder, Row, Types
from scurry.common.errors import ProgramError
from scurry.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    StreamingFileSink,
)
from scurry.datastream.formats.orc import OrcBulkWriters
from scurry.datastream.formats.parquet import ParquetBulkWriters
from scurry.functions.sink import CommitterContext, WriterContext
from scurry.runtime.batch import Batch

LINES = Encoder.simple_string_encoder()
FLAT = BucketAssigner.base_path_bucket_assigner()
ROW = Types.ROW_NAMED(["n", "text"], [Types.LONG(), Types.STRING()])


def commit(sink: FileSink, batch: int, *rows: Any) -> None:
    writer = sink.create_writer(WriterContext("sink", 0, 1))
    writer.write_records(Batch(list(rows)), 0)
    message = writer.prepare()
    sink.commit(batch, [] if message is None else [message])


def files(base: Path) -> list[Path]:
    return sorted(p for p in base.rglob("*") if p.is_file() and ".scurry" not in p.parts)


def compacting(base: Path, compactor: FileCompactor, **when: int) -> FileSink:
    strategy = FileCompactStrategy.builder().set_num_compact_threads(2)
    if "size" in when:
        strategy.set_size_threshold(when["size"])
    if "batches" in when:
        strategy.enable_compaction_on_checkpoint(when["batches"])
    builder = FileSink.for_row_format(str(base), LINES).with_bucket_assigner(FLAT)
    return started(builder.enable_compact(strategy.build(), compactor).build())


def started(sink: FileSink) -> FileSink:
    sink.take_type(None)  # as sink_to does
    sink.start(CommitterContext("sink", "checkpoint"))
    sink.recover(0)
    return sink


def test_files_are_joined_every_so_many_micro_batches(tmp_path: Path) -> None:
    sink = compacting(tmp_path, FileCompactor.concat_file_compactor(), batches=3)
    for batch in range(2):
        commit(sink, batch, f"b{batch}")
        assert files(tmp_path) == []
    commit(sink, 2)
    assert [path.read_text() for path in files(tmp_path)] == ["b0\nb1\n"]
    commit(sink, 3, "late")
    sink.close()
    assert [path.read_text() for path in files(tmp_path)] == ["b0\nb1\n", "late\n"]


def test_files_are_joined_when_they_are_large_enough_together(tmp_path: Path) -> None:
    sink = compacting(tmp_path, FileCompactor.concat_file_compactor(b"--\n"), size=4)
    commit(sink, 0, "1")
    assert files(tmp_path) == []
    commit(sink, 1, "2")
    assert [path.read_text() for path in files(tmp_path)] == ["1\n--\n2\n"]


def test_identical_files_stay_apart(tmp_path: Path) -> None:
    sink = compacting(tmp_path, FileCompactor.identical_file_compactor(), batches=2)
    commit(sink, 0, "1")
    commit(sink, 1, "2")
    assert sorted(path.read_text() for path in files(tmp_path)) == ["1\n", "2\n"]


def test_compaction_survives_a_restart(tmp_path: Path) -> None:
    compactor = FileCompactor.concat_file_compactor()
    commit(compacting(tmp_path, compactor, batches=2), 0, "1")
    again = compacting(tmp_path, compactor, batches=2)
    commit(again, 0, "written twice")
    commit(again, 1, "2")
    assert [path.read_text() for path in files(tmp_path)] == ["1\n2\n"]


@pytest.mark.parametrize(
    ("factory", "read"),
    [
        (ParquetBulkWriters.for_row_type(ROW), pq.read_table),
        (OrcBulkWriters.for_row_type(ROW), orc.read_table),
    ],
    ids=["parquet", "orc"],
)
def test_bulk_formats_are_joined_as_the_format_demands(
    tmp_path: Path, factory: Any, read: Any
) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
    builder = FileSink.for_bulk_format(str(tmp_path), factory).with_bucket_assigner(FLAT)
    builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    sink = started(builder.build())
    commit(sink, 0, Row(n=1, text="a"), Row(n=2, text="b"))
    commit(sink, 1, Row(n=3, text=None))
    (made,) = files(tmp_path)
    assert read(str(made)).to_pylist() == [
        {"n": 1, "text": "a"},
        {"n": 2, "text": "b"},
        {"n": 3, "text": None},
    ]


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="say when files are joined"):
        FileCompactStrategy.builder().build()
    with pytest.raises(ProgramError, match="needs a number from 1, got 0"):
        FileCompactStrategy.builder().enable_compaction_on_checkpoint(0)
    strategy = FileCompactStrategy.builder().set_size_threshold(10).build()
    builder = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(ROW))
    builder.enable_compact(strategy, FileCompactor.concat_file_compactor(b"--"))
    with pytest.raises(ProgramError, match="takes a delimiter only for row formats"):
        builder.build()


def test_compaction_can_be_switched_off_again(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().set_size_threshold(1 << 30).build()
    builder = StreamingFileSink.for_row_format(str(tmp_path), LINES).with_bucket_assigner(FLAT)
    builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).disable_compact()
    sink = started(builder.build())
    assert isinstance(sink, StreamingFileSink)
    commit(sink, 0, "1")
    sink.close()
    assert [path.read_text() for path in files(tmp_path)] == ["1\n"]
