"""The Delta Lake sink: each batch once, by the transaction number in the table's log."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from scurry.common import Row, Types
from scurry.common.errors import (
    JobError,
    OtherHistoryError,
    ProgramError,
    TypeMismatchError,
)
from scurry.connectors.delta import DeltaSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.history import Branch, History, Mark
from scurry.functions.sink import CommitterContext, WriterContext
from scurry.runtime.batch import Batch
from scurry.testing.local import run_local

ROW = Types.ROW_NAMED(["n", "s"], [Types.LONG(), Types.STRING()])


def rows(path: Path) -> list[Any]:
    table = deltalake.DeltaTable(str(path)).to_pyarrow_table()
    return sorted(tuple(row.values()) for row in table.to_pylist())


def started(sink: DeltaSink, job: str = "job") -> DeltaSink:
    sink.start(CommitterContext("sink", job))
    return sink


def written(sink: DeltaSink, *records: Any) -> Any:
    writer = pickle.loads(pickle.dumps(sink)).create_writer(WriterContext("sink", 0, 1))
    writer.write_records(Batch(list(records)), 0)
    return writer.prepare()


def test_a_batch_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "t"
    sink = started(DeltaSink(str(path), ROW, partition_by=["s"]))
    sink.commit(0, [written(sink, Row(n=1, s="a")), written(sink, (2, "b"))])
    sink.commit(0, [written(sink, (3, "again"))])
    again = started(DeltaSink(str(path), ROW))
    again.commit(0, [written(again, (4, "again"))])
    again.commit(1, [])
    again.commit(2, [written(again, (5, "c"))])
    other = started(DeltaSink(str(path), ROW), "another job")
    other.commit(0, [written(other, (6, "d"))])
    assert rows(path) == [(1, "a"), (2, "b"), (5, "c"), (6, "d")]
    assert deltalake.DeltaTable(str(path)).metadata().partition_columns == ["s"]


def test_a_program_with_crashes(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection([{"n": n} for n in range(30)]).rebalance().map(lambda r: r)
    stream.sink_to(DeltaSink(str(tmp_path / "t")))
    run_local(env, cuts=11, crash=[0, 1])
    assert rows(tmp_path / "t") == [(n,) for n in range(30)]


def test_faults_are_said(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    sink = started(DeltaSink(path, ROW))
    with pytest.raises(TypeMismatchError, match="field 'n'"):
        written(sink, ("x", "a"))
    sink.commit(0, [written(sink, (1, "a"))])
    wrong = started(DeltaSink(path))
    with pytest.raises(JobError, match=r"DeltaSink could not write to .*columns are those"):
        wrong.commit(1, [written(wrong, {"other": 1.5})])
    with pytest.raises(ProgramError, match="needs a row type"):
        DeltaSink(path, Types.LONG())
    assert b"hunter2" not in pickle.dumps(DeltaSink(path, storage_options={"key": "hunter2"}))


A, B = f"{0xA:015x}", f"{0xB:015x}"


def at(path: Path, planned: int, *branches: Branch) -> DeltaSink:
    sink = DeltaSink(str(path))
    history = History(branches or [Branch(A, 0)], planned)
    sink.start(CommitterContext("sink", "job", history))
    return sink


def committed(path: Path, batches: range, *branches: Branch) -> None:
    sink = at(path, batches.stop - 1, *branches)
    for batch in batches:
        sink.commit(batch, [written(sink, Row(n=batch))])


def test_files_that_were_rewritten_cannot_be_taken_back(tmp_path: Path) -> None:
    committed(tmp_path / "t", range(4))
    DeltaTable(str(tmp_path / "t")).optimize.compact()
    with pytest.raises(OtherHistoryError, match="is not part of the table any more: the table was"):
        at(tmp_path / "t", 1).truncate()


def test_a_log_that_does_not_reach_back_is_not_guessed_at(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    # as an earlier version wrote it
    for batch in range(3):
        last = CommitProperties(app_transactions=[Transaction("scurry/job/sink", batch)])
        write_deltalake(path, pa.table({"n": [batch]}), mode="append", commit_properties=last)
    old = Branch("", 0)
    sink = at(tmp_path / "t", 1, old)
    assert sink.committed_mark() == Mark(2)
    committed(tmp_path / "t", range(3, 5), old, Branch(B, 3))
    assert sink.committed_mark() == Mark(4, B)
    with pytest.raises(OtherHistoryError, match="does not reach back to micro-batch 1, where the"):
        sink.truncate()


def test_what_others_write_to_the_table_stays(tmp_path: Path) -> None:
    committed(tmp_path / "t", range(2))
    write_deltalake(str(tmp_path / "t"), pa.table({"n": [77]}), mode="append")
    committed(tmp_path / "t", range(2, 4))
    at(tmp_path / "t", 0).truncate()
    found = DeltaTable(str(tmp_path / "t")).to_pyarrow_table().column("n").to_pylist()
    assert sorted(found) == [0, 77]
