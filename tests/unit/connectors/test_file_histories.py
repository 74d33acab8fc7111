"""What a file sink remembers of its part files, and for how long."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Encoder
from scurry.common.errors import OtherHistoryError, StateError
from scurry.common.fault_points import SINK_POINTS
from scurry.common.serialization import BulkWriterFactory, SegmentWriter
from scurry.connectors.files import manifest as manifests
from scurry.connectors.files.writers import EncoderFactory
from scurry.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from scurry.functions.history import Branch, History, Mark
from scurry.functions.sink import CommitterContext, WriterContext
from scurry.runtime.batch import Batch

LINES = Encoder.simple_string_encoder()
FLAT = BucketAssigner.base_path_bucket_assigner()
THREE = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()


def per_batch(base: Path) -> FileSink:
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    builder = FileSink.for_row_format(str(base), LINES).with_bucket_assigner(FLAT)
    return builder.with_rolling_policy(policy).build()


def started(sink: FileSink, planned: int, token: str = "a") -> tuple[FileSink, History]:
    history = History([Branch(token, 0)] if planned >= 0 else [], planned)
    sink.take_type(None)
    sink.start(CommitterContext("sink", "checkpoint", history))
    return sink, history


def commit(sink: FileSink, history: History, batch: int) -> None:
    history.planned = batch
    writer = sink.create_writer(WriterContext("sink", 0, 1))
    writer.write_records(Batch([str(batch)]), 0)
    sink.commit(batch, [writer.prepare()])


def written(base: Path) -> list[int]:
    paths = [p for p in base.rglob("*") if p.is_file() and ".scurry" not in p.parts]
    return sorted(int(line) for path in paths for line in path.read_text().split())


def test_many_part_files_are_remembered_outside_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "_MOST_PIECES", 3)
    sink, history = started(per_batch(tmp_path), 0)
    sink.recover(0)
    for batch in range(22):
        commit(sink, history, batch)
    manifest = max((tmp_path / ".scurry").rglob("manifests/*"))
    assert len(json.loads(manifest.read_text())["parts"]) <= 4
    assert len(list((tmp_path / ".scurry").rglob("listed-*"))) == 5
    # a restart does not take these files for rubbish
    sink, history = started(per_batch(tmp_path), 21)
    sink.recover(22)
    sink, history = started(per_batch(tmp_path), 4)
    sink.truncate()
    assert written(tmp_path) == [0, 1, 2, 3, 4]


def test_going_back_further_than_the_sink_remembers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "_MOST_PIECES", 3)
    monkeypatch.setattr(manifests, "_MOST_FILES", 2)
    sink, history = started(per_batch(tmp_path), 0)
    sink.recover(0)
    for batch in range(22):
        commit(sink, history, batch)
    sink, _ = started(per_batch(tmp_path), 4)
    with pytest.raises(OtherHistoryError, match="only as far as micro-batch 11, and the checkpo"):
        sink.truncate()
    assert written(tmp_path) == list(range(22))
    sink, _ = started(per_batch(tmp_path), 11)
    sink.truncate()
    assert written(tmp_path) == list(range(12))


def test_what_an_earlier_version_wrote(tmp_path: Path) -> None:
    """Its batches have no tokens; of its part files nothing is known."""
    sink, history = started(per_batch(tmp_path), 0, "")
    sink.recover(0)
    for batch in range(3):
        commit(sink, history, batch)
    newest = max((tmp_path / ".scurry").rglob("manifests/*"))
    found = json.loads(newest.read_text())
    path = newest.parent.with_name("manifest")
    shutil.rmtree(newest.parent)
    old = {name: found[name] for name in ("batch", "number", "publish", "runs")}
    held = {"segments": ["run/x"], "size": 1, "created": 1, "changed": 1, "batch": 2}
    path.write_text(json.dumps({**old, "pending": {"": held}, "version": 1}))
    sink, _ = started(per_batch(tmp_path), 2, "")
    assert sink.committed_mark() == Mark(2)
    sink, _ = started(per_batch(tmp_path), 1, "")
    with pytest.raises(OtherHistoryError, match="only as far as micro-batch 2"):
        sink.truncate()
    path.write_text(json.dumps({**found, "version": 3}))
    with pytest.raises(StateError, match="newer version of Scurry: it has version 3"):
        started(per_batch(tmp_path), 2, "")


@pytest.mark.parametrize("died", [True, False])
def test_a_truncation_that_dies_is_finished_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, died: bool
) -> None:
    builder = FileSink.for_row_format(str(tmp_path), LINES).with_bucket_assigner(FLAT)
    builder.enable_compact(THREE, FileCompactor.concat_file_compactor())
    sink, history = started(builder.build(), 0)
    sink.recover(0)
    for batch in range(9):
        commit(sink, history, batch)
    sink, _ = started(builder.build(), 3)

    class Died(Exception):
        pass

    def die(name: str) -> None:
        assert name in SINK_POINTS
        raise Died

    if died:
        monkeypatch.setattr("scurry.connectors.files.committer.fault_point", die)
        with pytest.raises(Died):
            sink.truncate()
        assert written(tmp_path) == list(range(9))
    else:
        sink.truncate()
    sink, history = started(builder.build(), 3)
    assert sink.committed_mark() is not None
    assert history.holds(sink.committed_mark())  # type: ignore[arg-type]
    sink.recover(4)
    assert written(tmp_path) == [0, 1, 2, 3]


class Joined(BulkWriterFactory):
    """A user's format that joins files in its own way."""

    def create(self, path: str) -> SegmentWriter:
        return EncoderFactory(LINES.for_type(None)).create(path)

    def join(self, segments: Sequence[Path], target: Path) -> None:
        target.write_text("".join(path.read_text() for path in segments))


def test_a_format_that_cannot_be_cut(tmp_path: Path) -> None:
    builder = FileSink.for_bulk_format(str(tmp_path), Joined()).with_bucket_assigner(FLAT)
    builder.enable_compact(THREE, FileCompactor.concat_file_compactor())
    sink, history = started(builder.build(), 0)
    sink.recover(0)
    for batch in range(6):
        commit(sink, history, batch)
    sink, _ = started(builder.build(), 3)
    with pytest.raises(OtherHistoryError, match=r"micro-batches 3 to 5.*Joined joins files and"):
        sink.truncate()
    # where the file ends with a batch, it need not be cut
    sink, _ = started(builder.build(), 2)
    sink.truncate()
    assert written(tmp_path) == [0, 1, 2]


def test_a_run_that_was_replaced_leaves_the_files_alone(tmp_path: Path) -> None:
    def make() -> Any:
        builder = FileSink.for_row_format(str(tmp_path), LINES).with_bucket_assigner(FLAT)
        return builder.build()

    dead, history = started(make(), 0)
    dead.recover(0)
    commit(dead, history, 0)
    alive, _ = started(make(), 0)
    alive.recover(1)
    dead.close()
    assert written(tmp_path) == []
    alive.close()
    assert written(tmp_path) == [0]
