"""The state of a query on Spark, read out of its savepoint elsewhere, also by the command."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from scurry.cli.main import main
from scurry.common import Configuration
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import StreamExecutionEnvironment
from scurry.state_reader import SavepointReader, diff, to_data_frame
from scurry.table import StreamTableEnvironment

KEYS = 7


@pytest.mark.parametrize("engine", ["micro-batch", "live"])
def test_groups_of_a_query_are_those_of_its_input(
    tmp_path: Path, session: SparkSession, engine: str
) -> None:
    conf = Configuration()
    conf.set_string("execution.checkpointing.dir", str(tmp_path / "ck"))
    conf.set_string("execution.engine", engine)
    conf.set_string("execution.checkpointing.interval", "200 ms")
    conf.set_integer("scurry.batch.max-records", 100)
    env = StreamExecutionEnvironment.get_execution_environment(conf).set_parallelism(1)
    numbers = env.from_source(NumberSequenceSource(0, 10**12), None, "numbers").uid("numbers")
    batches: list[int] = []
    env.on_progress(lambda progress: batches.append(progress.batch))
    tables = StreamTableEnvironment.create(env)
    tables.create_temporary_view("numbers", tables.from_data_stream(numbers).alias("n"))
    tables.execute_sql("CREATE TABLE sums (k BIGINT, s BIGINT) WITH ('connector' = 'blackhole')")
    job = tables.execute_sql(
        f"INSERT INTO sums SELECT k, SUM(n) FROM (SELECT MOD(n, {KEYS}) AS k, n FROM numbers) "
        "GROUP BY k"
    ).get_job_client()
    assert job is not None
    paths = []
    for stop in (False, True):
        seen = len(batches)
        while len(batches) < seen + 3:
            time.sleep(0.05)
        place = str(tmp_path / "sp")
        asked = job.stop_with_savepoint(False, place) if stop else job.trigger_savepoint(place)
        paths.append(str(asked.result(120)))
    job.get_job_execution_result().result(120)
    shutil.rmtree(tmp_path / "ck")
    first, last = (shutil.move(path, tmp_path / f"moved-{at}") for at, path in enumerate(paths))
    with SavepointReader(str(last), session) as reader:
        listed = [row for row in reader.list_states().to_pylist() if row["name"] == "values"]
        ((uid, kind),) = [(row["uid"], row["kind"]) for row in listed]
        values = reader.read(uid, "values")
    assert kind == "Table"
    found = {row["k"]: row["SUM(n).sum"] for row in values.to_pylist()}
    (read,) = {n for n in range(10**6) if sum(found.values()) == n * (n - 1) // 2 and n}
    assert found == {key: sum(range(key, read, KEYS)) for key in range(KEYS)}
    frame = to_data_frame(values, session)
    assert frame.selectExpr("sum(`SUM(n).sum`)").first()[0] == read * (read - 1) // 2
    run = CliRunner().invoke(main, ["savepoint", "read", str(last), uid, "values", "--json"])
    assert run.exit_code == 0, run.output
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert {line["k"]: line["SUM(n).sum"] for line in lines} == found
    assert set(diff(str(first), str(last), uid, "values")["change"].to_pylist()) == {"changed"}
