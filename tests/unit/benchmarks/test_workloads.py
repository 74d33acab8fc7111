"""What workloads have to add up to is what their programs give, run without Spark."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks import _data
from benchmarks._workloads import CHECKSUMS, contenders
from benchmarks.contenders._programs import FUNCTIONS, chosen_workload
from benchmarks.contenders.workload_scurry import job

from scurry.connectors.parquet import ParquetSource
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import collect_local

EVENTS, KEYS = 60_000, 100


@pytest.mark.parametrize("workload", sorted(FUNCTIONS))
def test_every_event_gives_one_record_and_their_numbers_add_up(
    workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_data, "FILE_ROWS", 20_000)
    env = StreamExecutionEnvironment.get_execution_environment()
    source = ParquetSource(_data.parquet(tmp_path, EVENTS, KEYS), element=tuple)
    events = env.from_source(source, None, "events")
    results = collect_local(job(workload, events), cuts=25_000)
    assert len(results) == EVENTS
    assert sum(number for _, number in results) == CHECKSUMS[workload](EVENTS, KEYS) > 0


@pytest.mark.parametrize("workload", sorted(FUNCTIONS))
def test_scurry_runs_beside_spark_and_flink(workload: str) -> None:
    names = {contender.name for contender in contenders(workload)}
    assert {"scurry", "scurry_200k", "pyspark_tws", "pyflink_rocksdb_thread"} <= names


def test_the_workload_is_taken_off_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ["program", "--work", "here", "--workload", "timers", "--batch", "5"]
    monkeypatch.setattr(sys, "argv", line)
    assert chosen_workload() == "timers"
    assert sys.argv == ["program", "--work", "here", "--batch", "5"]
