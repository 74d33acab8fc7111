"""The process that runs the job under fault: ``python -m tests.faults.driver ROOT MASTER ENGINE``.

It prints a line per micro-batch. When the job has ended it writes what the journals of its slots
hold to ``ROOT/state.pickle``, restored from the checkpoint alone: from Spark's state store, or from
files if the engine is the live one.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.faults.job import build
from tests.faults.sleepers import LEASE

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.file_journal import FileJournal
from scurry.checkpoint.log_files import LogFiles
from scurry.common import Configuration, RestartStrategies
from scurry.common.fault_points import VARIABLE
from scurry.common.options.execution import LIVE
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.spark.class_archive import java_options
from scurry.engine.spark.routes import route_values
from scurry.runtime.report import decode_report
from scurry.state.journal import Journal, MemoryJournal, decode_head
from scurry.state.local.disk import LocalStore
from scurry.state.slot_store import SlotStore
from scurry.state.tables.list_table import ListTable
from scurry.state.tables.map_table import MapTable

SLOTS = 2
#: the variable that says at which address executors find the driver
HOST = "SCURRY_TEST_DRIVER_HOST"
#: In the live engine there are as many checkpoints as there are micro-batches in the other one, and
#: not many more records in each.
LIVE_SETTINGS = {
    "execution.checkpointing.interval": "150 ms",
    "execution.live.linger": "10 ms",
    # copies of the tasks write what they can
    "execution.live.snapshot-above": "0",
    "scurry.batch.max-records": "10",
}
KINDS: dict[tuple[str, str], type] = {
    ("per-key", "sums"): MapTable,
    ("per-key", "recent"): ListTable,
}


def main(root: Path, master: str, engine: str) -> None:
    """Run the job to its end."""
    cluster = not master.startswith("local[")
    settings = {
        "spark.master": master,
        "execution.engine": engine,
        "execution.checkpointing.dir": str(root / "checkpoint"),
        "scurry.checkpoint.lease-duration": LEASE,
        "scurry.state.local-dir": str(root / "local"),
        "scurry.batch.max-records": "150",
        "scurry.state.compact-above": "4000",
        # value states move into runs after a while, the others stay in the log
        "scurry.state.runs-above": "2",
        # some entries of the log are files
        "scurry.state.files-above": "600",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        f"spark.executorEnv.{VARIABLE}": os.environ.get(VARIABLE, ""),
    }
    if engine == LIVE:
        settings.update(LIVE_SETTINGS)
    if cluster:
        for name in ("spark.driver.host", "spark.driver.bindAddress"):
            settings[name] = os.environ.get(HOST, "127.0.0.1")
        settings["spark.executor.memory"] = "512m"
        # a JVM that starts quickly, as the driver's does
        options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *java_options()]
        settings["spark.executor.extraJavaOptions"] = " ".join(options)
        settings["spark.task.maxFailures"] = "20"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(SLOTS)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 50))
    build(env, root)
    env.on_progress(lambda p: print("batch", p.batch, p.restarts, flush=True))
    env.execute()
    read = read_files if engine == LIVE else read_states
    states = read(root / "checkpoint")
    (root / "state.pickle").write_bytes(pickle.dumps(states))
    print("finished", flush=True)


def read_states(checkpoint: Path) -> dict[str, dict[str, Any]]:
    """All states of the job's last micro-batch, by operator and name."""
    session = SparkSession.getActiveSession()
    assert session is not None

    directory = JobDirectory(str(checkpoint))

    def variable(operator: int, name: str) -> list[Any]:
        reader = session.read.format("statestore").option("operatorId", operator)
        reader = reader.option("stateVarName", name)
        return list(reader.load(str(directory.home.spark)).collect())

    slots = {route: slot for slot, route in enumerate(route_values(SLOTS))}
    states: dict[str, dict[str, Any]] = {"per-key": {}, "per-group": {}}
    for operator in (0, 1):
        journals: dict[Any, MemoryJournal] = {}
        files: dict[Any, LogFiles] = {}
        for row in variable(operator, "head"):
            head = decode_head(bytes(row["value"][0]))
            assert head.runs, "some of the state lies in runs"
            stage = decode_report(head.notes)["stage"]
            slot, home = slots[row["key"][0]], directory.home
            journals[row["key"][0]] = journal = MemoryJournal(home.runs(stage, slot))
            journal.put_head(head)
            files[row["key"][0]] = LogFiles(home.log(stage, slot))
        for row in variable(operator, "log"):
            seq, kept = row["user_map_key"][0], bytes(row["user_map_value"][0])
            journals[row["key"][0]].append(seq, files[row["key"][0]].entry(kept))
        for journal in journals.values():
            _add_slot(states, journal)
    return states


def read_files(checkpoint: Path) -> dict[str, dict[str, Any]]:
    """As :func:`read_states`, of a job in the live engine."""
    directory = JobDirectory(str(checkpoint))
    epoch, home = directory.last_epoch(), directory.home
    assert epoch is not None
    states: dict[str, dict[str, Any]] = {"per-key": {}, "per-group": {}}
    for place, stored in epoch.journals.items():
        stage, slot = map(int, place.split("-"))
        journal = FileJournal(home.log(stage, slot), home.runs(stage, slot), "", stored)
        _add_slot(states, journal)
    return states


def _add_slot(states: dict[str, dict[str, Any]], journal: Journal) -> None:
    with tempfile.TemporaryDirectory() as directory:
        local = LocalStore(Path(directory))
        store = SlotStore(local, 128)
        store.begin(journal)
        for table in {*local.tables(), *store.records.large_tables}:
            uid, _, state = table.partition("\x1f")
            if uid not in states or not state:
                continue
            kind = KINDS.get((uid, state))
            if kind is None:
                part: Any = store.table(uid, state)
            elif kind is ListTable:
                part = ListTable(table, store.records, 128, lambda: 0)
            else:
                part = MapTable(table, store.records, 128)
            states[uid].setdefault(state, {}).update(part.items())
        store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
