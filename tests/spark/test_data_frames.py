"""DataFrames of Spark as sources and as sinks of jobs on Spark."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from scurry.common import Configuration, Duration, Row, Types, WatermarkStrategy
from scurry.common.errors import JobError, ProgramError
from scurry.common.fault_points import VARIABLE
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.connectors.data_frames.feed import is_sorted
from scurry.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.datastream.window import TumblingEventTimeWindows

REPOSITORY = Path(__file__).parents[2]
SCHEMA = """
    b boolean, i int, l long, d double, s string, bin binary, dec decimal(10,2), day date,
    at timestamp, wall timestamp_ntz, tags array<string>, m map<string,int>,
    st struct<x:int, inner:struct<y:decimal(5,1), when:timestamp>>, many array<struct<a:int>>
"""
MOMENT = datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
WALL = datetime.fromisoformat("2020-01-02T03:04:05")
FULL = (
    *(True, 1, 2, 1.5, "x", b"\x00", Decimal("1.25"), date(2020, 1, 2), MOMENT, WALL),
    *(["p", None], {"k": 1, "n": None}, (1, (Decimal("2.5"), MOMENT)), [(7,), None]),
)


def environment(**settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("__", "-").replace("_", "."), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


def test_every_type_in_and_out(session: SparkSession) -> None:
    frame = session.createDataFrame([FULL, (None,) * len(FULL)], SCHEMA).coalesce(1)
    stream = environment().from_data_frame(frame)
    first, second = stream.map(lambda row: row).execute_and_collect()
    assert first.st == Row(x=1, inner=Row(y=Decimal("2.5"), when=MOMENT))
    assert (first.at, first.wall, first.dec) == (MOMENT, WALL, Decimal("1.25"))
    assert (first.m, first.many) == ({"k": 1, "n": None}, [Row(a=7), None])
    assert list(second) == [None] * len(FULL)
    as_columns = stream.to_data_frame()
    as_rows = stream.map(lambda row: row).to_data_frame(schema=SCHEMA)
    for back in (as_columns, as_rows):
        assert back.schema == frame.schema
        assert sorted(back.collect(), key=str) == sorted(frame.collect(), key=str)


class At(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.at.timestamp() * 1000)


class Gap(KeyedProcessFunction):
    """The one step that Spark lacks: seconds since the last event of the same user."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        before = self.last.value()
        self.last.update(value.n)
        yield value.user, value.n, None if before is None else value.n - before


def test_one_step_of_scurry_between_two_of_spark(session: SparkSession) -> None:
    events = session.range(100).select(
        f.col("id").alias("n"), f.concat(f.lit("u"), f.col("id") % 3).alias("user")
    )
    env = environment(scurry_batch_max__records="30")
    gaps = env.from_data_frame(events.orderBy("n")).key_by(lambda row: row.user).process(Gap())
    frame = gaps.to_data_frame(schema="user string, n long, gap long")
    found = frame.groupBy("user").agg(f.count("*"), f.sum("gap"), f.max("gap")).collect()
    assert {tuple(row) for row in found} == {
        ("u0", 34, 99, 3), ("u1", 33, 96, 3), ("u2", 33, 96, 3),
    }  # fmt: skip


def test_windows_on_columns_of_a_frame(session: SparkSession) -> None:
    start = datetime(2020, 1, 1, tzinfo=UTC)
    rows = [("ab"[n % 2], start + timedelta(seconds=n), n) for n in range(40)]
    frame = session.createDataFrame(rows, "key string, at timestamp, n long").coalesce(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    stream = environment().from_data_frame(frame, strategy.with_timestamp_assigner(At()))
    sums = stream.key_by("key").window(TumblingEventTimeWindows.of(Duration.of_seconds(10)))
    found = list(
        sums.reduce(lambda a, b: Row(key=a.key, at=a.at, n=a.n + b.n)).execute_and_collect()
    )
    expected = Counter[tuple[str, int]]()
    for key, at, n in rows:
        expected[key, (at - start).seconds // 10] += n
    assert sorted(row.n for row in found) == sorted(expected.values())


class Where(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> tuple[int, int]:
        return value.id, self.index


def test_a_frame_is_read_by_as_many_tasks_as_the_job_has(session: SparkSession) -> None:
    frame = session.range(0, 400, 1, 4)
    found = list(environment().from_data_frame(frame).map(Where()).execute_and_collect())
    by_task = {index: [n for n, at in found if at == index] for _, index in found}
    assert sorted(n for n, _ in found) == list(range(400))
    assert len(by_task) == 2
    for numbers in by_task.values():
        for first in range(0, 400, 100):
            part = [n for n in numbers if first <= n < first + 100]
            assert part in ([], list(range(first, first + 100)))


def test_a_frame_that_was_sorted_is_known(session: SparkSession) -> None:
    frame = session.range(10)
    ordered = frame.orderBy(f.desc("id"))
    assert is_sorted(ordered)
    assert is_sorted(ordered.where("id > 3").select((f.col("id") + 1).alias("n")).limit(4))
    for other in (frame, frame.sortWithinPartitions("id"), ordered.repartition(2)):
        assert not is_sorted(other)
    assert not is_sorted(ordered.groupBy("id").count())


def lines(directory: Path, numbers: Iterable[int]) -> None:
    for number in numbers:
        draft = directory / f".{number}.json"
        rows = [{"key": n % 5, "n": n} for n in range(number * 10, number * 10 + 10)]
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        draft.rename(directory / f"{number:04d}.json")


def streaming(session: SparkSession, directory: Path) -> DataFrame:
    reader = session.readStream.schema("key long, n long").option("maxFilesPerTrigger", 1)
    return reader.json(str(directory))


def test_a_streaming_frame_goes_on_after_a_restart(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    seen: list[tuple[int, list[int]]] = []
    for numbers in ([0, 1, 2, 3, 4], [5, 6]):
        lines(tmp_path / "in", numbers)
        env = environment(execution_checkpointing_dir=str(tmp_path / "ck"))
        frame = streaming(session, tmp_path / "in")
        stream = env.from_data_frame(frame, available_now=True).uid("frame")
        counted = stream.key_by(lambda row: row.key).map(lambda row: row.n).uid("keyed")
        counted.foreach_batch(
            lambda df, batch: seen.append((batch, [row.value for row in df.collect()])),
            schema="value long",
        ).uid("seen")
        env.execute()
    batches = [batch for batch, _ in seen]
    assert sorted(n for _, values in seen for n in values) == list(range(70))
    assert batches == sorted(set(batches))
    rooms = tmp_path / "ck" / "rooms"
    assert [p.name for p in (rooms / "frame").iterdir() if p.name.isdigit()] == []
    assert list((rooms / "seen").iterdir()) == []


def test_a_stream_as_a_streaming_frame(session: SparkSession, tmp_path: Path) -> None:
    env = environment(scurry_batch_max__records="4")
    numbers = env.from_collection(list(range(20)), Types.LONG()).map(lambda n: n * n, Types.LONG())
    frame = numbers.to_data_frame(str(tmp_path / "files"))
    assert frame.isStreaming
    assert frame.schema.simpleString() == "struct<value:bigint>"
    found: list[int] = []
    for _ in range(2):
        env.execute() if not found else None
        query = frame.writeStream.foreachBatch(
            lambda df, batch: found.extend(row.value for row in df.collect())
        )
        query = query.option("checkpointLocation", str(tmp_path / "spark"))
        query.trigger(availableNow=True).start().awaitTermination()
    assert sorted(found) == [n * n for n in range(20)]


def test_an_endless_frame_is_read_until_the_job_is_cancelled(
    session: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    lines(tmp_path / "in", range(2))
    env = environment()
    seen: list[int] = []
    stream = env.from_data_frame(streaming(session, tmp_path / "in"))
    stream.foreach_batch(lambda df, batch: seen.extend(row.n for row in df.collect()))
    client = env.execute_async()
    deadline = time.monotonic() + 60
    while len(seen) < 20 and time.monotonic() < deadline:
        time.sleep(0.1)
    client.cancel()
    client.result()
    assert sorted(seen) == list(range(20))
    assert session.streams.active == []


def test_a_streaming_frame_that_fails(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines(tmp_path / "in", range(1))
    frame = streaming(session, tmp_path / "in")
    wrong = frame.select(f.raise_error(f.lit("no such sensor")).cast("long").alias("n"))
    env = environment()
    env.from_data_frame(wrong).print()
    with pytest.raises(JobError, match=r"DataFrame has failed in its batch 0: .*no such sensor"):
        env.execute()


def test_messages(session: SparkSession, tmp_path: Path) -> None:
    env = environment()
    (tmp_path / "in").mkdir()
    endless = env.from_data_frame(streaming(session, tmp_path / "in"), source_name="events")
    with pytest.raises(ProgramError, match=r"would never return, because 'Source: events' .*give"):
        endless.to_data_frame()
    numbers = env.from_collection([1])
    with pytest.raises(ProgramError, match=r"cannot know the columns.*'Map' \(.*schema='user str"):
        numbers.map(lambda n: n).to_data_frame()
    with pytest.raises(ProgramError, match=r"foreach_batch\(schema=7\) at .*a schema is a Struct"):
        numbers.foreach_batch(lambda df, batch: None, schema=7)
    wrong: Any = 7
    with pytest.raises(ProgramError, match=r"foreach_batch\(7\) at .*takes a function of a Data"):
        numbers.foreach_batch(wrong)
    with pytest.raises(ProgramError, match=r"does not read the type time from files: set spark"):
        numbers.to_data_frame(schema=Types.TUPLE([Types.SQL_TIME()]))

    def fails(df: DataFrame, batch: int) -> None:
        raise ValueError(f"no room for {df.count()}")

    env = environment()
    env.from_collection([1, 2], Types.LONG()).foreach_batch(fails)
    with pytest.raises(JobError, match=r"foreach_batch failed on micro-batch 0: ValueError: no ro"):
        env.execute()


KILLED = """
import json, sys
from pathlib import Path
from scurry.common import Configuration
from scurry.connectors.data_frames.feed import is_sorted
from scurry.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing.spark import local_session

root = Path(sys.argv[1])
session = local_session(2)
env = StreamExecutionEnvironment.get_execution_environment(Configuration.of({
    "execution.checkpointing.dir": str(root / "ck"), "scurry.batch.max-records": "7",
})).set_parallelism(2)

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value.key, value.n, self.count.value()

def keep(df, batch):
    draft = root / "out" / f".{batch}"
    draft.write_text(json.dumps([tuple(row) for row in df.collect()]))
    draft.rename(root / "out" / f"{batch}.json")

frame = session.readStream.schema("key long, n long").option("maxFilesPerTrigger", 1)
stream = env.from_data_frame(frame.json(str(root / "in")), available_now=True).uid("frame")
counts = stream.key_by(lambda row: row.key).process(Count()).uid("count")
counts.foreach_batch(keep, schema="key long, n long, count long").uid("keep")
counts.to_data_frame(str(root / "files"), schema="key long, n long, count long")
env.on_progress(lambda progress: print("batch", flush=True))
env.execute()
print("finished", flush=True)
"""


def run(root: Path, point: str | None, after: int) -> bool:
    """Run the program, and kill its driver at ``point`` once ``after`` micro-batches are done;
    whether it has finished."""
    faults = root / "faults"
    faults.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, str(root / "job.py"), str(root)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), VARIABLE: str(faults)},
    )
    told: list[str] = []
    listening = threading.Thread(target=_listen, args=(process, told, point, after, faults))
    listening.start()
    process.wait()
    # the JVM outlives its driver by a while, and holds the pipe open
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    listening.join()
    return "finished" in told


def _listen(process: Any, told: list[str], point: str | None, after: int, faults: Path) -> None:
    with process.stdout:
        for line in process.stdout:
            told.append(line.strip())
            if point and line.startswith("batch") and told.count("batch") == after:
                (faults / point).write_text("SIGKILL")


def test_a_driver_that_is_killed_loses_and_doubles_nothing(
    session: SparkSession, tmp_path: Path
) -> None:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "job.py").write_text(KILLED)
    lines(tmp_path / "in", range(8))
    kills = [("landed", 1), ("after-sinks", 1)]
    for point, after in kills:
        assert not run(tmp_path, point, after), f"finished before {point}"
    assert run(tmp_path, None, 0)
    told = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("*.json")]
    found = [tuple(row) for rows in told for row in rows]
    kept = session.read.parquet(str(tmp_path / "files")).collect()
    assert sorted(map(tuple, kept)) == sorted(found)
    # which of two files of the same age Spark reads first is up to Spark
    assert sorted((key, n) for key, n, _ in found) == sorted((n % 5, n) for n in range(80))
    counts = [(key, count) for key in range(5) for count in range(1, 17)]
    assert sorted((key, count) for key, _, count in found) == counts
