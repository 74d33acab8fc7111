"""File sinks: readers see complete files, and every record once, whatever happens in between."""

from __future__ import annotations

import json
import pickle
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scurry.common import Encoder, Row, Types, WatermarkStrategy
from scurry.common.errors import ProgramError, StateError, TypeMismatchError
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.connectors.files.committer import FileCommitter
from scurry.connectors.files.sink import FileSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import (
    BucketAssigner,
    OutputFileConfig,
    RollingPolicy,
)
from scurry.datastream.formats.avro import AvroBulkWriters, AvroSchema
from scurry.datastream.formats.csv import CsvBulkWriters, CsvSchema
from scurry.datastream.formats.parquet import ParquetBulkWriters
from scurry.functions.sink import CommitterContext, SinkWriter, WriterContext
from scurry.runtime.batch import Batch
from scurry.testing.local import run_local

LINES = Encoder.simple_string_encoder()
FLAT = BucketAssigner.base_path_bucket_assigner()
EVERY_BATCH = RollingPolicy.on_checkpoint_rolling_policy()
JOB = CommitterContext("sink", "checkpoint")


def visible(base: Path) -> dict[str, list[str]]:
    """The lines that a reader sees, by file."""
    files = [path for path in base.rglob("*") if path.is_file() and ".scurry" not in path.parts]
    return {str(path.relative_to(base)): path.read_text().split() for path in sorted(files)}


def lines(base: Path) -> list[str]:
    return [line for content in visible(base).values() for line in content]


def rows_sink(base: Path, policy: RollingPolicy = EVERY_BATCH) -> FileSink:
    builder = FileSink.for_row_format(str(base), LINES)
    return builder.with_bucket_assigner(FLAT).with_rolling_policy(policy).build()


def worker(sink: FileSink, index: int = 0) -> SinkWriter:
    """A writer of the copy of ``sink`` that a worker has."""
    return pickle.loads(pickle.dumps(sink)).create_writer(WriterContext("sink", index, 2))


def written(writer: SinkWriter, *rows: Any, now: int = 0, ts: Any = None) -> Any:
    writer.write_records(Batch(list(rows), ts=ts), now)
    return writer.prepare()


def started(sink: FileSink) -> FileSink:
    sink.start(JOB)
    sink.recover(0)
    return sink


def test_nothing_is_visible_before_the_commit(tmp_path: Path) -> None:
    sink = started(rows_sink(tmp_path))
    messages = [written(worker(sink, 0), 1, 2), written(worker(sink, 1), 3)]
    assert visible(tmp_path) == {}
    sink.commit(0, messages)
    assert sorted(map(len, visible(tmp_path).values())) == [1, 2]
    assert sorted(lines(tmp_path)) == ["1", "2", "3"]


def test_a_batch_counts_once_and_zombies_do_not(tmp_path: Path) -> None:
    sink = started(rows_sink(tmp_path))
    zombie = written(worker(sink), "zombie")
    good = written(worker(sink), "good")
    sink.commit(0, [good])
    sink.commit(0, [zombie])
    assert lines(tmp_path) == ["good"]
    again = started(rows_sink(tmp_path))
    again.commit(0, [written(worker(again), "repeated")])
    again.commit(1, [written(worker(again), "next")])
    assert lines(tmp_path) == ["good", "next"]


def test_a_zombie_of_an_earlier_run_can_no_longer_write(tmp_path: Path) -> None:
    old = started(rows_sink(tmp_path))
    zombie = worker(old)
    started(rows_sink(tmp_path))
    with pytest.raises(ProgramError, match="file system that driver and workers share"):
        written(zombie, "late")


def test_another_job_starts_counting_anew(tmp_path: Path) -> None:
    first = started(rows_sink(tmp_path))
    first.commit(0, [written(worker(first), "a")])
    second = rows_sink(tmp_path)
    second.start(CommitterContext("sink", "another checkpoint"))
    second.recover(0)
    second.commit(0, [written(worker(second), "b")])
    assert sorted(lines(tmp_path)) == ["a", "b"]


class Crash(Exception):
    pass


def crash_at(monkeypatch: pytest.MonkeyPatch, name: str, when: int, after: bool) -> None:
    """Let call number ``when`` of a method of the committer fail, before or after its work."""
    original: Callable[..., Any] = getattr(FileCommitter, name)
    calls = iter(range(1000))

    def failing(self: FileCommitter, *arguments: Any) -> Any:
        crashing = next(calls) == when
        if crashing and not after:
            raise Crash
        result = original(self, *arguments)
        if crashing:
            raise Crash
        return result

    monkeypatch.setattr(FileCommitter, name, failing)


@pytest.mark.parametrize("policy", [EVERY_BATCH, RollingPolicy.default_rolling_policy(part_size=9)])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", ["_prepare", "_save", "_publish"])
@pytest.mark.parametrize("when", range(6))
def test_a_crash_at_any_step_of_a_commit_loses_and_doubles_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    policy: RollingPolicy,
    step: str,
    after: bool,
    when: int,
) -> None:
    batches = [[f"{batch}-{n}" for n in range(3)] for batch in range(4)]
    with monkeypatch.context() as patch:
        crash_at(patch, step, when, after)
        batch = 0
        for _ in range(20):
            try:
                sink = started(rows_sink(tmp_path, policy))
                while batch < len(batches):
                    sink.commit(batch, [written(worker(sink), *batches[batch])])
                    batch += 1
                sink.close()
                break
            except Crash:
                # Spark may have noted the last batch as committed only if commit returned
                batch = max(0, batch)
    assert Counter(lines(tmp_path)) == Counter(row for rows in batches for row in rows)
    staged = [path for path in (tmp_path / ".scurry").rglob("*") if path.is_file()]
    left = [path for path in staged if path.name != "manifest"]
    assert {path.parent.name for path in left} == {"manifests"}, "nothing but manifests is left"
    assert len(left) <= 2


def test_parts_are_published_when_they_are_large_or_old(tmp_path: Path) -> None:
    now = [0.0]
    sink = rows_sink(tmp_path)
    policy = RollingPolicy.default_rolling_policy(
        part_size=10, rollover_interval=5000, inactivity_interval=2000
    )
    committer = FileCommitter(
        tmp_path, JOB, sink._factory, policy, OutputFileConfig(), sink._run, True, lambda: now[0]
    )
    committer.recover()
    writer = worker(sink)
    committer.commit(0, written(writer, "1234"))
    assert visible(tmp_path) == {}
    committer.commit(1, written(writer, "5678"))
    assert list(visible(tmp_path).values()) == [["1234", "5678"]]
    committer.commit(2, written(writer, "9"))
    now[0] = 1.9
    committer.roll()
    assert len(visible(tmp_path)) == 1
    now[0] = 2.0
    committer.roll()
    assert list(visible(tmp_path).values())[1] == ["9"]
    for batch in range(3, 10):
        now[0] += 1.5
        committer.commit(batch, written(writer, "x"))
    assert len(visible(tmp_path)) == 3


def test_old_parts_are_published_without_a_new_batch(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(inactivity_interval=1)
    builder = FileSink.for_row_format(str(tmp_path), LINES).with_rolling_policy(policy)
    sink = started(builder.with_bucket_check_interval(20).build())
    assert sink._committer is not None
    sink._committer._clock = lambda: 0.0
    sink.commit(0, [written(worker(sink), "x")])
    assert visible(tmp_path) == {}
    sink._committer._clock = time.time
    deadline = time.monotonic() + 10
    while not visible(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert lines(tmp_path) == ["x"]
    sink.close()


def test_a_damaged_manifest_is_not_guessed_at(tmp_path: Path) -> None:
    sink = started(rows_sink(tmp_path))
    sink.commit(0, [written(worker(sink), 1)])
    manifest = max((tmp_path / ".scurry").rglob("manifests/*"))
    manifest.write_text("{")
    with pytest.raises(StateError, match=r"The manifest \d+ in .* is damaged"):
        started(rows_sink(tmp_path))


# --- buckets and names ---------------------------------------------------------------------


def test_buckets_by_processing_time_are_those_of_the_batch(tmp_path: Path) -> None:
    builder = FileSink.for_row_format(str(tmp_path), LINES).with_rolling_policy(EVERY_BATCH)
    sink = started(
        builder.with_bucket_assigner(
            BucketAssigner.date_time_bucket_assigner("yyyy-MM-dd'T'HH", "Europe/Berlin")
        )
        .with_output_file_config(
            OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".txt").build()
        )
        .build()
    )
    sink.commit(0, [written(worker(sink), "x", now=1_700_000_000_000)])
    (name,) = visible(tmp_path)
    assert name.startswith("2023-11-14T23/p-")
    assert name.endswith("-000000.txt")


def test_buckets_by_event_time_and_by_key(tmp_path: Path) -> None:
    by_time = FileSink.for_row_format(str(tmp_path / "t"), LINES).with_rolling_policy(EVERY_BATCH)
    sink = started(
        by_time.with_bucket_assigner(BucketAssigner.event_time_bucket_assigner("HH/mm")).build()
    )
    stamps = np.array([0, 60_000, 59_999, 3_600_000], dtype=np.int64)
    sink.commit(0, [written(worker(sink), "a", "b", "c", "d", ts=stamps)])
    assert {name.rpartition("/")[0]: rows for name, rows in visible(tmp_path / "t").items()} == {
        "00/00": ["a", "c"],
        "00/01": ["b"],
        "01/00": ["d"],
    }
    with pytest.raises(TypeMismatchError, match="Call assign_timestamps_and_watermarks"):
        written(worker(sink), "a")
    by_key = FileSink.for_row_format(str(tmp_path / "k"), LINES).with_rolling_policy(EVERY_BATCH)
    key = BucketAssigner.key_bucket_assigner(lambda row: f"first={row[0]}")
    sink = started(by_key.with_bucket_assigner(key).build())
    writer = sink.create_writer(WriterContext("sink", 0, 1))
    sink.commit(1, [written(writer, "ax", "by", "az")])
    assert sorted(visible(tmp_path / "k").values()) == [["ax", "az"], ["by"]]


@pytest.mark.parametrize("name", ["", "..", "a/../b", "/etc", ".hidden", "_x", "a//b"])
def test_a_bucket_cannot_leave_the_path_or_hide(tmp_path: Path, name: str) -> None:
    assigner = BucketAssigner.key_bucket_assigner(lambda row: name)
    with pytest.raises(TypeMismatchError, match="is no name of a bucket"):
        assigner.assign(Batch(["x"]), 1, 0)


def test_faults_in_the_settings(tmp_path: Path) -> None:
    base = str(tmp_path)
    with pytest.raises(ProgramError, match="'EEE' is not understood"):
        BucketAssigner.date_time_bucket_assigner("EEE")
    with pytest.raises(ProgramError, match="unknown time zone 'Mars/Olympus'"):
        BucketAssigner.date_time_bucket_assigner(timezone_id="Mars/Olympus")
    with pytest.raises(ProgramError, match="part_size must be positive, got 0"):
        RollingPolicy.default_rolling_policy(part_size=0)
    with pytest.raises(ProgramError, match="needs an Encoder"):
        FileSink.for_row_format(base, str)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs a writer factory"):
        FileSink.for_bulk_format(base, LINES)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="would make hidden files"):
        OutputFileConfig.builder().with_part_prefix("_x").build()
    with pytest.raises(ProgramError, match="needs a FileCompactStrategy and a FileCompactor"):
        FileSink.for_row_format(base, LINES).enable_compact(None, None)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs a RollingPolicy"):
        FileSink.for_row_format(base, LINES).with_rolling_policy("daily")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs a function, got 'country'"):
        BucketAssigner.key_bucket_assigner("country")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs a row type"):
        ParquetBulkWriters.for_row_type(Types.LONG())


# --- formats -------------------------------------------------------------------------------


def bulk(base: Path, factory: Any, policy: RollingPolicy = EVERY_BATCH) -> FileSink:
    builder = FileSink.for_bulk_format(str(base), factory).with_bucket_assigner(FLAT)
    return builder.with_rolling_policy(policy).build()


ROW = Types.ROW_NAMED(["n", "s"], [Types.LONG(), Types.STRING()])
LATE = RollingPolicy.default_rolling_policy()


def test_parquet_from_rows_and_columns_joined_over_batches(tmp_path: Path) -> None:
    sink = started(bulk(tmp_path, ParquetBulkWriters.for_row_type(ROW), LATE))
    writer = worker(sink)
    sink.commit(0, [written(writer, Row(n=1, s="a"), (2, "b"))])
    columns = pa.RecordBatch.from_pydict({"s": ["c"], "n": [3]})
    writer.write_records(Batch(None, columns=columns), 0)
    sink.commit(1, [writer.prepare()])
    assert visible(tmp_path) == {}
    sink.close()
    (path,) = tmp_path.glob("*.parquet")
    assert pq.read_table(path).to_pylist() == [
        {"n": 1, "s": "a"},
        {"n": 2, "s": "b"},
        {"n": 3, "s": "c"},
    ]


def test_a_row_of_another_type_is_named(tmp_path: Path) -> None:
    sink = started(bulk(tmp_path, ParquetBulkWriters.for_row_type(ROW)))
    with pytest.raises(TypeMismatchError, match="field 'n'"):
        written(worker(sink), Row(n="x", s="a"))


def test_parquet_without_a_type(tmp_path: Path) -> None:
    sink = started(bulk(tmp_path, ParquetBulkWriters.for_row_type()))
    sink.commit(0, [written(worker(sink), {"n": 1}, {"n": 2})])
    (path,) = tmp_path.glob("*.parquet")
    assert pq.read_table(path).to_pylist() == [{"n": 1}, {"n": 2}]


def test_csv(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_number_column("n")
        .add_string_column("s")
        .add_array_column("a")
        .set_null_value("-")
        .build()
    )
    sink = started(bulk(tmp_path, CsvBulkWriters.for_schema(schema)))
    rows = [Row(1, 'a,"b"', [1, 2]), {"n": None, "s": "-"}, Row(n=True, s="x", a=None)]
    sink.commit(0, [written(worker(sink), *rows)])
    (path,) = [path for path in tmp_path.iterdir() if path.is_file()]
    assert path.read_text() == '1,"a,""b""",1;2\n-,"-",-\ntrue,x,-\n'
    bare = CsvSchema.builder().add_string_column("s").disable_quote_char().build()
    with pytest.raises(TypeMismatchError, match="this CSV has no quotes"):
        written(worker(started(bulk(tmp_path, CsvBulkWriters.for_schema(bare)))), ("a,b",))


def test_avro_joined_over_batches(tmp_path: Path) -> None:
    fields = [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    schema = AvroSchema.parse_string(text)
    sink = started(bulk(tmp_path, AvroBulkWriters.for_generic_record(schema), LATE))
    for batch in range(3):
        sink.commit(batch, [written(worker(sink), Row(n=batch, s="a"), {"n": batch, "s": "b"})])
    with pytest.raises(TypeMismatchError, match="is not of the Avro schema"):
        written(worker(sink), {"n": "x", "s": "y"})
    sink.close()
    (path,) = tmp_path.glob("*.avro")
    with path.open("rb") as file:
        assert len(list(fastavro.reader(file))) == 6


# --- whole programs ------------------------------------------------------------------------


class ByNumber(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 1000


@pytest.mark.parametrize("cuts", [None, 7])
def test_a_program_with_crashes_writes_every_record_once(tmp_path: Path, cuts: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByNumber())
    stream = env.from_collection(list(range(50))).assign_timestamps_and_watermarks(strategy)
    assigner = BucketAssigner.event_time_bucket_assigner("ss")
    sink = FileSink.for_row_format(str(tmp_path), LINES).with_bucket_assigner(assigner).build()
    stream.rebalance().map(lambda n: n).sink_to(sink)
    run_local(env, cuts=cuts, crash=[0, 2])
    assert sorted(map(int, lines(tmp_path))) == list(range(50))
    assert all(
        int(name[:2]) == int(row) for name, rows in visible(tmp_path).items() for row in rows
    )


def test_one_sink_object_for_two_streams_is_refused(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = rows_sink(tmp_path)
    env.from_collection([1]).sink_to(sink)
    env.from_collection([2]).sink_to(sink)
    with pytest.raises(ProgramError, match="One FileSink object is the sink of two streams"):
        run_local(env)
