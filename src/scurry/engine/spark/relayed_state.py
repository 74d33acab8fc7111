"""State in Spark's form, in an object store, for a job on a cluster.

Spark's reader of state takes a path that all of its executors see, and an object store is none.
So a Spark of its own, on the machine of the driver, reads a copy of the state and writes its rows
into files; the entries of the journals among them go into the store, as files of the journals that
a job with a checkpoint there has anyway. From there on executors read them like any others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from scurry.checkpoint.file_journal import FileJournal, StoredHead, place_name
from scurry.checkpoint.layout import Home
from scurry.checkpoint.log_files import LogFiles
from scurry.common.errors import StateError
from scurry.common.own_directories import process_directory
from scurry.engine.spark.session import obtain_session
from scurry.engine.spark.stored_journals import VARIABLES, copied_here, state_rows
from scurry.runtime.report import decode_report
from scurry.state.journal import decode_head
from scurry.state.rescaling import Place

#: What is in the names of the entries.
_TOKEN = "relayed"
#: How a process knows the JVM that it is to use: this one needs one of its own.
_OF_ANOTHER_JVM = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_SUBMIT_ARGS")


def relayed_journals(old: Home, stages: int, slots: Mapping[int, int]) -> dict[str, StoredHead]:
    """The journals of a generation whose state is Spark's, as files beside it; ``slots`` gives the
    slot behind each route. What they are called is what an epoch would say."""
    room = process_directory("spark-state")
    try:
        _read(copied_here(old.spark, room), room, stages)
        found = [each for n in range(stages) for each in _journals_of(old, room, n, slots)]
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return dict(found)


def _journals_of(
    old: Home, room: Path, operator: int, slots: Mapping[int, int]
) -> Iterator[tuple[str, StoredHead]]:
    heads = {slots[row["route"]]: row["content"] for row in _rows(room, operator, "head")}
    journals = {}
    for slot, head in heads.items():
        place = Place(decode_report(decode_head(head).notes)["stage"], slot)
        stored = StoredHead(head, [(0, _TOKEN)])
        files = FileJournal(old.log(*place), old.runs(*place), _TOKEN, stored)
        journals[slot] = files, LogFiles(old.log(*place))
        yield place_name(*place), stored
    for row in _rows(room, operator, "log"):
        journal, kept = journals[slots[row["route"]]]
        journal.append(row["seq"], kept.entry(row["content"]))


def _rows(room: Path, operator: int, variable: str) -> Iterator[dict[str, Any]]:
    with pa.OSFile(str(_file(room, operator, variable))) as file, pa.ipc.open_stream(file) as read:
        for batch in read:
            yield from batch.to_pylist()


def _file(room: Path, operator: int | str, variable: str) -> Path:
    return room / f"{operator}-{variable}.arrow"


def _read(spark: Path, room: Path, stages: int) -> None:
    """Have another process write the rows of Spark's state in ``spark`` into files in ``room``."""
    environment = {name: text for name, text in os.environ.items() if name not in _OF_ANOTHER_JVM}
    command = [sys.executable, "-m", __name__, str(spark), str(room), str(stages)]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise StateError(
            "The state of the savepoint is in Spark's own form, and the Spark that was to read it "
            f"on the driver's machine has failed: {said[-1]}. Start from the savepoint once with a "
            "local master (spark.master: local[*]), take a savepoint of that job, and start from "
            "this one on the cluster."
        )


def write_rows(spark: Path, room: Path, stages: int) -> None:
    """Write the rows of all stages' state in Spark's checkpoint ``spark``."""
    session = obtain_session({"spark.master": "local[2]", "spark.ui.enabled": "false"})
    for stage in range(stages):
        for variable in VARIABLES:
            rows = state_rows(session, str(spark), stage, variable)
            _write(_file(room, stage, variable), rows.toLocalIterator(), rows.schema.names)


def _write(path: Path, rows: Iterator[Any], names: list[str]) -> None:
    kinds = {"route": pa.int32(), "seq": pa.int64(), "content": pa.binary()}
    schema = pa.schema([(name, kinds[name]) for name in names])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as written:
        for row in rows:
            columns = {name: [row[name]] for name in names}
            written.write_batch(pa.RecordBatch.from_pydict(columns, schema=schema))


if __name__ == "__main__":
    write_rows(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
